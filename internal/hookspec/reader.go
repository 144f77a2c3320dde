package hookspec

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// A Reader reads a document of another kind of kopshook.dev as strictly as hook specs are read: unknown keys,
// duplicate keys and wrong types are errors where they stand.
type Reader struct{ d *decoder }

// Value is one value of a document.
type Value struct{ v value }

// Path of the value: "spec.hooks[1].name".
func (v Value) Path() string { return v.v.path }

// ReadKind finds the documents of a kind in a file and calls read for each of them. objects are all that it is made
// of; the first is the document, whose field kind holds the kind. Documents of other kinds are skipped.
func ReadKind(file string, data []byte, objects []*Object, r *report.Report, read func(*Reader, Value)) {
	var found report.Report
	roots, breaks := parse(file, data, &found)
	kind := objects[0].Field("kind").Enum[0]
	for _, root := range roots {
		if len(root.Content) != 1 {
			continue
		}
		n := root.Content[0]
		version := scalar(entry(n, "apiVersion"))
		group, _, _ := strings.Cut(version, "/")
		ours, _, _ := strings.Cut(APIVersion, "/")
		pos := report.Position{File: file, Line: n.Line, Col: n.Column}
		switch got := scalar(entry(n, "kind")); {
		case got == kind && group == ours && version != APIVersion:
			r.Errorf(pos, "apiVersion", fmt.Sprintf("write %s, or use a kopshook that knows this version", APIVersion),
				"this kopshook does not know apiVersion `%s`", shorten(version))
			continue
		case got == kind:
		case group == ours && got != Kind && report.Nearest(got, []string{kind}) != "":
			r.Errorf(pos, "kind", "did you mean `"+kind+"`?", "unknown kind `%s`", shorten(got))
			continue
		default:
			continue
		}
		doc := &Doc{File: file, places: map[string]place{}}
		e := expander{doc: doc, r: &found, breaks: breaks, within: map[*yaml.Node]bool{}}
		tree := e.expand(nil, n, "", 0)
		if e.failed {
			continue
		}
		d := newDecoder(doc, &found)
		d.objects = objects
		read(&Reader{d}, Value{value{node: tree, label: "document"}})
	}
	found.Sort()
	r.Merge(&found)
}

// ReadYAML returns the documents of a file, YAML or JSON, of any kind. It reports what keeps the file from being read.
// Whoever follows the aliases of what it returns comes to an end: it has the bounds that hook specs have.
func ReadYAML(file string, data []byte, r *report.Report) []*yaml.Node {
	roots, breaks := parse(file, data, r)
	for _, root := range roots {
		e := expander{doc: &Doc{File: file}, r: r, breaks: breaks, within: map[*yaml.Node]bool{}}
		for _, n := range root.Content {
			e.bound(n, 0)
		}
		if e.failed {
			return nil
		}
		e.restore(root)
	}
	return roots
}

// Fields yields the known fields of an object in the order of the document, and reports the others and those that are
// missing.
func (r *Reader) Fields(v Value, o *Object) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for f, v := range r.d.fields(v.v, o) {
			if !yield(f.Name, Value{v}) {
				return
			}
		}
	}
}

// Items yields the items of a list.
func (r *Reader) Items(v Value) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for v := range r.d.items(v.v) {
			if !yield(Value{v}) {
				return
			}
		}
	}
}

// The readers of single values report what is wrong, and return the zero value then.

func (r *Reader) String(v Value) string               { return r.d.str(v.v) }
func (r *Reader) Strings(v Value) []string            { return r.d.stringList(v.v) }
func (r *Reader) StringOrList(v Value) []string       { return r.d.stringOrList(v.v) }
func (r *Reader) StringMap(v Value) map[string]string { return r.d.stringMap(v.v) }
func (r *Reader) Bool(v Value) bool                   { return r.d.boolean(v.v) }
func (r *Reader) Int(v Value) int                     { return r.d.integer(v.v) }
func (r *Reader) Duration(v Value) time.Duration      { return time.Duration(r.d.duration(v.v)) }

// Script reads an inline script: it must begin with #! and an interpreter.
func (r *Reader) Script(v Value) string {
	s := r.d.str(v.v)
	if !r.Bad(v.Path()) {
		r.d.checkScript(v.Path(), v.v.label, s)
	}
	return s
}

// Source reads where a script is to be found.
func (r *Reader) Source(v Value) string {
	s := r.d.str(v.v)
	if !r.Bad(v.Path()) {
		r.d.checkSource(v.Path(), s, "script")
	}
	return s
}

// Env reads environment variables.
func (r *Reader) Env(v Value) map[string]string {
	env := r.d.stringMap(v.v)
	for name, value := range env {
		r.d.checkEnv(join(v.Path(), name), name, value)
	}
	return env
}

// Globs reads a list of globs on names. It may not be empty: some would take that for "none", others for "all".
func (r *Reader) Globs(v Value) []string {
	globs := r.d.stringList(v.v)
	r.d.checkGlobs(v.Path(), v.v.label, globs)
	return globs
}

// Errorf reports a mistake in the value at path.
func (r *Reader) Errorf(path, remedy, format string, args ...any) {
	r.d.errorf(path, remedy, format, args...)
}

// KeyErrorf reports that the field at path should not be there.
func (r *Reader) KeyErrorf(path, remedy, format string, args ...any) {
	r.d.keyErrorf(path, remedy, format, args...)
}

// Bad says whether something was said about the value at path: nothing more needs to be.
func (r *Reader) Bad(path string) bool { return r.d.bad[path] }

// Given says whether the document has a value at path.
func (r *Reader) Given(path string) bool { return r.d.doc.given(path) }

// HasUnknown says whether the object at path has fields that it should not have: one of them may be what is missing.
func (r *Reader) HasUnknown(path string, o *Object) bool { return r.d.unknownIn(path, o) }

// Pos returns where the field at path stands, as Doc.Pos does.
func (r *Reader) Pos(path string) report.Position { return r.d.doc.Pos(path) }
