package cloudinit

import (
	"sort"
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

	places *places // of the text, once they are asked for
}

// at returns the offset of a line and column, as PyYAML counts them.
func (s *source) at(line, col int) int {
	if s.places == nil {
		s.places = yamlPlaces(s.text)
	}
	return s.places.offset(line, col)
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
	return r.locateByte(s.m.origin.offset + s.m.sourceOffset(s.at(line, col)))
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
	first := outer.text[outer.at(v.Line+1, 1):]
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
	i := sort.Search(len(r.spans), func(i int) bool { return offset <= r.spans[i].end })
	if i == len(r.spans) || offset < r.spans[i].start {
		return At{Part: -1}
	}
	if r.places == nil {
		r.places = newlinePlaces(r.data)
	}
	start := r.spans[i].start
	first, _ := r.places.line(start)
	offset = min(offset, len(r.data))
	line, begin := r.places.line(offset)
	return At{Part: i, Line: line - first + 1, Col: r.places.characters(max(begin, start), offset) + 1}
}

// stretch is a character of a payload that takes another number of bytes when it is decoded.
type stretch struct{ decoded, payload span }

// sourceOffset turns an offset of a part's decoded contents into one of its payload: what is not ASCII has grown or shrunk
// on the way.
func (m *message) sourceOffset(offset int) int {
	if m.raw {
		return min(offset, len(m.payload))
	}
	if m.stretches == nil {
		m.stretches = stretches(m.payload)
	}
	i := sort.Search(len(m.stretches), func(i int) bool { return m.stretches[i].decoded.start >= offset }) - 1
	if i < 0 {
		return min(offset, len(m.payload))
	}
	s := m.stretches[i]
	return min(s.payload.end+max(0, offset-s.decoded.end), len(m.payload))
}

func stretches(payload string) []stretch {
	all := []stretch{}
	grown := 0 // decoded contents against the payload, so far
	for i, c := range payload {
		if c < utf8.RuneSelf {
			continue
		}
		s := stretch{span{i + grown, i + grown + len(rawUnicodeEscape(string(c)))}, span{i, i + utf8.RuneLen(c)}}
		grown = s.decoded.end - s.payload.end
		all = append(all, s)
	}
	return all
}
