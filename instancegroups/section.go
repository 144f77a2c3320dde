package instancegroups

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// section is what kops takes for one document: what stands between two "---" lines.
type section struct {
	file       *File
	start, end int // in file.text.src; end is behind the section's last line break
	line       int // of start, from 1
	last       bool

	breaks  []int         // the offsets of the line breaks in src(); made by position
	yaml    *yamlDocument // nil in JSON
	reading reading       // only when the document is kops', or a list

	documents []Document
	groups    []*Group
	clusters  []*Cluster
	problems
}

func (s *section) src() []byte { return s.file.text.src[s.start:s.end] }

// parse fills the section. What is wrong goes into s.errs.
func (s *section) parse() {
	defer func() {
		sortErrors(s.errs)
		sortErrors(s.warnings)
	}()
	defer func() {
		// The parsers' authors do not promise that no input makes them panic.
		if r := recover(); r != nil {
			s.fail(s.errorAt(0, nil, "", "the YAML parser gave up: %v", r))
		}
	}()
	src := s.src()
	if i := skipSpace(src, 0); i < len(src) && (src[i] == '{' || src[i] == '[') && json.Valid(src) {
		if i := controlCharacter(src); i >= 0 {
			r, _ := utf8.DecodeRune(src[i:])
			s.fail(s.errorAt(i, nil, fmt.Sprintf(`write it as \u%04x`, r), "kops cannot read the character %U: it takes JSON for YAML", r))
			return
		}
		s.reading = reading{json: src, root: parseJSON(src)}
		s.findObjects()
		return
	}
	if !s.parseYAML(s.file.bodies.elide(src)) {
		s.parseYAML(whole(src))
	}
}

// parseYAML returns false when the document must be parsed without bodies elided.
func (s *section) parseYAML(e elided) bool {
	doc, err := parseYAML(e)
	s.yaml = doc
	if err != nil {
		s.fail(s.yamlErrors(err)...)
		return true
	}
	if doc.second != nil {
		dropped := s.errorAt(doc.offset(doc.second.Line, 1), nil, `write "---" alone on a line between documents`,
			`kops drops this document: it cuts files only at lines that are exactly "---", and reads one document between them`)
		dropped.Dropped = true
		s.fail(dropped)
		return true
	}
	if doc.tree == nil {
		if len(s.file.sections) > 1 {
			s.warn(s.errorAt(0, nil, `remove the "---" line beside it`, "an empty document: kops create and kops replace refuse the file"))
		}
		return true
	}
	if d, ok := doc.foreign(); ok {
		s.addDocument(d, nil)
		return true
	}
	s.reading, err = readYAML(e.text)
	if err != nil {
		s.fail(s.yamlErrors(err)...)
		return true
	}
	if e.tokens > 0 {
		if !s.reading.tokensInPlace(e.tokens) {
			return false
		}
		s.reading.bodies = &s.file.bodies
	}
	s.findObjects()
	s.checkEnding()
	return true
}

// checkEnding warns of a line break that kops drops: the one before "---" and one that the file does not have are no
// part of what it decodes, though a block scalar at the end would have kept it.
func (s *section) checkEnding() {
	remedy := `put an empty line before "---"`
	if s.last {
		if remedy = "end the file with a line break"; s.file.text.ending == "" {
			return
		}
	}
	if n := s.yaml.lastBlockScalar(); n != nil && len(s.groups) > 0 {
		s.warn(s.errorAt(s.yaml.offset(n.Line, n.Column), nil, remedy, "kops reads this text without its last line break"))
	}
}

// findObjects finds the objects of the document, or of the list that it is.
func (s *section) findObjects() {
	r := &s.reading
	if r.root.kind != '{' && r.root.kind != '[' {
		s.fail(s.errorAt(0, nil, "", "this is no manifest: a document must be a mapping"))
		return
	}
	var groups []*Group
	for _, o := range r.objects() {
		d := Document{
			APIVersion: o.value.get("apiVersion").text(r.json),
			Kind:       o.value.get("kind").text(r.json),
			Name:       o.value.get("metadata", "name").text(r.json),
		}
		s.addDocument(d, o.path)
		if d.lacksVersion() {
			s.fail(s.errorAt(s.locate(append(slices.Clone(o.path), "kind")), []string{"apiVersion"}, "add `apiVersion: kops.k8s.io/v1alpha2`",
				"kops reads no InstanceGroup without an apiVersion"))
		}
		if isKops(d.APIVersion) {
			groups = append(groups, s.addObject(s.documents[len(s.documents)-1], o)...)
		}
	}
	parallel(len(groups), func(i int) { groups[i].decode() })
	for _, g := range groups {
		s.fail(g.errs...)
		s.warn(g.warnings...)
		if g.Object != nil {
			s.groups = append(s.groups, g)
		}
	}
}

func (s *section) addDocument(d Document, path []string) {
	d.Line, _ = s.position(s.locate(path))
	d.Start = s.file.text.rawOffset(s.start)
	d.End = min(s.file.text.rawOffset(s.end), len(s.file.data))
	s.documents = append(s.documents, d)
}

// addObject adds an object of kops. It returns the group that it is, not decoded yet.
func (s *section) addObject(d Document, o object) []*Group {
	gvk, err := kopsKind(d)
	if err != nil {
		s.fail(s.errorAt(s.locate(append(slices.Clone(o.path), err.Path)), []string{err.Path}, err.Remedy, "%s", err.Message))
		return nil
	}
	switch gvk.Kind {
	case "Cluster":
		c, err := decodeCluster(s.source(o))
		if err != nil {
			s.fail(s.decodeError(o, "Cluster", err))
			return nil
		}
		c.Line = d.Line
		s.clusters = append(s.clusters, c)
	case "InstanceGroup":
		if d.APIVersion == oldVersion && s.yaml == nil {
			s.fail(s.errorAt(s.locate(append(slices.Clone(o.path), "apiVersion")), []string{"apiVersion"}, "use kops.k8s.io/v1alpha2", "kops reads %s in YAML only", oldVersion))
			return nil
		}
		return []*Group{{APIVersion: d.APIVersion, Line: d.Line, section: s, object: o}}
	}
	return nil
}

// locate returns the offset in src() of the key at a path, or of the deepest part of it that is there.
func (s *section) locate(path []string) int {
	if s.yaml != nil {
		return s.yaml.locate(path)
	}
	v := &s.reading.root
	off := v.start
	for _, key := range path {
		if i, err := strconv.Atoi(key); err == nil && i < len(v.items) {
			v = &v.items[i]
			off = v.start
			continue
		}
		i := v.member(key)
		if i < 0 {
			break
		}
		off, v = v.members[i].start, &v.members[i].value
	}
	return off
}

// position turns an offset in src() into a line and column of the file.
func (s *section) position(off int) (line, col int) {
	src := s.src()
	if s.breaks == nil {
		s.breaks = []int{-1}
		for i, c := range src {
			if c == '\n' {
				s.breaks = append(s.breaks, i)
			}
		}
	}
	n := sort.SearchInts(s.breaks, off) - 1
	return s.line + n, utf8.RuneCount(src[s.breaks[n]+1:off]) + 1
}

func (s *section) errorAt(off int, path []string, remedy, format string, args ...any) *Error {
	line, col := s.position(off)
	return &Error{File: s.file.name, Line: line, Col: col, Path: fieldPath(path), Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// yamlErrors turns an error of the YAML parsers into ours: "yaml: line 5: did not find expected key", or a list of
// such lines in yaml.v2.
func (s *section) yamlErrors(err error) []*Error {
	message := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	message = strings.TrimPrefix(strings.TrimPrefix(message, "yaml: "), "unmarshal errors:\n")
	var errs []*Error
	for m := range strings.SplitSeq(message, "\n") {
		m = strings.TrimSpace(m)
		e := s.errorAt(0, nil, "", "")
		if rest, ok := strings.CutPrefix(m, "line "); ok {
			number, rest, _ := strings.Cut(rest, ": ")
			if n, err := strconv.Atoi(number); err == nil {
				e = s.errorAt(s.yaml.offset(n, 1), nil, "", "")
				m = rest
			}
		}
		e.Col = 0
		if key, ok := strings.CutSuffix(m, " already set in map"); ok {
			e.Message = fmt.Sprintf("the %s is there twice", key)
			e.Remedy = "remove one of the two"
		} else if key, ok := strings.CutSuffix(m, beforeMerge); ok {
			e.Message = fmt.Sprintf("kops takes the %s from this merge key, not what stands before it", key)
			e.Remedy = "put << first"
		} else {
			e.Message = "this is not YAML: " + m
			if bytes.Contains(s.src(), []byte("{{")) {
				e.Remedy = "if it is a template, render it first"
			}
			if strings.Contains(m, "<document start>") {
				e.Remedy = `remove what stands behind the document, or put a line "---" between the two`
			}
			if bytes.HasPrefix(s.src(), []byte("%")) {
				e.Remedy = `remove the line that begins with "%": kops takes it for a document of its own`
			}
		}
		errs = append(errs, e)
	}
	return errs
}

// fieldPath is a path as people write it: spec.volumes[0].size.
func fieldPath(path []string) string {
	var b strings.Builder
	for _, key := range path {
		if _, err := strconv.Atoi(key); err == nil {
			fmt.Fprintf(&b, "[%s]", key)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(key)
	}
	return b.String()
}
