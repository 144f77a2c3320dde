// Package strict reads documents of kopshook.dev by the tables of their fields: unknown keys, duplicate keys, wrong types and
// values out of bounds are mistakes, reported all at once, each where it stands.
package strict

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// A File is a YAML or JSON file that was parsed.
type File struct {
	Roots []*yaml.Node // its documents; those before the first mistake in syntax

	name   string // as the user gave it, "-" for standard input
	breaks breaks
}

// Parse reads all documents of a file of 10 MiB at the most. It reports what keeps the file from being read.
func Parse(name string, data []byte, r *report.Report) File {
	roots, breaks := parse(name, data, r)
	return File{roots, name, breaks}
}

// ParseAny is Parse for a file of any size.
func ParseAny(name string, data []byte, r *report.Report) File {
	roots, breaks := parseAny(name, data, r)
	return File{roots, name, breaks}
}

// Pos returns where a node of the file stands.
func (f File) Pos(n *yaml.Node) report.Position {
	return report.Position{File: f.name, Line: n.Line, Col: n.Column}
}

// Open begins to read a document, or a mapping inside of one, that is made of objects; the first is the document itself. ok is
// false where it is so wrong that there is no sense in going on.
func (f File) Open(n *yaml.Node, objects []*Object, r *report.Report) (reader *Reader, v Value, ok bool) {
	doc := &Document{File: f.name, places: map[string]place{}}
	e := expander{doc: doc, r: r, breaks: f.breaks, within: map[*yaml.Node]bool{}}
	tree := e.expand(nil, n, "", 0)
	return NewReader(doc, objects, r), Value{node: tree, label: "document"}, !e.failed
}

// ReadYAML returns the documents of a file, YAML or JSON, of any kind. It reports what keeps the file from being read.
// Whoever follows the aliases of what it returns comes to an end: it has the bounds that hook specs have.
func ReadYAML(name string, data []byte, r *report.Report) []*yaml.Node {
	f := Parse(name, data, r)
	for _, root := range f.Roots {
		e := expander{doc: &Document{File: name}, r: r, breaks: f.breaks, within: map[*yaml.Node]bool{}}
		for _, n := range root.Content {
			e.bound(n, 0)
		}
		if e.failed {
			return nil
		}
		e.restore(root)
	}
	return f.Roots
}

// Finish sorts what was found in a file and adds it to r. What stands in an anchor's value is said once, however many
// aliases it has.
func Finish(found, r *report.Report) {
	found.Sort()
	found.Findings = slices.CompactFunc(found.Findings, func(a, b report.Finding) bool {
		return a.Position == b.Position && a.Message == b.Message
	})
	r.Merge(found)
}

// A Reader reads a document. Its readers of values report what is wrong with one and return the zero value then.
type Reader struct {
	Doc    *Document
	Report *report.Report

	objects []*Object
	bad     map[string]bool // paths of values that something was said about: nothing more needs to be
}

// NewReader returns a reader of a document that is made of objects.
func NewReader(doc *Document, objects []*Object, r *report.Report) *Reader {
	return &Reader{Doc: doc, Report: r, objects: objects, bad: map[string]bool{}}
}

// Errorf reports a mistake in the value at path.
func (r *Reader) Errorf(path, remedy, format string, args ...any) {
	r.bad[path] = true
	r.Report.Errorf(r.Doc.Pos(path), path, remedy, format, args...)
}

// KeyErrorf reports that the field at path should not be there.
func (r *Reader) KeyErrorf(path, remedy, format string, args ...any) {
	r.bad[path] = true
	r.Report.Errorf(r.Doc.KeyPos(path), path, remedy, format, args...)
}

// Bad says whether something was said about the value at path: nothing more needs to be.
func (r *Reader) Bad(path string) bool { return r.bad[path] }

// Given says whether the document has a value at path.
func (r *Reader) Given(path string) bool { return r.Doc.Given(path) }

// HasUnknown says whether the object at path has an unknown key: most likely it is what seems to be missing.
func (r *Reader) HasUnknown(path string, o *Object) bool {
	for bad := range r.bad {
		rest, ok := strings.CutPrefix(bad, path+".")
		if ok && !strings.ContainsAny(rest, ".[") && o.Field(rest) == nil {
			return true
		}
	}
	return false
}

// Value is one value of a document.
type Value struct {
	node  *yaml.Node
	path  string
	label string // what messages call it: "mode", "env.DRIVER", "names[0]"
	field *Field // what it is; nil for the document
}

// Path of the value: "spec.hooks[1].name".
func (v Value) Path() string { return v.path }

// Label is what messages call the value.
func (v Value) Label() string { return v.label }
