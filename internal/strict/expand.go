package strict

import (
	"slices"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

const (
	// maxDepth bounds how deep mappings and lists may be nested.
	maxDepth = 64
	// maxAliased bounds how many nodes aliases may stand for in one document: a few lines can say billions.
	maxAliased = 100_000
)

// expander copies a document without anchors, aliases, merge keys and comments. On its way it notes where everything
// stands and reports what is wrong in any YAML: duplicate keys, tags that only one program understands.
type expander struct {
	doc     *Document
	r       *report.Report
	breaks  breaks
	aliased int
	within  map[*yaml.Node]bool // targets of the aliases that are being expanded
	failed  bool                // stop: no sense in going on
}

func (e *expander) errorf(n *yaml.Node, path, remedy, format string, args ...any) {
	e.r.Errorf(report.Position{File: e.doc.File, Line: n.Line, Col: n.Column}, path, remedy, format, args...)
}

// expand returns a copy of n, or nil once e failed. key is the node of its key, if it has one.
func (e *expander) expand(key, at *yaml.Node, path string, depth int) *yaml.Node {
	n, leave := e.enter(at, path, depth)
	defer leave()
	if e.failed {
		return nil
	}
	c := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: n.Style, Line: at.Line, Column: at.Column}
	p := place{keyLine: at.Line, keyCol: at.Column, line: at.Line, col: at.Column}
	if key != nil {
		p.keyLine, p.keyCol = key.Line, key.Column
		if n.Kind != yaml.ScalarNode {
			p.line, p.col = key.Line, key.Column
		}
	}
	if tag := n.ShortTag(); !slices.Contains(knownTags(n.Kind), tag) {
		e.errorf(at, path, "leave the tag out", "tag %s has no meaning here", tag)
		c.Tag = knownTags(n.Kind)[0]
	}
	switch n.Kind {
	case yaml.ScalarNode:
		var bare bool
		if c.Value, bare = e.breaks.restore(n.Value); bare {
			e.errorf(at, path, `write it as "\r" in double quotes, or use contentBase64 or a file of its own`,
				"a lone carriage return: YAML readers take it for a line feed")
		}
		p.scalar = c.Value
	case yaml.SequenceNode:
		for i, child := range n.Content {
			c.Content = append(c.Content, e.expand(nil, child, Item(path, i), depth+1))
		}
	case yaml.MappingNode:
		e.pairs(c, n, path, depth, map[string]bool{})
	}
	e.doc.places[path] = p
	return c
}

// knownTags returns the tags that every YAML reader understands.
func knownTags(kind yaml.Kind) []string {
	switch kind {
	case yaml.MappingNode:
		return []string{"!!map"}
	case yaml.SequenceNode:
		return []string{"!!seq"}
	}
	return []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!binary", "!!merge"}
}

// pairs adds the keys of the mapping n to c, then those that its merge keys bring in. have holds the keys of c.
func (e *expander) pairs(c, n *yaml.Node, path string, depth int, have map[string]bool) {
	own := map[string]*yaml.Node{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content) && !e.failed; i += 2 {
		at, val := n.Content[i], n.Content[i+1]
		key := at
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.ShortTag() == "!!merge":
			merges = append(merges, val)
			continue
		case key.Kind != yaml.ScalarNode:
			e.errorf(at, path, "", "a mapping or a list cannot be a key")
			continue
		}
		name, _ := e.breaks.restore(key.Value)
		if first := own[name]; first != nil {
			e.errorf(at, Join(path, name), "keep one of them", "key %s is given twice, first in line %d", QuoteKey(name), first.Line)
			continue
		}
		own[name] = at
		if have[name] {
			continue
		}
		have[name] = true
		k := &yaml.Node{Kind: yaml.ScalarNode, Tag: key.Tag, Style: key.Style, Value: name, Line: at.Line, Column: at.Column}
		c.Content = append(c.Content, k, e.expand(k, val, Join(path, name), depth+1))
	}
	for _, m := range merges {
		e.merge(c, m, path, depth, have)
	}
}

// merge adds to c the keys of the mapping m, or of the mappings in the list m, that it does not have.
func (e *expander) merge(c, m *yaml.Node, path string, depth int, have map[string]bool) {
	if e.failed {
		return
	}
	from, leave := e.enter(m, path, depth)
	defer leave()
	switch {
	case e.failed:
	case from.Kind == yaml.MappingNode:
		e.pairs(c, from, path, depth+1, have)
	case from.Kind == yaml.SequenceNode:
		for _, one := range from.Content {
			e.merge(c, one, path, depth+1, have)
		}
	default:
		e.errorf(m, path, "merge a mapping: <<: *anchor", "a merge key takes a mapping or a list of mappings")
	}
}

// bound fails where expand would.
func (e *expander) bound(at *yaml.Node, depth int) {
	n, leave := e.enter(at, "", depth)
	defer leave()
	for i := 0; i < len(n.Content) && !e.failed; i++ {
		e.bound(n.Content[i], depth+1)
	}
}

// restore puts exotic line breaks back into all values below n.
func (e *expander) restore(n *yaml.Node) {
	n.Value, _ = e.breaks.restore(n.Value)
	for _, child := range n.Content {
		e.restore(child)
	}
}

// enter returns what n stands for, itself or an alias' target, and a function to call when done with it. It fails
// where aliases never end and where there is too much.
func (e *expander) enter(n *yaml.Node, path string, depth int) (target *yaml.Node, leave func()) {
	leave = func() {}
	target = n
	if n.Kind == yaml.AliasNode {
		target = n.Alias
		if e.within[target] {
			e.fail(n, path, "write out what is meant", "alias *%s stands inside its own anchor", n.Value)
			return n, leave
		}
		e.within[target] = true
		leave = func() { delete(e.within, target) }
	}
	if len(e.within) > 0 {
		e.aliased++
	}
	switch {
	case e.aliased > maxAliased:
		e.fail(n, path, "write fewer aliases of aliases", "aliases stand for more than %d values", maxAliased)
	case depth > maxDepth:
		e.fail(n, path, "write it with fewer levels", "values are nested more than %d deep", maxDepth)
	}
	return target, leave
}

// fail reports what ends the work on the document.
func (e *expander) fail(n *yaml.Node, path, remedy, format string, args ...any) {
	if !e.failed {
		e.errorf(n, path, remedy, format, args...)
		e.failed = true
	}
}
