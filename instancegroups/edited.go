package instancegroups

import (
	"bufio"
	"bytes"
	"io"
	"strings"
)

// Edited is a file with its edits, all of which are proven right. What it holds besides the file is small: groups with the same
// parts share their text. Edits made later do not change it.
type Edited struct {
	text  *text
	edits []edit // in order; they do not overlap
}

// Bytes returns the file.
func (e *Edited) Bytes() []byte {
	var out bytes.Buffer
	out.Grow(len(e.text.raw) + added(e.edits))
	e.WriteTo(&out) // it never fails
	return out.Bytes()
}

// WriteTo writes what Bytes returns, a piece at a time: a file of 50 MiB takes no further 50. Its error is w's.
func (e *Edited) WriteTo(w io.Writer) (int64, error) {
	var all ending
	e.emit(&all)
	out := &bounded{w: bufio.NewWriterSize(w, 64<<10), left: all.size}
	// behind an empty line, the line break would be a block scalar's that keeps them
	if cut := bytes.TrimSuffix(all.last, []byte(e.text.ending)); !bytes.HasSuffix(cut, newline) {
		out.left -= len(all.last) - len(cut)
	}
	size := out.left
	e.emit(out)
	if err := out.w.Flush(); err != nil {
		return int64(size - out.left - out.w.Buffered()), err
	}
	return int64(size), nil
}

type writer interface {
	io.Writer
	io.StringWriter
}

// emit writes the file as if it ended in a line break. Errors are the writer's to keep.
func (e *Edited) emit(w writer) {
	t, from := e.text, 0
	for i := range e.edits {
		w.Write(t.raw[from:t.rawOffset(e.edits[i].start)])
		for s := range e.edits[i].pieces {
			if t.newline != "\n" {
				s = strings.ReplaceAll(s, "\n", t.newline)
			}
			w.WriteString(s)
		}
		from = t.rawOffset(e.edits[i].end)
	}
	w.Write(t.raw[from:])
}

// ending keeps how long something is, and its last bytes: a line break and what stands before it.
type ending struct {
	size int
	last []byte
}

const enough = len("\n\r\n")

func (e *ending) Write(p []byte) (int, error) {
	e.size += len(p)
	e.last = append(e.last, p[max(0, len(p)-enough):]...)
	e.last = e.last[max(0, len(e.last)-enough):]
	return len(p), nil
}

func (e *ending) WriteString(s string) (int, error) {
	n, err := e.Write([]byte(s[max(0, len(s)-enough):]))
	e.size += len(s) - n
	return len(s), err
}

// bounded writes so many bytes and no more.
type bounded struct {
	w    *bufio.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n, err := b.w.Write(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *bounded) WriteString(s string) (int, error) {
	n, err := b.w.WriteString(s[:min(len(s), b.left)])
	b.left -= n
	return n, err
}
