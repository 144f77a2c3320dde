package pyyaml

import "strings"

func (s *scanner) scalar(text string, style rune, start, end mark) {
	s.tokens = append(s.tokens, token{kind: scalarToken, start: start, end: end, value: text, style: style})
}

// plain scans a scalar without quotes.
func (s *scanner) plain() {
	start, end := s.at, s.at
	indent := s.indent + 1
	var text, spaces strings.Builder
	for s.peek(0) != '#' {
		n := 0
		for !s.plainEnds(n) {
			n++
		}
		if n == 0 {
			break
		}
		s.keyOK = false
		text.WriteString(spaces.String())
		text.WriteString(s.take(n))
		end = s.at
		spaces.Reset()
		s.plainSpaces(&spaces)
		if spaces.Len() == 0 || s.peek(0) == '#' || s.flow == 0 && s.at.col < indent {
			break
		}
	}
	s.scalar(text.String(), 0, start, end)
}

func (s *scanner) plainEnds(n int) bool {
	c := s.peek(n)
	if isSpaceEnd(c) {
		return true
	}
	if c == ':' {
		next := s.peek(n + 1)
		return isSpaceEnd(next) || s.flow != 0 && strings.ContainsRune(",[]{}", next)
	}
	return s.flow != 0 && strings.ContainsRune(",?[]{}", c)
}

// plainSpaces collects what stands for the white space inside a plain scalar. A tab ends it.
func (s *scanner) plainSpaces(out *strings.Builder) {
	n := 0
	for s.peek(n) == ' ' {
		n++
	}
	spaces := s.take(n)
	if !isBreak(s.peek(0)) {
		out.WriteString(spaces)
		return
	}
	first := s.lineBreak()
	s.keyOK = true
	if s.atDocument() {
		return
	}
	var breaks strings.Builder
	for c := s.peek(0); c == ' ' || isBreak(c); c = s.peek(0) {
		if c == ' ' {
			s.forward(1)
			continue
		}
		breaks.WriteString(s.lineBreak())
		if s.atDocument() {
			return
		}
	}
	fold(out, first, breaks.String())
}

// fold writes what a line break and the empty lines behind it stand for: a single line feed is a space.
func fold(out *strings.Builder, first, breaks string) {
	switch {
	case first != "\n":
		out.WriteString(first)
	case breaks == "":
		out.WriteByte(' ')
	}
	out.WriteString(breaks)
}

// quoted scans a scalar in single or double quotes.
func (s *scanner) quoted(quote rune) {
	start := s.at
	s.forward(1)
	var text strings.Builder
	for s.quotedText(&text, quote); s.peek(0) != quote; s.quotedText(&text, quote) {
		s.quotedSpaces(&text, start)
	}
	s.forward(1)
	s.scalar(text.String(), quote, start, s.at)
}

func (s *scanner) quotedText(out *strings.Builder, quote rune) {
	for {
		n := 0
		for c := s.peek(n); c != '\'' && c != '"' && c != '\\' && !isSpaceEnd(c); c = s.peek(n) {
			n++
		}
		out.WriteString(s.take(n))
		c := s.peek(0)
		switch {
		case quote == '\'' && c == '\'' && s.peek(1) == '\'':
			out.WriteByte('\'')
			s.forward(2)
		case quote == '"' && c == '\'', quote == '\'' && (c == '"' || c == '\\'):
			out.WriteRune(c)
			s.forward(1)
		case quote == '"' && c == '\\':
			s.forward(1)
			s.escape(out)
		default:
			return
		}
	}
}

// escapes of one character in double quotes.
const (
	escapeNames  = "0abt\tnvfre \"\\/N_LP"
	escapeValues = "\x00\a\b\t\t\n\v\f\r\x1b \"\\/\u0085\u00a0\u2028\u2029"
)

// escape scans what follows a backslash in double quotes.
func (s *scanner) escape(out *strings.Builder) {
	c := s.peek(0)
	if i := strings.IndexRune(escapeNames, c); i >= 0 && c != 0 {
		out.WriteRune([]rune(escapeValues)[i])
		s.forward(1)
		return
	}
	if isBreak(c) {
		s.lineBreak()
		out.WriteString(s.quotedBreaks())
		return
	}
	digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 {
		fail(s.at, "unknown escape \\%c in double quotes", c)
	}
	s.forward(1)
	code := uint64(0)
	for k := range digits {
		d := s.peek(k)
		if !isHex(d) {
			fail(s.at, "\\%c takes %d hexadecimal digits, found %s", c, digits, name(d))
		}
		code = code<<4 | uint64(hexValue(d))
	}
	switch {
	case code > 0x7fffffff:
		panic(&Error{Msg: "character beyond Unicode in double quotes", Uncaught: true})
	case code > 0x10ffff:
		panic(&Error{Msg: "character beyond Unicode in double quotes"})
	case code >= 0xd800 && code < 0xe000:
		// a lone surrogate: no Go string can hold it as a character
		out.Write([]byte{0xed, byte(0x80 | code>>6&0x3f), byte(0x80 | code&0x3f)})
	default:
		out.WriteRune(rune(code))
	}
	s.forward(digits)
}

func hexValue(c rune) rune {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

func (s *scanner) quotedSpaces(out *strings.Builder, start mark) {
	n := 0
	for c := s.peek(n); c == ' ' || c == '\t'; c = s.peek(n) {
		n++
	}
	spaces := s.take(n)
	switch c := s.peek(0); {
	case c == 0:
		fail(s.at, "the quote opened at line %d, column %d is not closed", start.line+1, start.col+1)
	case isBreak(c):
		first := s.lineBreak()
		fold(out, first, s.quotedBreaks())
	default:
		out.WriteString(spaces)
	}
}

// quotedBreaks collects empty lines inside quotes and goes over the indentation behind them.
func (s *scanner) quotedBreaks() string {
	var breaks strings.Builder
	for {
		if s.atDocument() {
			fail(s.at, "a document marker inside of quotes")
		}
		for c := s.peek(0); c == ' ' || c == '\t'; c = s.peek(0) {
			s.forward(1)
		}
		if !isBreak(s.peek(0)) {
			return breaks.String()
		}
		breaks.WriteString(s.lineBreak())
	}
}

// blockScalar scans a literal (|) or folded (>) scalar.
func (s *scanner) blockScalar(style rune) {
	start := s.at
	s.forward(1)
	chomp, increment := s.blockHeader()
	s.comment()
	if c := s.peek(0); !isBreakEnd(c) {
		fail(s.at, "expected a comment or the end of the line behind %c, found %s", style, name(c))
	}
	s.lineBreak()

	indent := max(s.indent+1, 1)
	var breaks string
	var end mark
	if increment == 0 {
		var widest int
		breaks, widest, end = s.blockIndentation()
		indent = max(indent, widest)
	} else {
		indent += increment - 1
		breaks, end = s.blockBreaks(indent)
	}

	var text strings.Builder
	lineBreak := ""
	for s.at.col == indent && s.peek(0) != 0 {
		text.WriteString(breaks)
		c := s.peek(0)
		indented := c == ' ' || c == '\t'
		n := 0
		for !isBreakEnd(s.peek(n)) {
			n++
		}
		text.WriteString(s.take(n))
		lineBreak = s.lineBreak()
		breaks, end = s.blockBreaks(indent)
		c = s.peek(0)
		if s.at.col != indent || c == 0 {
			break
		}
		if style == '>' && lineBreak == "\n" && !indented && c != ' ' && c != '\t' {
			if breaks == "" {
				text.WriteByte(' ')
			}
			continue
		}
		text.WriteString(lineBreak)
	}
	if chomp != '-' {
		text.WriteString(lineBreak)
	}
	if chomp == '+' {
		text.WriteString(breaks)
	}
	s.scalar(text.String(), style, start, end)
}

// blockHeader scans the chomping (+ or -, else 0) and the indentation (1..9, else 0) behind | or >, in either order.
func (s *scanner) blockHeader() (chomp rune, increment int) {
	for range 2 {
		switch c := s.peek(0); {
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
			s.forward(1)
		case c >= '0' && c <= '9' && increment == 0:
			if c == '0' {
				fail(s.at, "the indentation of a block is 1 to 9, found 0")
			}
			increment = int(c - '0')
			s.forward(1)
		}
	}
	if c := s.peek(0); !isBlankEnd(c) {
		fail(s.at, "expected + or -, or an indentation, found %s", name(c))
	}
	return chomp, increment
}

func (s *scanner) blockIndentation() (breaks string, widest int, end mark) {
	var b strings.Builder
	end = s.at
	for c := s.peek(0); c == ' ' || isBreak(c); c = s.peek(0) {
		if c != ' ' {
			b.WriteString(s.lineBreak())
			end = s.at
			continue
		}
		s.forward(1)
		widest = max(widest, s.at.col)
	}
	return b.String(), widest, end
}

func (s *scanner) blockBreaks(indent int) (breaks string, end mark) {
	var b strings.Builder
	end = s.at
	for {
		for s.at.col < indent && s.peek(0) == ' ' {
			s.forward(1)
		}
		if !isBreak(s.peek(0)) {
			return b.String(), end
		}
		b.WriteString(s.lineBreak())
		end = s.at
	}
}
