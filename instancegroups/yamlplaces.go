package instancegroups

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"
)

// yaml.v3 says where nodes begin, in lines and columns. Where they end follows from the text. Lines count from 0 here,
// and "end" is the line behind. A wrong answer is found by the comparison of the result: see section.verify.

// line returns the text of a line without its line break.
func (d *yamlDocument) line(i int) []byte {
	end := d.lineStart(i + 1)
	return bytes.TrimRight(d.elided.text[d.lineStart(i):end], "\r\n")
}

func (d *yamlDocument) lineStart(i int) int {
	if i >= len(d.lines) {
		return len(d.elided.text)
	}
	return d.lines[i]
}

// byteAt returns the byte at an offset of the elided text, or 0 behind its end.
func (d *yamlDocument) byteAt(at int) byte {
	if at >= len(d.elided.text) {
		return 0
	}
	return d.elided.text[at]
}

// count is the number of lines. The last line break begins no line.
func (d *yamlDocument) count() int { return len(d.lines) - 1 }

// after returns the line of the node that follows n and is not within it, or the number of lines.
func (d *yamlDocument) after(n *yaml.Node) int {
	if d.next == nil {
		d.next = make(map[*yaml.Node]*yaml.Node)
		var nodes []*yaml.Node
		var ends []int
		var walk func(n *yaml.Node)
		walk = func(n *yaml.Node) {
			i := len(nodes)
			nodes, ends = append(nodes, n), append(ends, 0)
			for _, c := range n.Content {
				walk(c)
			}
			ends[i] = len(nodes)
		}
		walk(d.root())
		for i, n := range nodes {
			if ends[i] < len(nodes) {
				d.next[n] = nodes[ends[i]]
			}
		}
	}
	if next := d.next[n]; next != nil {
		return next.Line - 1
	}
	return d.count()
}

// alone says whether only spaces stand before a node on its line.
func (d *yamlDocument) alone(n *yaml.Node) bool {
	before := d.elided.text[d.lineStart(n.Line-1):d.at(n.Line, n.Column)]
	return len(bytes.Trim(before, " ")) == 0
}

// end returns the line behind a node. indent is the column of the collection that it is in, and next the line of what
// follows: comments and empty lines before it are not part of the node, unless a block scalar keeps them.
func (d *yamlDocument) end(n *yaml.Node, indent, next int) (line int, ok bool) {
	for len(n.Content) > 0 {
		if n.Style&yaml.FlowStyle == 0 {
			indent = n.Content[0].Column - 1
			if n.Kind == yaml.SequenceNode {
				indent = n.Column - 1
			}
		}
		n = n.Content[len(n.Content)-1]
	}
	line = n.Line
	switch {
	case n.Kind != yaml.ScalarNode:
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return d.blockScalarEnd(n, indent)
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		at, ok := d.quotedEnd(d.at(n.Line, n.Column))
		if !ok {
			return 0, false
		}
		line += len(yamlLines(d.elided.text[d.at(n.Line, n.Column):at])) - 1
	}
	for last := next - 1; last >= line; last-- {
		if !isFiller(d.line(last)) {
			return last + 1, true
		}
	}
	return line, true
}

// isFiller says whether a line outside of scalars is a comment, empty, or ends the document.
func isFiller(line []byte) bool {
	s := bytes.TrimLeft(line, " \t")
	if len(s) == 0 || s[0] == '#' {
		return true
	}
	for _, marker := range []string{"...", "---"} {
		if rest, ok := bytes.CutPrefix(line, []byte(marker)); ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t') {
			return true
		}
	}
	return false
}

// lastBlockScalar returns the block scalar whose last line break is the document's, if there is one.
func (d *yamlDocument) lastBlockScalar() *yaml.Node {
	n, indent := d.root(), -1
	for len(n.Content) > 0 {
		indent = n.Content[0].Column - 1
		n = n.Content[len(n.Content)-1]
	}
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 || !strings.HasSuffix(n.Value, "\n") {
		return nil
	}
	if end, ok := d.blockScalarEnd(n, indent); !ok || end < d.count() {
		return nil
	}
	return n
}

// blockScalarEnd follows yaml_parser_scan_block_scalar of yaml.v3 (scannerc.go:2190).
func (d *yamlDocument) blockScalarEnd(n *yaml.Node, indent int) (line int, ok bool) {
	header := string(d.elided.text[d.at(n.Line, n.Column):d.lineStart(n.Line)])
	for strings.HasPrefix(header, "!") || strings.HasPrefix(header, "&") {
		_, rest, _ := strings.Cut(header, " ")
		header = strings.TrimLeft(rest, " \t")
	}
	if header == "" || header[0] != '|' && header[0] != '>' {
		return 0, false
	}
	want, keep := 0, false
	for _, c := range header[1:] {
		if c == '+' {
			keep = true
		} else if c >= '1' && c <= '9' {
			want = max(indent, 0) + int(c-'0')
		} else if c != '-' {
			break
		}
	}
	i := n.Line
	if want == 0 {
		want = max(indent+1, 1)
		for j := i; j < d.count(); j++ {
			line := d.line(j)
			spaces := leadingSpaces(line)
			want = max(want, spaces)
			if spaces < len(line) {
				break
			}
		}
	}
	end := i
	for ; i < d.count(); i++ {
		line := d.line(i)
		spaces := leadingSpaces(line)
		if spaces >= want && len(line) > want {
			end = i + 1
		} else if spaces < len(line) {
			break
		}
	}
	if keep {
		end = i
	}
	// A comment that is taken for text would be lost without anybody noticing.
	text := d.elided.text[d.lineStart(n.Line):d.lineStart(end)]
	return end, slices.Equal(strings.Fields(string(text)), strings.Fields(n.Value))
}

func leadingSpaces(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// quotedEnd returns the offset behind the quoted scalar that begins at an offset of the elided text.
func (d *yamlDocument) quotedEnd(at int) (int, bool) {
	text := d.elided.text
	quote := d.byteAt(at)
	if quote != '"' && quote != '\'' {
		return 0, false
	}
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1, true
		}
	}
	return 0, false
}

// colon returns the offset behind the ":" that follows a key on its line.
func (d *yamlDocument) colon(key *yaml.Node) (int, bool) {
	text := d.elided.text
	at := d.at(key.Line, key.Column)
	switch c := d.byteAt(at); {
	case c == '"' || c == '\'':
		end, ok := d.quotedEnd(at)
		if !ok {
			return 0, false
		}
		at = end
	case bytes.HasPrefix(text[at:], []byte(key.Value)):
		at += len(key.Value)
	default:
		return 0, false
	}
	for d.byteAt(at) == ' ' || d.byteAt(at) == '\t' {
		at++
	}
	return at + 1, d.byteAt(at) == ':'
}

// dash returns the line on which an item of a block list begins: the line of its "-", which stands in the column col,
// from 0, at or above the item's first node, but below the line over.
func (d *yamlDocument) dash(item *yaml.Node, col, over int) (line int, ok bool) {
	for i := item.Line - 1; i > over; i-- {
		line := d.line(i)
		if leadingSpaces(line) == col && len(line) > col && line[col] == '-' && (len(line) == col+1 || line[col+1] == ' ' || line[col+1] == '\t') {
			return i, true
		}
	}
	return 0, false
}

// lineOf returns the line that an offset of the elided text is in.
func (d *yamlDocument) lineOf(at int) int {
	return sort.SearchInts(d.lines, at+1) - 1
}

// flowEnd returns the offset behind a collection in brackets or braces.
func (d *yamlDocument) flowEnd(n *yaml.Node) (at int, ok bool) {
	depth := 0
	for ; n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode; n = n.Content[len(n.Content)-1] {
		depth++
		if len(n.Content) == 0 {
			break
		}
	}
	text := d.elided.text
	at = d.at(n.Line, n.Column)
	switch {
	case n.Kind != yaml.ScalarNode:
		at++
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		if at, ok = d.quotedEnd(at); !ok {
			return 0, false
		}
	case bytes.HasPrefix(text[at:], []byte(n.Value)):
		at += len(n.Value)
	default:
		return 0, false
	}
	for ; at < len(text); at++ {
		switch text[at] {
		case ' ', '\t', '\n', ',':
		case ']', '}':
			if depth--; depth == 0 {
				return at + 1, true
			}
		default:
			return 0, false
		}
	}
	return 0, false
}

// hasComment says whether a comment stands within a collection in brackets or braces, which is text[at:end].
func (d *yamlDocument) hasComment(n *yaml.Node, at, end int) bool {
	quoted := make(map[int]bool) // where quoted scalars begin
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		quoted[d.at(n.Line, n.Column)] = n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(n)
	text := d.elided.text
	for i := at; i < end; i++ {
		if text[i] == '#' && bytes.IndexByte([]byte(" \t\n"), text[i-1]) >= 0 {
			return true
		}
		if quoted[i] {
			if after, ok := d.quotedEnd(i); ok {
				i = after - 1
			}
		}
	}
	return false
}
