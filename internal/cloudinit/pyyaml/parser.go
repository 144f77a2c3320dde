package pyyaml

import "maps"

// Tags that have a meaning (yaml.org,2002).
const (
	tagPrefix = "tag:yaml.org,2002:"
	tagStr    = tagPrefix + "str"
	tagSeq    = tagPrefix + "seq"
	tagMap    = tagPrefix + "map"
	tagNull   = tagPrefix + "null"
	tagBool   = tagPrefix + "bool"
	tagInt    = tagPrefix + "int"
	tagFloat  = tagPrefix + "float"
	tagTime   = tagPrefix + "timestamp"
	tagBinary = tagPrefix + "binary"
	tagMerge  = tagPrefix + "merge"
	tagValue  = tagPrefix + "value"
	tagOmap   = tagPrefix + "omap"
	tagPairs  = tagPrefix + "pairs"
	tagSet    = tagPrefix + "set"
)

type nodeKind int

const (
	scalarNode nodeKind = iota
	sequenceNode
	mappingNode
)

func (k nodeKind) String() string { return [...]string{"a scalar", "a list", "a mapping"}[k] }

// node is a node of the document, before it becomes a value.
type node struct {
	kind  nodeKind
	tag   string
	text  string
	plain bool
	style rune
	start mark
	items []*node    // of a sequence
	pairs [][2]*node // of a mapping

	merged     int // how many of the pairs came from merge keys: they come first
	flattening bool
}

// maxDepth is where Load gives up on nesting. Python gives up a little deeper, where exactly depends on its stack.
const maxDepth = 150

// parser makes nodes of tokens (yaml/parser.py and yaml/composer.py in one, since there is always one document).
type parser struct {
	*scanner
	handles map[string]string
	anchors map[string]*node
	depth   int
}

// document returns the root node, or nil for a text without any document.
func (p *parser) document() *node {
	defaults := map[string]string{"!": "!", "!!": tagPrefix}
	var root *node
	if !p.is(directive, documentStart, streamEnd) {
		p.handles = defaults
		root = p.node(true, false)
		p.endOfDocument()
	} else if p.nextDocument() {
		p.handles = p.directives(defaults)
		start := p.token()
		if start.kind != documentStart {
			fail(start.start, "expected '---', found %s", start.kind)
		}
		p.takeToken()
		root = p.content()
		p.endOfDocument()
	}
	if p.nextDocument() {
		fail(p.token().start, "a second document begins here; only one is allowed")
	}
	return root
}

// nextDocument goes over "..." and says whether anything follows.
func (p *parser) nextDocument() bool {
	for p.is(documentEnd) {
		p.takeToken()
	}
	return !p.is(streamEnd)
}

func (p *parser) endOfDocument() {
	if p.is(documentEnd) {
		p.takeToken()
	}
	if p.nextDocument() && !p.is(documentStart) {
		at := p.token().start
		p.directives(map[string]string{})
		if t := p.token(); t.kind != documentStart {
			fail(t.start, "expected '---', found %s", t.kind)
		}
		fail(at, "a second document begins here; only one is allowed")
	}
}

func (p *parser) content() *node {
	if p.is(directive, documentStart, documentEnd, streamEnd) {
		return p.empty(p.token().start)
	}
	return p.node(true, false)
}

func (p *parser) directives(defaults map[string]string) map[string]string {
	handles := map[string]string{}
	version := false
	for p.is(directive) {
		t := p.takeToken()
		switch t.value {
		case "YAML":
			if version {
				fail(t.start, "a second %%YAML directive")
			}
			if trimZeros(t.major) != "1" {
				fail(t.start, "YAML %s cannot be read, only 1.x", t.major)
			}
			version = true
		case "TAG":
			if _, ok := handles[t.handle]; ok {
				fail(t.start, "a second %%TAG directive for %q", t.handle)
			}
			handles[t.handle] = t.value2
		}
	}
	merged := maps.Clone(defaults)
	maps.Copy(merged, handles)
	return merged
}

func trimZeros(s string) string {
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return s
}

// empty is the scalar that stands for a value that is not written.
func (p *parser) empty(at mark) *node {
	return &node{tag: resolve("", true), start: at, plain: true}
}

// node parses a node. block: block collections may begin here; indentless: so may a list that is indented no further than
// its key.
func (p *parser) node(block, indentless bool) *node {
	if p.depth++; p.depth > maxDepth {
		panic(&Error{Pos: p.token().start.pos(), Msg: "nested too deep", Unsure: true})
	}
	defer func() { p.depth-- }()
	if p.is(aliasToken) {
		t := p.takeToken()
		n := p.anchors[t.value]
		if n == nil {
			fail(t.start, "alias *%s has no anchor before it", t.value)
		}
		return n
	}
	n := &node{start: p.token().start}
	anchor := p.properties(n)
	t := *p.token()
	first := t
	switch {
	case indentless && t.kind == blockEntry:
		n.kind = sequenceNode
	case t.kind == scalarToken:
		p.takeToken()
		n.text, n.plain, n.style = t.value, t.style == 0, t.style
	case t.kind == flowSequenceStart, block && t.kind == blockSequenceStart:
		n.kind = sequenceNode
	case t.kind == flowMappingStart, block && t.kind == blockMappingStart:
		n.kind = mappingNode
	case anchor != "" || n.tag != "":
		n.plain = true
		first.kind = scalarToken
	default:
		fail(t.start, "expected a value, found %s", t.kind)
	}
	if anchor != "" {
		if _, ok := p.anchors[anchor]; ok {
			fail(n.start, "anchor &%s is set twice", anchor)
		}
		p.anchors[anchor] = n
	}
	if n.tag == "" || n.tag == "!" {
		n.tag = p.implicitTag(n)
	}
	switch first.kind {
	case blockEntry:
		p.indentlessSequence(n)
	case blockSequenceStart:
		p.blockSequence(n)
	case blockMappingStart:
		p.blockMapping(n)
	case flowSequenceStart:
		p.flowSequence(n)
	case flowMappingStart:
		p.flowMapping(n)
	}
	return n
}

// implicitTag is the tag of a node that has none, or only "!", which makes a quoted scalar be read as a plain one.
func (p *parser) implicitTag(n *node) string {
	switch n.kind {
	case sequenceNode:
		return tagSeq
	case mappingNode:
		return tagMap
	}
	return resolve(n.text, n.plain || n.tag == "!")
}

// properties parses a tag and an anchor, in either order, and returns the anchor.
func (p *parser) properties(n *node) (anchor string) {
	var tag *token
	if p.is(anchorToken) {
		anchor = p.takeToken().value
		if p.is(tagToken) {
			t := p.takeToken()
			tag = &t
		}
	} else if p.is(tagToken) {
		t := p.takeToken()
		tag = &t
		if p.is(anchorToken) {
			anchor = p.takeToken().value
		}
	}
	if tag == nil {
		return anchor
	}
	n.tag = tag.value
	if tag.hasHandle {
		prefix, ok := p.handles[tag.handle]
		if !ok {
			fail(tag.start, "tag handle %q is not defined", tag.handle)
		}
		n.tag = prefix + tag.value
	}
	return anchor
}

func (p *parser) blockSequence(n *node) {
	p.takeToken()
	for p.is(blockEntry) {
		end := p.takeToken().end
		if p.is(blockEntry, blockEnd) {
			n.items = append(n.items, p.empty(end))
			continue
		}
		n.items = append(n.items, p.node(true, false))
	}
	p.endOfBlock()
}

func (p *parser) endOfBlock() {
	if t := p.token(); t.kind != blockEnd {
		fail(t.start, "expected the end of the block, found %s", t.kind)
	}
	p.takeToken()
}

func (p *parser) indentlessSequence(n *node) {
	for p.is(blockEntry) {
		end := p.takeToken().end
		if p.is(blockEntry, keyToken, valueToken, blockEnd) {
			n.items = append(n.items, p.empty(end))
			continue
		}
		n.items = append(n.items, p.node(true, false))
	}
}

func (p *parser) blockMapping(n *node) {
	p.takeToken()
	for p.is(keyToken) {
		end := p.takeToken().end
		var key, value *node
		if p.is(keyToken, valueToken, blockEnd) {
			key = p.empty(end)
		} else {
			key = p.node(true, true)
		}
		if p.is(valueToken) {
			end := p.takeToken().end
			if p.is(keyToken, valueToken, blockEnd) {
				value = p.empty(end)
			} else {
				value = p.node(true, true)
			}
		} else {
			value = p.empty(p.token().start)
		}
		n.pairs = append(n.pairs, [2]*node{key, value})
	}
	p.endOfBlock()
}

// separator goes over the comma between two items of a flow collection.
func (p *parser) separator(first bool, closing tokenKind) {
	if first {
		return
	}
	if t := p.token(); t.kind != flowEntry {
		fail(t.start, "expected ',' or %s, found %s", closing, t.kind)
	}
	p.takeToken()
}

func (p *parser) flowSequence(n *node) {
	p.takeToken()
	for first := true; !p.is(flowSequenceEnd); first = false {
		p.separator(first, flowSequenceEnd)
		if p.is(keyToken) {
			// [a: b] is [{a: b}]
			pair := &node{kind: mappingNode, tag: tagMap, start: p.token().start}
			pair.pairs = append(pair.pairs, p.flowPair(flowSequenceEnd))
			n.items = append(n.items, pair)
			p.token()
			continue
		}
		if p.is(flowSequenceEnd) {
			break
		}
		n.items = append(n.items, p.node(false, false))
	}
	p.takeToken()
}

func (p *parser) flowMapping(n *node) {
	p.takeToken()
	for first := true; !p.is(flowMappingEnd); first = false {
		p.separator(first, flowMappingEnd)
		if p.is(keyToken) {
			n.pairs = append(n.pairs, p.flowPair(flowMappingEnd))
			continue
		}
		if p.is(flowMappingEnd) {
			break
		}
		key := p.node(false, false)
		n.pairs = append(n.pairs, [2]*node{key, p.empty(p.token().start)})
	}
	p.takeToken()
}

// flowPair parses a key, which a key token announces, and its value.
func (p *parser) flowPair(closing tokenKind) [2]*node {
	end := p.takeToken().end
	var key *node
	if p.is(valueToken, flowEntry, closing) {
		key = p.empty(end)
	} else {
		key = p.node(false, false)
	}
	if !p.is(valueToken) {
		return [2]*node{key, p.empty(p.token().start)}
	}
	end = p.takeToken().end
	if p.is(flowEntry, closing) {
		return [2]*node{key, p.empty(end)}
	}
	return [2]*node{key, p.node(false, false)}
}
