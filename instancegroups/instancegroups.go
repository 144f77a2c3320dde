// Package instancegroups finds the kops InstanceGroups of a file and edits their additionalUserData without touching
// any other byte.
//
//	f, err := instancegroups.Parse("ig.yaml", data)
//	for _, g := range f.Groups() {
//		g.SetUserData(parts)
//	}
//	out, err := f.Bytes()
//
// It reads what kops reads and what kops prints: YAML with one or several documents, JSON, the bare array of
// "kops get ig -o json", and lists. Documents that are no kops InstanceGroup pass through as they are.
//
// Parts whose names begin with "kopshook-" are ours: they are replaced as a whole and stand behind all others, in the
// form in which kops prints them, so that a group that kops stored and printed again shows no difference.
//
// A document is read as if it ended in a line break. kops drops that line break where "---" follows, which only shows
// when the document ends in a block scalar: Warnings says so.
//
// Importing it links about 700 packages, 500 of them beyond Go's own: kops' API types and the decoder that kops itself uses
// bring those of Kubernetes, of the clouds and of their SDKs. Nothing smaller reads what kops reads as kops reads it.
package instancegroups

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"k8s.io/kops/pkg/apis/kops"
)

// Prefix begins the name of every part that SetUserData owns.
const Prefix = "kopshook-"

// MaxSize is the largest file that Parse reads, in bytes. Callers may use it to bound their reading.
const MaxSize = 128 << 20

// File is a parsed file. Its methods are not safe for concurrent use.
type File struct {
	name     string
	data     []byte // as given
	text     *text
	sections []*section
	bodies   bodies
	printer  printer

	documents []Document
	groups    []*Group
	clusters  []*Cluster
	warnings  []*Error
}

// Document is one document of a file, or one item of a list in it.
type Document struct {
	APIVersion string
	Kind       string // empty when the document has none
	Name       string // metadata.name
	Line       int    // of its first key, from 1
	Start, End int    // its bytes in the file, without "---" lines; the items of a list share those of the list
}

// Cluster is a kops Cluster.
type Cluster struct {
	Name   string
	Line   int           // of the document's first key, from 1
	Object *kops.Cluster // as kops decodes it
}

// Parse reads a file; name is for messages. The error joins (errors.Join) all that is wrong, each an *Error.
// Parse keeps data, which must not be changed afterwards.
func Parse(name string, data []byte) (*File, error) {
	f := &File{name: name, data: data}
	if err := f.checkBytes(); err != nil {
		return nil, err
	}
	f.text = newText(data)
	f.sections = f.split()
	parallel(len(f.sections), func(i int) { f.sections[i].parse() })

	var errs []*Error
	for _, s := range f.sections {
		f.documents = append(f.documents, s.documents...)
		f.groups = append(f.groups, s.groups...)
		f.clusters = append(f.clusters, s.clusters...)
		f.warnings = append(f.warnings, s.warnings...)
		errs = append(errs, s.errs...)
	}
	errs = append(errs, f.duplicates()...)
	if len(errs) > 0 {
		return nil, joined(errs)
	}
	for _, g := range f.groups {
		g.ClusterObject = f.clusterOf(g)
	}
	return f, nil
}

// checkBytes refuses what no YAML or JSON parser has to see.
func (f *File) checkBytes() error {
	fail := func(line int, remedy, format string, args ...any) error {
		return &Error{File: f.name, Line: line, Message: fmt.Sprintf(format, args...), Remedy: remedy}
	}
	d := f.data
	switch {
	case len(d) > MaxSize:
		return fail(0, "split it into several files", "the file is larger than %d MiB", MaxSize>>20)
	case len(bytes.TrimSpace(d)) == 0:
		return fail(0, "", "the file is empty")
	case bytes.HasPrefix(d, []byte("\xff\xfe")) || bytes.HasPrefix(d, []byte("\xfe\xff")):
		return fail(0, "convert it to UTF-8", "the file is encoded in UTF-16")
	}
	if i := bytes.IndexByte(d, 0); i >= 0 {
		return fail(1+bytes.Count(d[:i], newline), "", "the file holds a NUL byte: it is binary, not YAML or JSON")
	}
	if !utf8.Valid(d) {
		i := 0
		for {
			r, n := utf8.DecodeRune(d[i:])
			if r == utf8.RuneError && n == 1 {
				return fail(1+bytes.Count(d[:i], newline), "convert the file to UTF-8", "the file is not UTF-8")
			}
			i += n
		}
	}
	return nil
}

// split cuts the file as kops does: at "\n---\n", and nowhere else (util/pkg/text/sections.go:26).
func (f *File) split() []*section {
	src := f.text.src
	var sections []*section
	start, line := f.text.start, 1
	for {
		s := &section{file: f, start: start, end: len(src), line: line}
		sections = append(sections, s)
		i := bytes.Index(src[start:], []byte("\n---\n"))
		if i < 0 {
			break
		}
		s.end = start + i + 1
		start += i + len("\n---\n")
		line += bytes.Count(src[s.start:start], newline)
	}
	sections[len(sections)-1].last = true
	return sections
}

func (f *File) duplicates() []*Error {
	type id struct{ cluster, name string }
	seen := make(map[id]*Group, len(f.groups))
	var errs []*Error
	for _, g := range f.groups {
		id := id{g.Cluster, g.Name}
		first, ok := seen[id]
		if !ok {
			seen[id] = g
			continue
		}
		errs = append(errs, g.errorf([]string{"metadata", "name"}, "remove one of the two",
			"the instance group %q is in this file twice; the first is in line %d", g.Name, first.Line))
	}
	return errs
}

// clusterOf returns the Cluster of a group. A group without the label belongs to the only Cluster of its file.
func (f *File) clusterOf(g *Group) *Cluster {
	for _, c := range f.clusters {
		if c.Name == g.Cluster || g.Cluster == "" && len(f.clusters) == 1 {
			return c
		}
	}
	return nil
}

// Groups returns the InstanceGroups, in the file's order.
func (f *File) Groups() []*Group { return f.groups }

// Clusters returns the kops Clusters, in the file's order.
func (f *File) Clusters() []*Cluster { return f.clusters }

// Documents returns all documents that hold something, of every kind, in the file's order.
func (f *File) Documents() []Document { return f.documents }

// Warnings returns what is suspicious but served.
func (f *File) Warnings() []*Error { return f.warnings }

// Bytes returns the file with all edits: Edit and Edited.Bytes in one.
func (f *File) Bytes() ([]byte, error) {
	e, err := f.Edit()
	if err != nil {
		return nil, err
	}
	return e.Bytes(), nil
}

// Edit makes all edits. It reads the result again as kops does: where anything but the edited parts came out differently,
// or an edit cannot be made, there is no result, and the error joins an *Error for each.
func (f *File) Edit() (*Edited, error) {
	edits := make([][]edit, len(f.sections))
	errs := make([][]*Error, len(f.sections))
	checked := &bodies{parent: &f.bodies} // of use only until all edits are checked
	parallel(len(f.sections), func(i int) {
		edits[i], errs[i] = f.sections[i].edit(checked)
		if y := f.sections[i].yaml; y != nil {
			y.drop()
		}
	})
	if err := joined(slices.Concat(errs...)); err != nil {
		return nil, err
	}
	return &Edited{f.text, slices.Concat(edits...)}, nil
}

// parallel calls fn for 0..n-1, on all processors when that pays.
func parallel(n int, fn func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n/2)
	if workers < 2 {
		for i := range n {
			fn(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	wg.Wait()
}
