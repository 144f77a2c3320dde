package hookspec

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// Pack writes compress: true into hooks of a file, given by their documents and paths ("spec.hooks[1]", or
// "spec.overrides[0].hooks.agent" where an override has the last word), and archive: true into documents, and touches nothing else
// of it. docs are all documents that Decode found in data.
func Pack(data []byte, docs []*Doc, compress map[*Doc][]string, archive []*Doc) ([]byte, error) {
	var edits []edit
	want := make([]map[string]bool, len(docs))
	for i, d := range docs {
		want[i] = d.packed()
		if slices.Contains(archive, d) && !want[i]["spec"] {
			edits = append(edits, archiveEdit(data, d))
			want[i]["spec"] = true
		}
		for _, path := range compress[d] {
			if !want[i][path] {
				edits = append(edits, compressEdit(data, d, path, d.Given(path+".compress")))
				want[i][path] = true
			}
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(b.at, a.at) }) // last first: offsets stay true
	out := data
	for _, e := range edits {
		out = slices.Concat(out[:e.at], []byte(e.text), out[e.at+e.drop:])
	}
	file := ""
	if len(docs) > 0 {
		file = docs[0].File
	}
	if !isPacked(file, out, want) {
		return nil, report.Hint("write it by hand", "%s: compress: true or archive: true cannot be written into it", file)
	}
	return out, nil
}

// edit replaces drop bytes at an offset.
type edit struct {
	at, drop int
	text     string
}

// compressEdit finds the place: behind the line of the hook's name, or, where the hook stands between braces, before it.
func compressEdit(data []byte, d *Doc, path string, given bool) edit {
	if given {
		return valueEdit(data, d.Pos(path+".compress"))
	}
	pos := d.KeyPos(path + ".name")
	at := offset(data, pos)
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	if inFlow(data, start, at) {
		return flowEdit(data, at, "compress")
	}
	return lineEdit(data, at, utf8.RuneCount(data[start:at]), "compress: true")
}

// archiveEdit finds the place: behind the line of spec, or, between braces, before the selector, which all specs have.
func archiveEdit(data []byte, d *Doc) edit {
	if d.Given("spec.archive") {
		return valueEdit(data, d.Pos("spec.archive"))
	}
	selector := offset(data, d.KeyPos("spec.selector"))
	start := bytes.LastIndexByte(data[:selector], '\n') + 1
	if inFlow(data, start, selector) {
		return flowEdit(data, selector, "archive")
	}
	return lineEdit(data, offset(data, d.KeyPos("spec")), utf8.RuneCount(data[start:selector]), "archive: true")
}

// inFlow says whether a key stands between braces: start is where its line begins.
func inFlow(data []byte, start, at int) bool {
	return bytes.ContainsAny(data[start:at], "{,") || bytes.HasPrefix(data[at:], []byte(`"`))
}

// flowEdit puts a key before the one at an offset.
func flowEdit(data []byte, at int, key string) edit {
	if bytes.HasPrefix(data[at:], []byte(`"`)) { // JSON
		key = `"` + key + `"`
	}
	return edit{at: at, text: key + ": true, "}
}

// lineEdit puts a line behind the one that an offset lies in.
func lineEdit(data []byte, at, indent int, line string) edit {
	line = strings.Repeat(" ", indent) + line
	end := bytes.IndexByte(data[at:], '\n')
	if end < 0 {
		return edit{at: len(data), text: "\n" + line}
	}
	end += at
	eol := "\n"
	if data[end-1] == '\r' {
		eol = "\r\n"
	}
	return edit{at: end + 1, text: line + eol}
}

// valueEdit makes a plain scalar true.
func valueEdit(data []byte, pos report.Position) edit {
	at := offset(data, pos)
	n := bytes.IndexAny(data[at:], " \t\r\n,}#")
	if n < 0 {
		n = len(data) - at
	}
	return edit{at, n, "true"}
}

// offset of a position in bytes.
func offset(data []byte, pos report.Position) int {
	at := 0
	for range pos.Line - 1 {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return len(data)
		}
		at += i + 1
	}
	for range pos.Col - 1 {
		_, n := utf8.DecodeRune(data[at:])
		at += n
	}
	return min(at, len(data))
}

// packed are the paths of what has archive: true or compress: true.
func (d *Doc) packed() map[string]bool {
	paths := map[string]bool{}
	add := func(path string, set bool) {
		if set {
			paths[path] = true
		}
	}
	add("spec", d.Spec.Spec.Archive)
	for i, h := range d.Spec.Spec.Hooks {
		add(strict.Item("spec.hooks", i), h.Compress != nil && *h.Compress)
	}
	for i, o := range d.Spec.Spec.Overrides {
		for name, h := range o.Hooks {
			add(strict.Join(strict.Item("spec.overrides", i)+".hooks", name), h.Compress != nil && *h.Compress)
		}
	}
	return paths
}

// isPacked decodes data anew, and compares what is packed of each document.
func isPacked(file string, data []byte, want []map[string]bool) bool {
	var r report.Report
	docs := Decode(file, data, &r)
	if r.HasErrors() || len(docs) != len(want) {
		return false
	}
	for i, d := range docs {
		if !maps.Equal(d.packed(), want[i]) {
			return false
		}
	}
	return true
}
