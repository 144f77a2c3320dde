package pyyaml

import (
	"strings"
	"unicode/utf8"
)

// directive scans "%YAML 1.1", "%TAG ! prefix" or another line that begins with %.
func (s *scanner) directive() {
	start := s.at
	s.forward(1)
	name := s.directiveName()
	t := token{kind: directive, start: start, value: name}
	switch name {
	case "YAML":
		t.major = s.version()
	case "TAG":
		s.spaces()
		t.handle = s.tagHandle()
		if c := s.peek(0); c != ' ' {
			fail(s.at, "expected a space behind the handle of %%TAG")
		}
		s.spaces()
		t.value2 = s.uri()
		if !isBlankEnd(s.peek(0)) {
			fail(s.at, "expected a space behind the prefix of %%TAG")
		}
	default:
		for !isBreakEnd(s.peek(0)) {
			s.forward(1)
		}
	}
	t.end = s.at
	s.comment()
	if !isBreakEnd(s.peek(0)) {
		fail(s.at, "expected a comment or the end of the line behind a directive")
	}
	s.lineBreak()
	s.tokens = append(s.tokens, t)
}

func (s *scanner) spaces() {
	for s.peek(0) == ' ' {
		s.forward(1)
	}
}

// word takes letters, digits, '-' and '_'.
func (s *scanner) word() string {
	n := 0
	for isWord(s.peek(n)) {
		n++
	}
	return s.take(n)
}

func (s *scanner) directiveName() string {
	word := s.word()
	if word == "" || !isBlankEnd(s.peek(0)) {
		fail(s.at, "expected the name of a directive, found %s", name(s.peek(0)))
	}
	return word
}

func (s *scanner) version() (major string) {
	s.spaces()
	major = s.digits()
	if s.peek(0) != '.' {
		fail(s.at, "expected a version like 1.1")
	}
	s.forward(1)
	s.digits()
	if !isBlankEnd(s.peek(0)) {
		fail(s.at, "expected a version like 1.1")
	}
	return major
}

func (s *scanner) digits() string {
	n := 0
	for c := s.peek(n); c >= '0' && c <= '9'; c = s.peek(n) {
		n++
	}
	if n == 0 {
		fail(s.at, "expected a digit, found %s", name(s.peek(0)))
	}
	return s.take(n)
}

// anchor scans &name or *name.
func (s *scanner) anchor() {
	start := s.at
	kind := anchorToken
	if s.peek(0) == '*' {
		kind = aliasToken
	}
	s.forward(1)
	word := s.word()
	if c := s.peek(0); word == "" || !isSpaceEnd(c) && !strings.ContainsRune("?:,]}%@`", c) {
		fail(s.at, "expected a name of letters and digits, found %s", name(c))
	}
	s.tokens = append(s.tokens, token{kind: kind, start: start, end: s.at, value: word})
}

// tag scans !, !suffix, !!suffix, !handle!suffix or !<uri>.
func (s *scanner) tag() {
	t := token{kind: tagToken, start: s.at}
	switch c := s.peek(1); {
	case c == '<':
		s.forward(2)
		t.value = s.uri()
		if s.peek(0) != '>' {
			fail(s.at, "expected '>', found %s", name(s.peek(0)))
		}
		s.forward(1)
	case isSpaceEnd(c):
		t.value = "!"
		s.forward(1)
	default:
		t.handle, t.hasHandle = "!", true
		if s.handleAhead() {
			t.handle = s.tagHandle()
		} else {
			s.forward(1)
		}
		t.value = s.uri()
	}
	if !isBlankEnd(s.peek(0)) {
		fail(s.at, "expected a space behind a tag, found %s", name(s.peek(0)))
	}
	t.end = s.at
	s.tokens = append(s.tokens, t)
}

func (s *scanner) handleAhead() bool {
	for n := 1; !isBlankEnd(s.peek(n)); n++ {
		if s.peek(n) == '!' {
			return true
		}
	}
	return false
}

func (s *scanner) tagHandle() string {
	if c := s.peek(0); c != '!' {
		fail(s.at, "expected '!', found %s", name(c))
	}
	n := 1
	if s.peek(n) != ' ' {
		for isWord(s.peek(n)) {
			n++
		}
		if c := s.peek(n); c != '!' {
			s.forward(n)
			fail(s.at, "expected '!', found %s", name(c))
		}
		n++
	}
	return s.take(n)
}

func (s *scanner) uri() string {
	var b strings.Builder
	for {
		c := s.peek(0)
		switch {
		case c == '%':
			b.WriteString(s.uriEscapes())
		case isWord(c) || c != 0 && strings.ContainsRune(";/?:@&=+$,_.!~*'()[]", c):
			b.WriteRune(c)
			s.forward(1)
		case b.Len() == 0:
			fail(s.at, "expected a URI, found %s", name(c))
		default:
			return b.String()
		}
	}
}

func (s *scanner) uriEscapes() string {
	at := s.at
	var b []byte
	for s.peek(0) == '%' {
		s.forward(1)
		for k := range 2 {
			if !isHex(s.peek(k)) {
				fail(s.at, "expected two hexadecimal digits, found %s", name(s.peek(k)))
			}
		}
		b = append(b, byte(hexValue(s.peek(0))<<4|hexValue(s.peek(1))))
		s.forward(2)
	}
	if !utf8.Valid(b) {
		fail(at, "the escapes are not UTF-8")
	}
	return string(b)
}
