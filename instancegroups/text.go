package instancegroups

import (
	"bytes"
	"slices"
	"sort"
)

var newline = []byte("\n")

const bom = "\ufeff"

// text is a file as kops reads it: with CRLF turned into LF, and with a line break at its end.
type text struct {
	src     []byte
	start   int    // of the first character behind a byte order mark
	raw     []byte // src with the file's own line breaks
	crs     []int  // the offsets in src of the line breaks that are CRLF in raw
	ending  string // what raw has at its end that the file has not
	newline string // the file's first line break
}

func newText(data []byte) *text {
	t := &text{raw: data, newline: "\n"}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		t.newline = "\r\n"
	}
	if data[len(data)-1] != '\n' {
		t.ending = t.newline
		t.raw = append(slices.Clip(data), t.ending...)
	}
	t.src = t.raw
	if bytes.Contains(t.raw, []byte("\r\n")) {
		t.src = make([]byte, 0, len(t.raw))
		for rest := t.raw; len(rest) > 0; {
			line, after, _ := bytes.Cut(rest, newline)
			if n := len(line); n > 0 && line[n-1] == '\r' {
				line = line[:n-1]
				t.crs = append(t.crs, len(t.src)+len(line))
			}
			t.src = append(append(t.src, line...), '\n')
			rest = after
		}
	}
	if bytes.HasPrefix(t.src, []byte(bom)) {
		t.start = len(bom)
	}
	return t
}

// rawOffset turns an offset in src into one in raw.
func (t *text) rawOffset(off int) int {
	return off + sort.SearchInts(t.crs, off)
}

// edit replaces src[start:end] by text and what follows it, in which line breaks are LF.
type edit struct {
	start, end int
	text       string
	parts      []string // behind text: parts as they are printed; those of many groups are the same strings
}

// pieces yields what the edit puts there.
func (e *edit) pieces(yield func(string) bool) {
	if !yield(e.text) {
		return
	}
	for _, s := range e.parts {
		if !yield(s) {
			return
		}
	}
}

// added is the size of what edits put in.
func added(edits []edit) (size int) {
	for _, e := range edits {
		for s := range e.pieces {
			size += len(s)
		}
	}
	return size
}

// splice returns src[start:end] with the edits that lie in it.
func splice(src []byte, start, end int, edits []edit) []byte {
	out := make([]byte, 0, end-start+added(edits))
	for _, e := range edits {
		out = append(out, src[start:e.start]...)
		for s := range e.pieces {
			out = append(out, s...)
		}
		start = e.end
	}
	return append(out, src[start:end]...)
}
