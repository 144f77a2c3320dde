package instancegroups

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
)

// Scripts are nearly all of a merged manifest, and YAML parsers are slow. So the bodies of plain literal scalars
//
//	content: |
//	  ...
//
// are taken out before parsing and leave a one-line token behind. That is sound: a parser goes from left to right, so
// it reaches the "|" in the same state with and without the body, and from there a literal scalar takes all lines of at
// least its indentation, whatever they hold. It is only done for bodies in which every line is such a line without
// doubt. Where the "|" is no literal scalar's, its token does not come out of the parser as the whole value of a
// part's content, and the document is parsed as it is: see section.read.

const (
	contentHeader = "content: |\n"
	tokenPrefix   = "@kopshook-body-"
	tokenSuffix   = "@"
	minBody       = 64 // bytes; below, a token saves nothing
)

// bodies numbers the bodies that were taken out, each different one once: equal tokens are equal contents.
type bodies struct {
	parent  *bodies // whose numbers come first; it has all of them already
	mu      sync.RWMutex
	numbers map[uint64][]int // by the hash of the lines as they stand in the file, indentation and all
	content []string         // without the indentation, by number
}

var hashSeed = maphash.MakeSeed()

// number returns the number of a body whose lines begin with indent spaces or are empty.
func (b *bodies) number(body []byte, indent int) int {
	hash := maphash.Bytes(hashSeed, body)
	if n, ok := b.find(hash, body, indent); ok {
		return n
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, ok := b.own(hash, body, indent); ok {
		return n
	}
	var s strings.Builder
	s.Grow(len(body))
	for line := range bytes.Lines(body) {
		s.Write(line[min(indent, len(line)-1):])
	}
	if b.numbers == nil {
		b.numbers = make(map[uint64][]int)
	}
	n := b.first() + len(b.content)
	b.numbers[hash] = append(b.numbers[hash], n)
	b.content = append(b.content, s.String())
	return n
}

func (b *bodies) find(hash uint64, body []byte, indent int) (n int, ok bool) {
	if b.parent != nil {
		if n, ok := b.parent.find(hash, body, indent); ok {
			return n, true
		}
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.own(hash, body, indent)
}

// own is find, but for the parent's bodies.
func (b *bodies) own(hash uint64, body []byte, indent int) (n int, ok bool) {
	for _, n := range b.numbers[hash] {
		if isContent(b.content[n-b.first()], body, indent) {
			return n, true
		}
	}
	return 0, false
}

// isContent says whether content is a body without its indentation.
func isContent(content string, body []byte, indent int) bool {
	for line := range bytes.Lines(body) {
		line = line[min(indent, len(line)-1):]
		if !strings.HasPrefix(content, string(line)) {
			return false
		}
		content = content[len(line):]
	}
	return content == ""
}

// first is the number of the first body that is not the parent's.
func (b *bodies) first() int {
	if b.parent == nil {
		return 0
	}
	return b.parent.first() + len(b.parent.content)
}

// expand returns the content that a string stands for: a body, when it is a token.
func (b *bodies) expand(s string) string {
	n, ok := tokenNumber(s)
	if !ok {
		return s
	}
	first := b.first()
	if n < first {
		return b.parent.expand(s)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.content[n-first]
}

// tokenNumber returns the number in the value of a literal scalar that is a token.
func tokenNumber(s string) (n int, ok bool) {
	s, ok = strings.CutPrefix(s, tokenPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(s, tokenSuffix+"\n"))
	return n, err == nil
}

// elided is a YAML document without the long bodies of its literal scalars.
type elided struct {
	text   []byte
	tokens int
	cuts   []cut
}

// cut says that text[at:] is src[src:].
type cut struct{ at, src int }

// whole is src with all bodies.
func whole(src []byte) elided { return elided{text: src, cuts: []cut{{0, 0}}} }

// elide takes the bodies out of src.
func (b *bodies) elide(src []byte) elided {
	e := whole(src)
	if bytes.Contains(src, []byte(tokenPrefix)) {
		return e
	}
	var out []byte
	from := 0 // src[:from] is in out
	for at := 0; ; {
		i := bytes.Index(src[at:], []byte(contentHeader))
		if i < 0 {
			break
		}
		header := at + i
		start := header + len(contentHeader)
		at = start
		key, ok := keyColumn(src, header)
		if !ok {
			continue
		}
		indent, size := literalBody(src[start:], key)
		if size < minBody {
			continue
		}
		end := start + size
		if out == nil {
			out = make([]byte, 0, len(src)/4)
		}
		out = append(out, src[from:start+indent]...)
		out = append(out, tokenPrefix...)
		out = strconv.AppendInt(out, int64(b.number(src[start:end], indent)), 10)
		out = append(out, tokenSuffix+"\n"...)
		e.cuts = append(e.cuts, cut{len(out), end})
		e.tokens++
		from, at = end, end
	}
	if out != nil {
		e.text = append(out, src[from:]...)
	}
	return e
}

// keyColumn returns the column, from 0, of the key at src[i], when only spaces and at most one "- " stand before it.
func keyColumn(src []byte, i int) (column int, ok bool) {
	line := src[bytes.LastIndexByte(src[:i], '\n')+1 : i]
	rest := bytes.TrimLeft(line, " ")
	return len(line), len(rest) == 0 || string(rest) == "- "
}

// literalBody returns the size of the literal scalar at the begin of src, whose key stands in the column key, and the
// indentation of its lines. The size is 0 when there is any doubt. Empty lines at the end are not part of it.
func literalBody(src []byte, key int) (indent, size int) {
	for size < len(src) {
		line := src[size:]
		end := bytes.IndexByte(line, '\n')
		if end < 0 {
			return 0, 0
		}
		line = line[:end]
		if len(line) == 0 {
			if indent == 0 {
				return 0, 0 // the parser looks for the indentation behind empty lines, we do not
			}
			size++
			continue
		}
		spaces := len(line) - len(bytes.TrimLeft(line, " "))
		if indent == 0 {
			indent = spaces
			if indent <= key || spaces == len(line) || line[spaces] == '\t' {
				return 0, 0
			}
		}
		if spaces < indent {
			if spaces > key || spaces == len(line) {
				return 0, 0
			}
			break
		}
		if spaces == len(line) || !plainText(line[spaces:]) {
			return 0, 0
		}
		size += end + 1
	}
	for size > 1 && src[size-2] == '\n' {
		size--
	}
	return indent, size
}

// plainText says whether no parser can see anything but text in a line: line breaks of YAML 1.1 (NEL, LS, PS) and
// characters that parsers refuse are all outside of it.
func plainText(line []byte) bool {
	for _, c := range line {
		if (c < 0x20 && c != '\t') || c > 0x7e {
			return false
		}
	}
	return true
}
