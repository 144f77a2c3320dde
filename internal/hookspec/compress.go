package hookspec

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/report"
)

// SetCompress writes compress: true into hooks of a file, given by their documents and paths ("spec.hooks[1]"), and
// touches nothing else of it. docs are all documents that Decode found in data.
func SetCompress(data []byte, docs []*Doc, paths map[*Doc][]string) ([]byte, error) {
	var edits []edit
	want := make([][]bool, len(docs))
	for i, d := range docs {
		for j := range d.Spec.Spec.Hooks {
			h := &d.Spec.Spec.Hooks[j]
			path := fmt.Sprintf("spec.hooks[%d]", j)
			set := slices.Contains(paths[d], path)
			want[i] = append(want[i], set || h.Compress != nil && *h.Compress)
			if set && (h.Compress == nil || !*h.Compress) {
				edits = append(edits, compressEdit(data, d, path, h.Compress != nil))
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
	if !isCompressed(file, out, want) {
		return nil, report.Hint("write it by hand", "%s: compress: true cannot be written into it", file)
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
		pos := d.Pos(path + ".compress")
		at := offset(data, pos)
		rest := data[at:]
		n := bytes.IndexAny(rest, " \t\r\n,}#")
		if n < 0 {
			n = len(rest)
		}
		return edit{at, n, "true"}
	}
	pos := d.KeyPos(path + ".name")
	at := offset(data, pos)
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	if before := data[start:at]; bytes.ContainsAny(before, "{,") || bytes.HasPrefix(data[at:], []byte(`"`)) {
		text := "compress: true, "
		if bytes.HasPrefix(data[at:], []byte(`"`)) { // JSON
			text = `"compress": true, `
		}
		return edit{at: at, text: text}
	}
	indent := strings.Repeat(" ", utf8.RuneCount(data[start:at]))
	end := bytes.IndexByte(data[at:], '\n')
	if end < 0 {
		return edit{at: len(data), text: "\n" + indent + "compress: true"}
	}
	end += at
	eol := "\n"
	if data[end-1] == '\r' {
		eol = "\r\n"
	}
	return edit{at: end + 1, text: indent + "compress: true" + eol}
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

// isCompressed decodes data anew, and compares.
func isCompressed(file string, data []byte, want [][]bool) bool {
	var r report.Report
	docs := Decode(file, data, &r)
	if r.HasErrors() || len(docs) != len(want) {
		return false
	}
	for i, d := range docs {
		var got []bool
		for _, h := range d.Spec.Spec.Hooks {
			got = append(got, h.Compress != nil && *h.Compress)
		}
		if !slices.Equal(got, want[i]) {
			return false
		}
	}
	return true
}
