package instancegroups

import (
	"bytes"
	"io"
	"sort"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// yamlDocument is a section as yaml.v3 sees it. That is only used to find where things stand; what they mean is read
// with kops' own parser.
type yamlDocument struct {
	elided elided
	lines  []int      // where the lines of elided.text begin
	tree   *yaml.Node // nil when the document is empty, and when it was dropped
	second *yaml.Node // of a second document, if there is one

	next    map[*yaml.Node]*yaml.Node // made by after
	dropped bool
}

// drop frees the tree, the largest thing that a File holds: in the memory of 5,000 groups it is what the output takes.
func (d *yamlDocument) drop() { d.tree, d.next, d.dropped = nil, nil, true }

// root returns the tree, read once more where it was dropped.
func (d *yamlDocument) root() *yaml.Node {
	if d.dropped {
		again, _ := parseYAML(d.elided) // as it was read before, without an error
		d.tree, d.dropped = again.tree, false
	}
	return d.tree
}

func parseYAML(e elided) (*yamlDocument, error) {
	d := &yamlDocument{elided: e, lines: yamlLines(e.text)}
	decoder := yaml.NewDecoder(bytes.NewReader(e.text))
	for first := true; ; first = false {
		var n yaml.Node
		err := decoder.Decode(&n)
		if err == io.EOF {
			return d, nil
		}
		if err != nil {
			return d, err
		}
		if len(n.Content) == 0 || isNull(n.Content[0]) {
			continue
		}
		if !first {
			d.second = n.Content[0]
			return d, nil
		}
		d.tree = n.Content[0]
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// yamlLines returns where lines begin. The parsers read YAML 1.1, in which NEL, LS and PS break lines too.
func yamlLines(text []byte) []int {
	start := 0
	if bytes.HasPrefix(text, []byte(bom)) {
		start = len(bom)
	}
	lines := []int{start}
	for i := start; i < len(text); i++ {
		switch text[i] {
		case '\n':
			lines = append(lines, i+1)
		case '\r':
			if i+1 == len(text) || text[i+1] != '\n' {
				lines = append(lines, i+1)
			}
		case 0xc2:
			if text[i+1] == 0x85 {
				lines = append(lines, i+2)
			}
		case 0xe2:
			if text[i+1] == 0x80 && (text[i+2] == 0xa8 || text[i+2] == 0xa9) {
				lines = append(lines, i+3)
			}
		}
	}
	return lines
}

// at turns a line and column of yaml.v3, which count characters, into an offset in the elided text.
func (d *yamlDocument) at(line, col int) int {
	if line < 1 || line > len(d.lines) {
		return len(d.elided.text)
	}
	at := d.lines[line-1]
	for ; col > 1 && at < len(d.elided.text); col-- {
		_, n := utf8.DecodeRune(d.elided.text[at:])
		at += n
	}
	return at
}

// source turns an offset in the elided text into one in the section's source.
func (d *yamlDocument) source(at int) int {
	cuts := d.elided.cuts
	c := cuts[sort.Search(len(cuts), func(i int) bool { return cuts[i].at > at })-1]
	return c.src + at - c.at
}

func (d *yamlDocument) offset(line, col int) int { return d.source(d.at(line, col)) }

// foreign returns the document when it is one object that is not kops', without doubt.
func (d *yamlDocument) foreign() (Document, bool) {
	var doc Document
	root := d.root()
	if root.Kind != yaml.MappingNode {
		return doc, false
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], resolve(root.Content[i+1])
		known := &doc.APIVersion
		switch {
		case k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str":
			return doc, false // a merge key or an alias may bring an apiVersion
		case k.Value == "kind":
			known = &doc.Kind
		case k.Value != "apiVersion":
			continue
		}
		if *known != "" || v.ShortTag() != "!!str" {
			return doc, false // kops takes the last of two, and reads tags
		}
		*known = v.Value
	}
	if isKops(doc.APIVersion) || isList(doc.Kind) || doc.lacksVersion() {
		return doc, false
	}
	if _, metadata := pair(root, "metadata"); metadata != nil {
		if _, name := pair(resolve(metadata), "name"); name != nil {
			doc.Name = resolve(name).Value
		}
	}
	return doc, true
}

// resolve returns what an alias stands for.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// pair returns a mapping's key and its value, or nil.
func pair(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	if mapping.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if k := mapping.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name {
			return k, mapping.Content[i+1]
		}
	}
	return nil, nil
}

// find follows a path as far as it exists. key is the last key on it, or nil.
func (d *yamlDocument) find(path []string) (key, value *yaml.Node) {
	value = d.root()
	for _, name := range path {
		if value.Kind == yaml.SequenceNode {
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(value.Content) {
				break
			}
			key, value = nil, value.Content[i]
			continue
		}
		k, v := pair(value, name)
		if k == nil {
			break
		}
		key, value = k, v
	}
	return key, value
}

// locate returns the offset in the section's source of the key at a path, or of the deepest part of it that is there.
func (d *yamlDocument) locate(path []string) int {
	key, n := d.find(path)
	if key != nil {
		n = key
	}
	return d.offset(n.Line, n.Column)
}
