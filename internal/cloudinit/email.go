package cloudinit

import (
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// message is a MIME message or part of one, as Python's email package holds it.
type message struct {
	headers     []header
	defaultType string

	// children of a container; then there is no payload.
	container bool
	children  []*message

	// payload is text. With raw set it is bytes that were never text, which decode to themselves (Python keeps such bytes
	// as surrogates), and so does text that cloud-init itself has wrapped.
	payload string
	raw     bool

	origin    origin
	stretches []stretch // of the payload, once they are asked for
}

type header struct{ name, value string }

// get returns the first header of that name, case not counting.
func (m *message) get(name string) (string, bool) {
	for _, h := range m.headers {
		if strings.EqualFold(h.name, name) {
			return h.value, true
		}
	}
	return "", false
}

// replace removes all headers of that name and adds one at the end.
func (m *message) replace(name, value string) {
	kept := m.headers[:0:0]
	for _, h := range m.headers {
		if !strings.EqualFold(h.name, name) {
			kept = append(kept, h)
		}
	}
	m.headers = append(kept, header{name, value})
}

func (m *message) add(name, value string) { m.headers = append(m.headers, header{name, value}) }

// contentType is "maintype/subtype" in lower case; what is not of that form is text/plain.
func (m *message) contentType() string {
	v, ok := m.get("Content-Type")
	if !ok {
		return m.defaultType
	}
	v, _, _ = strings.Cut(v, ";")
	v = pyLower(pyyaml.Strip(v))
	if strings.Count(v, "/") != 1 {
		return "text/plain"
	}
	return v
}

func (m *message) mainType() string {
	main, _, _ := strings.Cut(m.contentType(), "/")
	return main
}

// walk calls f for m and all that it contains, depth first.
func (m *message) walk(f func(*message)) {
	f(m)
	for _, c := range m.children {
		c.walk(f)
	}
}

// line is a line of a message with its line break; offset is where it begins in the message, in bytes.
type line struct {
	text   string
	offset int
}

// splitLines splits at \n, \r and \r\n, all kept.
func splitLines(s string) []line {
	var lines []line
	start := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\n', s[i] == '\r' && (i+1 == len(s) || s[i+1] != '\n'):
			lines = append(lines, line{s[start : i+1], start})
			start = i + 1
		}
	}
	if start < len(s) {
		lines = append(lines, line{s[start:], start})
	}
	return lines
}

// emailParser reads a message as email.message_from_string does (Python's Lib/email/feedparser.py). Nothing is an error
// to it.
type emailParser struct {
	lines []line
	next  int
	size  int
	// ends are the rules by which the enclosing parts end.
	ends []func(string) bool
	// last is the part whose headers were read last: the line break before a boundary is taken off its payload.
	last  *message
	depth int
}

// maxParts is where the parser stops to look into parts of parts.
const maxParts = 100

func parseEmail(text string, version Version) *message {
	p := &emailParser{lines: splitLines(text), size: len(text)}
	return p.message("text/plain", version)
}

// readline returns the next line, or false at the end of the enclosing part.
func (p *emailParser) readline() (line, bool) {
	if p.next >= len(p.lines) {
		return line{}, false
	}
	l := p.lines[p.next]
	for _, end := range p.ends {
		if end(l.text) {
			return line{}, false
		}
	}
	p.next++
	return l, true
}

// rest returns all lines up to the end of the enclosing part, and the offset they begin at.
func (p *emailParser) rest() (string, int) {
	offset := p.size
	if p.next < len(p.lines) {
		offset = p.lines[p.next].offset
	}
	var b strings.Builder
	for l, ok := p.readline(); ok; l, ok = p.readline() {
		b.WriteString(l.text)
	}
	return b.String(), offset
}

func (p *emailParser) setPayload(m *message) {
	var offset int
	m.payload, offset = p.rest()
	m.origin.offset = offset
}

func (p *emailParser) message(defaultType string, version Version) *message {
	p.depth++
	defer func() { p.depth-- }()
	m := &message{defaultType: defaultType}
	p.last = m
	var headers []line
	for {
		l, ok := p.readline()
		if !ok {
			break
		}
		if !isHeader(l.text) {
			if !startsWithBreak(l.text) {
				p.next--
			}
			break
		}
		headers = append(headers, l)
	}
	p.headers(m, headers, version)

	typ := m.contentType()
	main, _, _ := strings.Cut(typ, "/")
	switch {
	case p.depth > maxParts:
		p.setPayload(m)
	case typ == "message/delivery-status":
		p.deliveryStatus(m, version)
	case main == "message":
		m.container = true
		m.children = append(m.children, p.message("text/plain", version))
	case main == "multipart":
		p.multipart(m, version)
	default:
		p.setPayload(m)
	}
	return m
}

// isHeader: a header, its continuation, or a line of an old mailbox ("From ").
func isHeader(s string) bool {
	if strings.HasPrefix(s, "From ") || s[0] == ' ' || s[0] == '\t' {
		return true
	}
	for i := range len(s) {
		if s[i] == ':' {
			return true
		}
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return false
}

func startsWithBreak(s string) bool { return s != "" && (s[0] == '\n' || s[0] == '\r') }

// chomp takes the line break off the end.
func chomp(s string) string {
	switch {
	case strings.HasSuffix(s, "\r\n"):
		return s[:len(s)-2]
	case strings.HasSuffix(s, "\n"), strings.HasSuffix(s, "\r"):
		return s[:len(s)-1]
	}
	return s
}

func (p *emailParser) headers(m *message, lines []line, version Version) {
	var name string
	var value strings.Builder
	flush := func() {
		if name != "" {
			v := value.String()
			if version.has(pythonJoinsHeaders) {
				v = strings.TrimLeft(v, " \t\r\n")
			}
			m.add(name, strings.TrimRight(v, "\r\n"))
		}
		name = ""
		value.Reset()
	}
	for i, l := range lines {
		s := l.text
		if s[0] == ' ' || s[0] == '\t' {
			value.WriteString(s)
			continue
		}
		flush()
		if strings.HasPrefix(s, "From ") {
			if i > 0 && i == len(lines)-1 {
				// it is taken for the first line of the body; an empty line behind it is gone
				p.next--
				p.lines[p.next] = l
				return
			}
			continue
		}
		var first string
		name, first, _ = strings.Cut(s, ":")
		value.WriteString(strings.TrimLeft(first, " \t"))
	}
	flush()
}

// deliveryStatus reads blocks of headers, each a message of its own.
func (p *emailParser) deliveryStatus(m *message, version Version) {
	m.container = true
	for {
		p.ends = append(p.ends, startsWithBreak)
		m.children = append(m.children, p.message("text/plain", version))
		p.ends = p.ends[:len(p.ends)-1]
		p.readline()
		if _, ok := p.readline(); !ok {
			return
		}
		p.next--
	}
}

func (p *emailParser) multipart(m *message, version Version) {
	boundary, ok := m.boundary()
	if !ok {
		p.setPayload(m)
		return
	}
	childType := "text/plain"
	if m.contentType() == "multipart/digest" {
		childType = "message/rfc822"
	}
	separator := "--" + boundary
	isSeparator := func(s string) bool { sep, _ := matchBoundary(s, separator); return sep }
	var preamble strings.Builder
	first := p.size
	if p.next < len(p.lines) {
		first = p.lines[p.next].offset
	}
	for inPreamble := true; ; {
		l, ok := p.readline()
		if !ok {
			if inPreamble {
				// the boundary never came: all of it is the payload
				m.payload, m.origin.offset = preamble.String(), first
				return
			}
			break
		}
		sep, end := matchBoundary(l.text, separator)
		switch {
		case !sep:
			preamble.WriteString(l.text)
			continue
		case end && inPreamble:
			// the closing boundary alone: what stood before it is the payload
			m.payload, m.origin.offset = preamble.String(), first
			p.rest()
			return
		case end:
			p.rest()
			m.container = true
			return
		}
		inPreamble = false
		for l, ok = p.readline(); ok && isSeparator(l.text); l, ok = p.readline() {
		}
		if ok {
			p.next--
		}
		p.ends = append(p.ends, isSeparator)
		m.container = true
		m.children = append(m.children, p.message(childType, version))
		p.ends = p.ends[:len(p.ends)-1]
		if !p.last.container && p.last.mainType() != "multipart" {
			p.last.payload = chomp(p.last.payload)
		}
		p.last = m
	}
	m.container = true
}

// matchBoundary says whether a line is a boundary, and whether it is the closing one: "--", the boundary, "--" if it
// closes, then only white space.
func matchBoundary(s, separator string) (sep, end bool) {
	s, sep = strings.CutPrefix(s, separator)
	if !sep {
		return false, false
	}
	s = chomp(s)
	closed, isEnd := strings.CutPrefix(s, "--")
	if isEnd && strings.Trim(closed, " \t") == "" {
		return true, true
	}
	return strings.Trim(s, " \t") == "", false
}
