package cloudinit

import (
	"slices"
	"sort"
	"unicode/utf8"
)

// places turns lines and columns of a text into offsets in bytes and back, without counting from its beginning each
// time. Lines and columns count from 1, columns in characters.
type places struct {
	text  string
	lines []int // where each begins
	// inside are the offsets of bytes that do not begin a character; nil in plain ASCII.
	inside []int
}

// yamlPlaces breaks lines as PyYAML does, newlinePlaces at line feeds alone.
func yamlPlaces(text string) *places {
	p := newPlaces(text)
	for i, c := range text {
		switch {
		case c == '\n', c == '\r' && (i+1 == len(text) || text[i+1] != '\n'), c == 0x85, c == 0x2028, c == 0x2029:
			p.lines = append(p.lines, i+utf8.RuneLen(c))
		}
	}
	return p
}

func newlinePlaces(text string) *places {
	p := newPlaces(text)
	for i := range len(text) {
		if text[i] == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	return p
}

func newPlaces(text string) *places {
	p := &places{text: text, lines: []int{0}}
	for i := range len(text) {
		if !utf8.RuneStart(text[i]) {
			p.inside = append(p.inside, i)
		}
	}
	return p
}

// characters counts those between two offsets.
func (p *places) characters(from, to int) int {
	a, _ := slices.BinarySearch(p.inside, from)
	b, _ := slices.BinarySearch(p.inside, to)
	return to - from - (b - a)
}

// offset returns where a line and column is, no further than the end of the line.
func (p *places) offset(line, col int) int {
	if line > len(p.lines) {
		return len(p.text)
	}
	start, end := p.lines[line-1], len(p.text)
	if line < len(p.lines) {
		end = p.lines[line]
	}
	for end > start && (p.text[end-1] == '\n' || p.text[end-1] == '\r') {
		end--
	}
	at := start + sort.Search(end-start, func(n int) bool { return p.characters(start, start+n) >= col-1 })
	for at < end && !utf8.RuneStart(p.text[at]) {
		at++
	}
	return at
}

// line returns the number of the line that an offset is in, from 0, and where it begins.
func (p *places) line(offset int) (number, start int) {
	n, found := slices.BinarySearch(p.lines, offset)
	if !found {
		n--
	}
	return n, p.lines[n]
}
