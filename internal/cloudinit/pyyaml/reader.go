package pyyaml

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// mark is a place in the stream: index, line and column in characters, from 0.
type mark struct{ index, line, col int }

func (m mark) pos() Pos { return Pos{m.line + 1, m.col + 1} }

// reader gives characters one by one and counts lines as PyYAML does. The text ends with a NUL, which cannot occur in it.
type reader struct {
	text []rune
	at   mark
}

// fail raises an error, as Python does; Load catches it.
func fail(at mark, format string, args ...any) {
	panic(&Error{Pos: at.pos(), Msg: fmt.Sprintf(format, args...)})
}

// newReader refuses text with characters that PyYAML does not accept (yaml/reader.py, NON_PRINTABLE). It looks at all of
// the text before anything else, so one such character anywhere loses the document.
func newReader(text string) *reader {
	r := &reader{text: make([]rune, 0, len(text)+1)}
	for i, c := range text {
		if c == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			fail(r.end(), "byte 0x%02x is not UTF-8: special characters are not allowed", text[i])
		}
		if !printable(c) {
			fail(r.end(), "character %U: special characters are not allowed", c)
		}
		r.text = append(r.text, c)
	}
	r.text = append(r.text, 0)
	return r
}

func printable(c rune) bool {
	switch {
	case c == '\t', c == '\n', c == '\r', c == 0x85:
		return true
	case c < 0x20, c > 0x7e && c < 0xa0, c == 0xfffe, c == 0xffff:
		return false
	}
	return true
}

// name prints a character for a message.
func name(c rune) string {
	switch {
	case c == 0:
		return "end of the text"
	case c == '\t':
		return "tab"
	case c < 0x20 || c >= 0x7f:
		return fmt.Sprintf("U+%04X", c)
	}
	return fmt.Sprintf("%q", c)
}

// end is the mark behind the text read so far.
func (r *reader) end() mark {
	e := reader{text: append(r.text[:len(r.text):len(r.text)], 0)}
	e.forward(len(r.text))
	return e.at
}

// peek returns the character n characters ahead, NUL at and behind the end.
func (r *reader) peek(n int) rune {
	if i := r.at.index + n; i < len(r.text) {
		return r.text[i]
	}
	return 0
}

// next returns the next n characters, or fewer at the end of the text.
func (r *reader) next(n int) string {
	return string(r.text[r.at.index:min(r.at.index+n, len(r.text))])
}

func (r *reader) forward(n int) {
	for range n {
		c := r.text[r.at.index]
		r.at.index++
		switch {
		case c == '\n', c == 0x85, c == 0x2028, c == 0x2029, c == '\r' && r.text[r.at.index] != '\n':
			r.at.line++
			r.at.col = 0
		case c != 0xfeff:
			r.at.col++
		}
	}
}

// take returns the next n characters and goes behind them.
func (r *reader) take(n int) string {
	s := r.next(n)
	r.forward(n)
	return s
}

func isBreak(c rune) bool {
	return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029
}

// isBreakEnd: a line break or the end of the text.
func isBreakEnd(c rune) bool { return c == 0 || isBreak(c) }

// isBlankEnd: a space, a line break or the end of the text, but no tab.
func isBlankEnd(c rune) bool { return c == ' ' || isBreakEnd(c) }

// isSpaceEnd: a space, a tab, a line break or the end of the text.
func isSpaceEnd(c rune) bool { return c == '\t' || isBlankEnd(c) }

// isWord: what names of anchors, directives and tag handles are made of.
func isWord(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '-' || c == '_'
}

func isHex(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'F' || c >= 'a' && c <= 'f'
}

// lineBreak takes a line break and returns what it becomes in a scalar: "" when there is none.
func (r *reader) lineBreak() string {
	switch c := r.peek(0); c {
	case '\r', '\n', 0x85:
		if c == '\r' && r.peek(1) == '\n' {
			r.forward(2)
		} else {
			r.forward(1)
		}
		return "\n"
	case 0x2028, 0x2029:
		r.forward(1)
		return string(c)
	}
	return ""
}

// comment goes over spaces and a comment, up to the line break.
func (r *reader) comment() {
	for r.peek(0) == ' ' {
		r.forward(1)
	}
	if r.peek(0) == '#' {
		for !isBreakEnd(r.peek(0)) {
			r.forward(1)
		}
	}
}

// atDocument says whether a document marker, "---" or "...", stands here.
func (r *reader) atDocument() bool {
	m := r.next(3)
	return (m == "---" || m == "...") && isSpaceEnd(r.peek(3))
}
