// Package sourcemap tells where things in a text that is inside of a YAML or JSON file, such as a script, stand in that file.
package sourcemap

import (
	"bytes"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Map says where each byte of a string that was decoded from YAML or JSON stands in its file: at[i] is the offset
// of the i-th byte, and at[len] the end. It is nil where that cannot be told for certain.
type Map []int

// of finds content behind the key that stands at an offset of src. It checks each byte, so a scalar that is
// written in a way it does not know gives nil, never a wrong place.
func of(src []byte, key int, content string) Map {
	start := valueAfter(src, key)
	if start < 0 || start >= len(src) {
		return nil
	}
	switch src[start] {
	case '|':
		return mapBlock(src, start, content)
	case '"':
		return mapDouble(src, start+1, content)
	case '\'':
		return mapSingle(src, start+1, content)
	}
	if bytes.HasPrefix(src[start:], []byte(content)) {
		return run(start, len(content))
	}
	return nil
}

// valueAfter returns the offset of the value of the key at an offset: behind its colon, a tag and an anchor.
func valueAfter(src []byte, key int) int {
	if key < 0 || key >= len(src) {
		return -1
	}
	i := key
	if q := src[key]; q == '"' || q == '\'' {
		i += 1 + bytes.IndexByte(src[key+1:], q)
	}
	colon := bytes.IndexByte(src[i:], ':')
	if colon < 0 {
		return -1
	}
	i += colon + 1
	for i < len(src) {
		switch src[i] {
		case ' ', '\t', '\n', '\r':
			i++
		case '!', '&':
			for i < len(src) && src[i] != ' ' && src[i] != '\n' {
				i++
			}
		default:
			return i
		}
	}
	return -1
}

func run(start, n int) Map {
	m := make(Map, n+1)
	for i := range m {
		m[i] = start + i
	}
	return m
}

// mapBlock maps a literal block: its lines are those of the file without their indentation.
func mapBlock(src []byte, start int, content string) Map {
	m := make(Map, 0, len(content)+1)
	at := start + bytes.IndexByte(src[start:], '\n') + 1
	if at == start {
		return nil
	}
	indent := -1
	for len(content) > 0 {
		line, rest, more := strings.Cut(content, "\n")
		if at >= len(src) {
			return nil
		}
		end := at + bytes.IndexByte(src[at:], '\n')
		next := end + 1
		if end < at {
			end, next = len(src), len(src)
		}
		text := bytes.TrimSuffix(src[at:end], []byte("\r"))
		if indent < 0 && line != "" {
			indent = len(text) - len(line)
		}
		skip := min(max(indent, 0), len(text))
		if line == "" {
			skip = len(text)
		}
		if skip < 0 || string(text[skip:]) != line || strings.Trim(string(text[:skip]), " ") != "" {
			return nil
		}
		for i := range len(line) {
			m = append(m, at+skip+i)
		}
		if more {
			m = append(m, at+len(text))
		}
		at, content = next, rest
	}
	return append(m, min(at, len(src)))
}

// mapSingle maps a scalar in single quotes on one line.
func mapSingle(src []byte, at int, content string) Map {
	m := make(Map, 0, len(content)+1)
	for i := range len(content) {
		if at >= len(src) || src[at] != content[i] {
			return nil
		}
		m = append(m, at)
		if src[at] == '\'' {
			at++
		}
		at++
	}
	return append(m, at)
}

// mapDouble maps a scalar in double quotes, of YAML or JSON.
func mapDouble(src []byte, at int, content string) Map {
	m := make(Map, 0, len(content)+1)
	for i := 0; i < len(content); {
		text, n := decodeDouble(src[at:])
		if n == 0 {
			return nil
		}
		if !strings.HasPrefix(content[i:], text) {
			return nil
		}
		for range len(text) {
			m = append(m, at)
		}
		i += len(text)
		at += n
	}
	return append(m, at)
}

// decodeDouble decodes the first character of what stands in double quotes, and says how many bytes it takes. An escaped
// line break, and the indentation behind it, is an empty text.
func decodeDouble(src []byte) (string, int) {
	if len(src) < 2 || src[0] == '"' {
		return "", 0
	}
	if src[0] == '\n' {
		// a line break stands for a space, and one more for each empty line
		n := 1 + len(src[1:]) - len(bytes.TrimLeft(src[1:], " \t\n"))
		if breaks := bytes.Count(src[:n], []byte("\n")); breaks > 1 {
			return strings.Repeat("\n", breaks-1), n
		}
		return " ", n
	}
	if src[0] != '\\' {
		_, n := utf8.DecodeRune(src)
		return string(src[:n]), n
	}
	const names, values = "0abt\tnvfre \"\\/N_LP", "\x00\a\b\t\t\n\v\f\r\x1b \"\\/\u0085\u00a0\u2028\u2029"
	if src[1] == '\n' {
		return "", 2 + len(src[2:]) - len(bytes.TrimLeft(src[2:], " \t"))
	}
	if i := strings.IndexByte(names, src[1]); i >= 0 {
		return string([]rune(values)[i]), 2
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[src[1]]
	if digits == 0 || len(src) < 2+digits {
		return "", 0
	}
	code, err := strconv.ParseUint(string(src[2:2+digits]), 16, 32)
	if err != nil {
		return "", 0
	}
	if code >= 0xd800 && code < 0xdc00 && len(src) >= 12 { // a surrogate pair of JSON
		low, err := strconv.ParseUint(string(src[8:12]), 16, 32)
		if err != nil || low < 0xdc00 || low > 0xdfff {
			return "", 0
		}
		return string(rune(0x10000 + (code-0xd800)<<10 + (low - 0xdc00))), 12
	}
	return string(rune(code)), 2 + digits
}

// Text is what a user wrote, with where its lines begin: a place is found without a look at all that stands before it.
type Text struct {
	data  []byte
	lines func() []int // offsets
}

// New returns data with its lines, nil for nil.
func New(data []byte) *Text {
	if data == nil {
		return nil
	}
	return &Text{data, sync.OnceValue(func() []int {
		lines := []int{0}
		for i, c := range data {
			if c == '\n' {
				lines = append(lines, i+1)
			}
		}
		return lines
	})}
}

// Bytes returns the text, which must not be changed.
func (t *Text) Bytes() []byte { return t.data }

// Offset of a line and column, both from 1, the column in characters.
func (t *Text) Offset(line, col int) int {
	lines := t.lines()
	if line > len(lines) {
		return len(t.data)
	}
	at := lines[max(line, 1)-1]
	for ; col > 1 && at < len(t.data) && t.data[at] != '\n'; col-- {
		_, n := utf8.DecodeRune(t.data[at:])
		at += n
	}
	return at
}

// Map finds content behind the key at a line and column.
func (t *Text) Map(line, col int, content string) Map {
	return of(t.data, t.Offset(line, col), content)
}

// Place is the opposite of Offset.
func (t *Text) Place(offset int) (line, col int) {
	offset = min(offset, len(t.data))
	lines := t.lines()
	line = sort.SearchInts(lines, offset+1)
	return line, utf8.RuneCount(t.data[lines[line-1]:offset]) + 1
}

// Line returns a line without its line break, "" where there is none.
func (t *Text) Line(line int) string {
	if line < 1 {
		return ""
	}
	text, _, _ := bytes.Cut(t.data[t.Offset(line, 1):], []byte("\n"))
	return string(text)
}
