package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// MaxSize bounds a file of hook specs: what a node gets is a thousandth of it.
const MaxSize = 10 << 20

// exoticBreaks are line breaks for YAML 1.1 but not for editors, nor (but for the carriage return) for YAML 1.2. yaml.v3
// would count lines by them and turn some into line feeds inside scripts, so the parser sees stand-ins.
const exoticBreaks = "\r\u0085\u2028\u2029"

// A breaks swaps exotic line breaks for characters that the input does not hold.
type breaks struct {
	standIns []rune // of exoticBreaks, in their order; nil when the input has no exotic breaks
}

// hide replaces exotic line breaks by their stand-ins; "\r\n" stays.
func (b *breaks) hide(data []byte) []byte {
	s := string(data)
	if !strings.ContainsAny(strings.ReplaceAll(s, "\r\n", "\n"), exoticBreaks) {
		return data
	}
	for next := rune(0x10fffd); len(b.standIns) < utf8.RuneCountInString(exoticBreaks); next-- {
		if !strings.ContainsRune(s, next) {
			b.standIns = append(b.standIns, next)
		}
	}
	pairs := []string{"\r\n", "\r\n"}
	for i, r := range []rune(exoticBreaks) {
		pairs = append(pairs, string(r), string(b.standIns[i]))
	}
	return []byte(strings.NewReplacer(pairs...).Replace(s))
}

// restore puts the exotic line breaks back. bare says that a lone carriage return was among them.
func (b *breaks) restore(s string) (restored string, bare bool) {
	if b.standIns == nil {
		return s, false
	}
	bare = strings.ContainsRune(s, b.standIns[0])
	for i, r := range []rune(exoticBreaks) {
		s = strings.ReplaceAll(s, string(b.standIns[i]), string(r))
	}
	return s, bare
}

// parse reads all documents of a file. It reports what keeps the file from being read, and then returns the documents
// before that place.
func parse(file string, data []byte, r *report.Report) (docs []*yaml.Node, b breaks) {
	if len(data) > MaxSize {
		r.Errorf(report.Position{File: file, Line: 1, Col: 1}, "", "keep big contents in files of their own and name them with `source:`",
			"the file is larger than %d MiB", MaxSize>>20)
		return nil, b
	}
	return parseAny(file, data, r)
}

// parseAny is parse without its bound.
func parseAny(file string, data []byte, r *report.Report) (docs []*yaml.Node, b breaks) {
	if i := invalidUTF8(data); i >= 0 {
		remedy := "save the file as UTF-8; binary contents go into contentBase64 or a file of their own"
		r.Errorf(at(file, data, i), "", remedy, "the file is not text in UTF-8")
		return nil, b
	}
	if json.Valid(data) {
		return []*yaml.Node{jsonTree(data)}, b
	}
	if path.Ext(file) == ".json" && len(bytes.TrimSpace(data)) > 0 {
		var syntax *json.SyntaxError
		if err := json.Unmarshal(data, new(any)); errors.As(err, &syntax) {
			r.Errorf(at(file, data, max(0, int(syntax.Offset)-1)), "", "", "the file is not JSON: %s", syntax)
			return nil, b
		}
	}
	data = b.hide(data)
	docs, err := parseYAML(data)
	if err == nil {
		return docs, b
	}
	offset := errorOffset(data, err)
	pos := at(file, data, offset)
	switch msg := syntaxMessage(err); {
	case strings.Contains(msg, "control characters"):
		r.Errorf(pos, "", `write it as an escape in double quotes ("\x1b"), or use contentBase64`, "YAML takes no control characters")
	case bytes.HasSuffix(data[:offset], []byte("*")) || bytes.HasPrefix(data[offset:], []byte("*")):
		r.Errorf(pos, "", `quote what begins with a *, such as "*.example.com"; an alias needs its anchor before it`, "the file is not YAML: %s", msg)
	case strings.Contains(msg, "tab character") || strings.Contains(msg, "cannot start any token"):
		r.Errorf(pos, "", "indent with spaces; quote values that begin with a special character", "the file is not YAML: %s", msg)
	default:
		r.Errorf(pos, "", "check the indentation and the quotes here and in the lines before", "the file is not YAML: %s", msg)
	}
	return docs, b
}

// parseYAML returns the documents of a YAML stream, those before an error too.
func parseYAML(data []byte) (docs []*yaml.Node, err error) {
	// yaml.v3 recovers from its own errors only
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML parser gave up: %v", p)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		n := new(yaml.Node)
		if err := dec.Decode(n); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return docs, err
		}
		docs = append(docs, n)
	}
}

// syntaxMessage is what yaml.v3 found wrong, without the line, which is often another one.
func syntaxMessage(err error) string {
	return regexp.MustCompile(`^(yaml: )?(line \d+: )?`).ReplaceAllString(err.Error(), "")
}

// errorOffset finds the byte offset at which the parser gives up. yaml.v3 says at most a line, often that of something
// before; but the offset is the end of the shortest beginning of the file that fails in the same way. For an unclosed
// quote or bracket that is where it was opened.
func errorOffset(data []byte, err error) int {
	const tooSlow = 1 << 20
	if len(data) > tooSlow {
		var line int
		fmt.Sscanf(err.Error(), "yaml: line %d:", &line)
		offset := 0
		for range line - 1 {
			if i := bytes.IndexByte(data[offset:], '\n'); i >= 0 {
				offset += i + 1
			}
		}
		return offset
	}
	want := syntaxMessage(err)
	same := func(end int) bool {
		_, err := parseYAML(data[:end])
		return err != nil && syntaxMessage(err) == want
	}
	lo, hi := 0, len(data) // data[:lo] differs, data[:hi] fails in the same way
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		for mid < hi && !utf8.RuneStart(data[mid]) {
			mid++
		}
		if mid == hi {
			mid = lo + (hi-lo)/2
			for mid > lo && !utf8.RuneStart(data[mid]) {
				mid--
			}
			if mid == lo {
				break
			}
		}
		if same(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo
}

// invalidUTF8 returns the offset of the first byte that is no UTF-8, or -1.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// at is the position of a byte offset. A byte order mark has no column, as with yaml.v3.
func at(file string, data []byte, offset int) report.Position {
	before := data[:min(offset, len(data))]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	if len(line) == len(before) {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return report.Position{File: file, Line: bytes.Count(before, []byte("\n")) + 1, Col: utf8.RuneCount(line) + 1}
}

// jsonTree returns valid JSON as the tree that yaml.v3 would make of it, if it read all of JSON: it refuses tabs as
// indentation and escaped surrogate pairs.
func jsonTree(data []byte) *yaml.Node {
	t := jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	t.dec.UseNumber()
	return &yaml.Node{Kind: yaml.DocumentNode, Line: 1, Column: 1, Content: []*yaml.Node{t.value()}}
}

type jsonReader struct {
	data []byte
	dec  *json.Decoder
	// offset, line and col are where the last token began, to count on from
	offset, line, col int
}

// value reads the next value.
func (t *jsonReader) value() *yaml.Node {
	start := int(t.dec.InputOffset())
	tok, err := t.dec.Token()
	if err != nil { // cannot be: the JSON is valid
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: 1, Column: 1}
	}
	start += bytes.IndexFunc(t.data[start:], func(r rune) bool { return !strings.ContainsRune(" \t\r\n,:", r) })
	t.advance(start)
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: t.line + 1, Column: t.col + 1}
	switch v := tok.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if v == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for t.dec.More() {
			n.Content = append(n.Content, t.value())
		}
		t.dec.Token() // the closing bracket
	case string:
		n.Tag, n.Value, n.Style = "!!str", v, yaml.DoubleQuotedStyle
	case json.Number:
		n.Tag, n.Value = "!!int", v.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(v)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	}
	return n
}

// advance moves line and col on to offset.
func (t *jsonReader) advance(offset int) {
	for _, r := range string(t.data[t.offset:offset]) {
		if r == '\n' {
			t.line, t.col = t.line+1, 0
		} else {
			t.col++
		}
	}
	t.offset = offset
}
