package cloudinit

import (
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// origin says where a MIME part's payload was written.
type origin struct {
	offset int    // in the message, in bytes
	item   *inner // set if an item of a cloud-config-archive made it instead
	none   bool   // not in the message as it is: it was compressed or encoded

	declared string // the content type before it was looked into
}

// inner is a text that is a scalar of another text.
type inner struct {
	outer  int // index of reader.texts
	scalar *pyyaml.Value
}

// source is a text that was read as YAML: a part's contents, or what is behind its first lines. Values refer to it by
// their Part.
type source struct {
	text string // the part's decoded contents
	m    *message
	skip int // lines of text before the YAML
}

// addText registers a text and returns its number.
func (r *reader) addText(s *source) int {
	r.texts = append(r.texts, s)
	return len(r.texts) - 1
}

// locate returns where a value was written.
func (r *reader) locate(v *pyyaml.Value) At {
	if v == nil || v.Part < 0 || v.Part >= len(r.texts) || v.Line == 0 {
		return At{Part: -1}
	}
	return r.locateIn(r.texts[v.Part], v.Line, v.Col)
}

// locateError returns where a document that could not be read went wrong.
func (r *reader) locateError(s *source, err error) At {
	if e, ok := err.(*pyyaml.Error); ok && e.Line > 0 {
		return r.locateIn(s, e.Line, e.Col)
	}
	return r.locateIn(s, 1, 1)
}

func (r *reader) locateIn(s *source, line, col int) At {
	line += s.skip
	switch {
	case s.m.origin.item != nil:
		return r.locateInner(s.m.origin.item, line, col)
	case s.m.origin.none:
		return At{Part: -1}
	}
	return r.locateByte(s.m.origin.offset + sourceOffset(s.m, yamlOffset(s.text, line, col)))
}

// locateInner returns where a line of a scalar's text was written: its line, if it is a literal block, else the scalar.
func (r *reader) locateInner(i *inner, line, col int) At {
	if i.outer < 0 || i.outer >= len(r.texts) || i.scalar.Line == 0 {
		return At{Part: -1}
	}
	outer := r.texts[i.outer]
	v := i.scalar
	switch {
	case v.Style != '|' && line > 1 || v.Style == '>':
		return r.locateIn(outer, v.Line, v.Col)
	case v.Style == 0:
		return r.locateIn(outer, v.Line, v.Col+col-1)
	case v.Style != '|':
		return r.locateIn(outer, v.Line, v.Col+col)
	}
	first := yamlLine(outer.text, v.Line+1)
	indent := len(first) - len(strings.TrimLeft(first, " "))
	return r.locateIn(outer, v.Line+line, col+indent)
}

// start returns where a part's contents begin.
func (r *reader) start(m *message) At {
	switch {
	case m.origin.item != nil:
		return r.locateInner(m.origin.item, 1, 1)
	case m.origin.none:
		return At{Part: -1}
	}
	return r.locateByte(m.origin.offset)
}

// locateByte returns the part, line and column of a byte of the message.
func (r *reader) locateByte(offset int) At {
	for i, s := range r.spans {
		if offset < s.start || offset > s.end {
			continue
		}
		before := r.data[s.start:min(offset, len(r.data))]
		line := strings.Count(before, "\n")
		last := before[strings.LastIndexByte(before, '\n')+1:]
		return At{Part: i, Line: line + 1, Col: utf8.RuneCountInString(last) + 1}
	}
	return At{Part: -1}
}

// yamlOffset turns a line and a column as PyYAML counts them into an offset of text, in bytes.
func yamlOffset(text string, line, col int) int {
	at, i := 1, 0
	for i < len(text) && at < line {
		c, n := utf8.DecodeRuneInString(text[i:])
		i += n
		switch {
		case c == '\r' && i < len(text) && text[i] == '\n':
		case c == '\n', c == '\r', c == 0x85, c == 0x2028, c == 0x2029:
			at++
		}
	}
	for ; i < len(text) && col > 1; col-- {
		c, n := utf8.DecodeRuneInString(text[i:])
		if c == '\n' || c == '\r' {
			break
		}
		i += n
	}
	return i
}

func yamlLine(text string, line int) string {
	rest := text[yamlOffset(text, line, 1):]
	if i := strings.IndexAny(rest, "\r\n"); i >= 0 {
		return rest[:i]
	}
	return rest
}

// sourceOffset turns an offset of a part's decoded contents into one of its payload: what is not ASCII has grown or shrunk
// on the way.
func sourceOffset(m *message, offset int) int {
	if m.raw || isASCII(m.payload) {
		return min(offset, len(m.payload))
	}
	decoded := 0
	for i, c := range m.payload {
		if decoded >= offset {
			return i
		}
		switch {
		case c < 0x100:
			decoded++
		case c < 0x10000:
			decoded += 6
		default:
			decoded += 10
		}
	}
	return len(m.payload)
}
