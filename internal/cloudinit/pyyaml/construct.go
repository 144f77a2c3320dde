package pyyaml

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNodes is where Load gives up on documents whose aliases multiply.
const (
	maxNodes = 1 << 20
	tooMany  = "the document is beyond reason: its aliases multiply"
)

// Load reads a text as yaml.safe_load does. It returns nil and no error where Python gets None: for an empty text or
// null. The error is an *Error.
func Load(text string) (v *Value, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			v, err = nil, e
		default:
			panic(e)
		}
	}()
	p := &parser{scanner: newScanner(text), anchors: map[string]*node{}}
	root := p.document()
	if root == nil {
		return nil, nil
	}
	c := &constructor{made: map[*node]*Value{}}
	v = c.object(root)
	for len(c.later) > 0 {
		later := c.later
		c.later = nil
		for _, fill := range later {
			fill()
		}
	}
	if (&counter{sizes: map[*Value]int{}}).size(v) > maxNodes {
		return nil, &Error{Msg: tooMany, Unsure: true}
	}
	if v.Kind == Null {
		return nil, nil
	}
	return v, nil
}

// counter counts what a document would be without aliases, and finds documents that contain themselves.
type counter struct{ sizes map[*Value]int }

func (c *counter) size(v *Value) int {
	if v == nil {
		return 0
	}
	if n, ok := c.sizes[v]; ok {
		if n < 0 {
			panic(&Error{Pos: v.Pos, Msg: "the document contains itself", Unsure: true})
		}
		return n
	}
	c.sizes[v] = -1
	n := 1
	for _, item := range v.Items {
		n += c.size(item)
	}
	for _, e := range v.Entries {
		n += c.size(e.Key) + c.size(e.Value)
	}
	n = min(n, 2*maxNodes)
	c.sizes[v] = n
	return n
}

// constructor makes values of nodes (yaml/constructor.py). Like Python's it fills collections after it has made them, level
// by level, which decides which of several errors is told.
type constructor struct {
	made   map[*node]*Value
	later  []func()
	merged int // pairs that came from merge keys
}

func (c *constructor) object(n *node) *Value {
	if v, ok := c.made[n]; ok {
		return v
	}
	v := &Value{Pos: n.start.pos(), Style: n.style, Text: n.text}
	c.made[n] = v
	switch n.tag {
	case tagSeq:
		v.Kind = List
		c.later = append(c.later, func() { v.Items = c.sequence(n) })
	case tagMap:
		v.Kind = Dict
		c.later = append(c.later, func() { v.Entries, v.Shadowed = c.mapping(n) })
	case tagSet:
		v.Kind = Set
		c.later = append(c.later, func() {
			entries, _ := c.mapping(n)
			for _, e := range entries {
				v.Entries = append(v.Entries, Entry{Key: e.Key})
			}
		})
	case tagOmap, tagPairs:
		v.Kind = List
		c.later = append(c.later, func() { v.Items = c.orderedPairs(n) })
	case tagStr, tagNull, tagBool, tagInt, tagFloat, tagTime, tagBinary:
		c.scalar(v, n)
	default:
		fail(n.start, "the tag %s has no meaning", strings.Replace(n.tag, tagPrefix, "!!", 1))
	}
	return v
}

func (c *constructor) sequence(n *node) []*Value {
	if n.kind != sequenceNode {
		fail(n.start, "expected a list, found %s", n.kind)
	}
	items := make([]*Value, 0, len(n.items))
	for _, item := range n.items {
		items = append(items, c.object(item))
	}
	return items
}

// mapping returns the entries of a mapping, and those of its own that a later one of the same key replaced.
func (c *constructor) mapping(n *node) (entries, shadowed []Entry) {
	if n.kind != mappingNode {
		fail(n.start, "expected a mapping, found %s", n.kind)
	}
	c.flatten(n)
	m := &Value{Kind: Dict}
	own := &Value{Kind: Dict}
	for i, pair := range n.pairs {
		key := c.object(pair[0])
		switch key.Kind {
		case List, Dict, Set:
			fail(pair[0].start, "%s cannot be a key", key.Kind.Noun())
		}
		value := c.object(pair[1])
		m.Set(key, value)
		if i < n.merged {
			continue
		}
		if old := own.Lookup(key); old != nil {
			shadowed = append(shadowed, Entry{key, old})
		}
		own.Set(key, value)
	}
	return m.Entries, shadowed
}

// flatten resolves merge keys (<<): what is merged in goes first, so that the mapping's own keys win.
func (c *constructor) flatten(n *node) {
	if n.flattening {
		panic(&Error{Pos: n.start.pos(), Msg: "the document contains itself", Unsure: true})
	}
	n.flattening = true
	defer func() { n.flattening = false }()
	var merged, own [][2]*node
	mergeIn := func(from *node) {
		if c.merged += len(from.pairs); c.merged > maxNodes {
			panic(&Error{Pos: from.start.pos(), Msg: tooMany, Unsure: true})
		}
		merged = append(merged, from.pairs...)
	}
	for _, pair := range n.pairs {
		key, value := pair[0], pair[1]
		switch {
		case key.tag == tagMerge && value.kind == mappingNode:
			c.flatten(value)
			mergeIn(value)
		case key.tag == tagMerge && value.kind == sequenceNode:
			for _, item := range value.items {
				if item.kind != mappingNode {
					fail(item.start, "expected a mapping to merge, found %s", item.kind)
				}
				c.flatten(item)
			}
			for _, item := range slices.Backward(value.items) {
				mergeIn(item)
			}
		case key.tag == tagMerge:
			fail(value.start, "expected a mapping or a list of mappings to merge, found %s", value.kind)
		default:
			if key.tag == tagValue {
				key.tag = tagStr
			}
			own = append(own, pair)
		}
	}
	n.pairs = append(merged, own...)
	n.merged += len(merged)
}

func (c *constructor) orderedPairs(n *node) []*Value {
	if n.kind != sequenceNode {
		fail(n.start, "expected a list, found %s", n.kind)
	}
	var items []*Value
	for _, item := range n.items {
		if item.kind != mappingNode {
			fail(item.start, "expected a mapping of one key, found %s", item.kind)
		}
		if len(item.pairs) != 1 {
			fail(item.start, "expected a mapping of one key, found %d keys", len(item.pairs))
		}
		pair := &Value{Kind: Tuple, Pos: item.start.pos()}
		pair.Items = []*Value{c.object(item.pairs[0][0]), c.object(item.pairs[0][1])}
		items = append(items, pair)
	}
	return items
}

// text returns the text of a scalar node; of a mapping with the key "=" it is that key's value.
func (c *constructor) text(n *node) string {
	if n.kind == mappingNode {
		for _, pair := range n.pairs {
			if pair[0].tag == tagValue {
				return c.text(pair[1])
			}
		}
	}
	if n.kind != scalarNode {
		fail(n.start, "expected a scalar, found %s", n.kind)
	}
	return n.text
}

func (c *constructor) scalar(v *Value, n *node) {
	text := c.text(n)
	var err error
	switch n.tag {
	case tagNull:
		v.Kind = Null
	case tagStr:
		v.Kind, v.Str = Str, text
	case tagBool:
		v.Kind = Bool
		switch strings.ToLower(text) {
		case "yes", "true", "on":
			v.Bool = true
		case "no", "false", "off":
		default:
			err = &Error{Msg: "not a bool", Uncaught: true}
		}
	case tagInt:
		v.Kind = Int
		v.Int, err = parseInt(text)
	case tagFloat:
		v.Kind = Float
		v.Float, err = parseFloat(text)
	case tagTime:
		v.Time, v.Kind, err = parseTime(n.text)
	case tagBinary:
		v.Kind = Bytes
		v.Str, err = parseBinary(text)
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Pos = n.start.pos()
		panic(e)
	}
}

func parseBinary(text string) (string, error) {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return "", &Error{Msg: "not base64"}
		}
	}
	b, ok := DecodeBase64(text)
	if !ok {
		return "", &Error{Msg: "not base64"}
	}
	return string(b), nil
}

// parseInt is SafeConstructor.construct_yaml_int.
func parseInt(text string) (*big.Int, error) {
	s := strings.ReplaceAll(text, "_", "")
	if s == "" {
		return nil, &Error{Msg: "not an int", Uncaught: true}
	}
	negative := s[0] == '-'
	if sign(s) == "" {
		return nil, &Error{Msg: "not an int", Uncaught: true}
	}
	s = sign(s)
	n, ok := new(big.Int), true
	switch {
	case s == "0":
	case strings.HasPrefix(s, "0b"):
		n, ok = PythonInt(s[2:], 2)
	case strings.HasPrefix(s, "0x"):
		n, ok = PythonInt(s[2:], 16)
	case s[0] == '0':
		n, ok = PythonInt(s, 8)
	case strings.Contains(s, ":"):
		for _, part := range strings.Split(s, ":") {
			d, isInt := PythonInt(part, 10)
			if ok = ok && isInt; !ok {
				break
			}
			n.Add(n.Mul(n, big.NewInt(60)), d)
		}
	default:
		n, ok = PythonInt(s, 10)
	}
	if !ok {
		return nil, &Error{Msg: "not an int"}
	}
	if negative {
		n.Neg(n)
	}
	return n, nil
}

// PythonInt is Python's int(s, base) of a string; bases 8 and 16 allow their prefix.
func PythonInt(s string, base int) (*big.Int, bool) {
	s = Strip(s)
	negative := strings.HasPrefix(s, "-")
	s = sign(s)
	if len(s) > 2 && s[0] == '0' {
		switch c := s[1] | 0x20; {
		case base == 8 && c == 'o', base == 16 && c == 'x', base == 2 && c == 'b':
			s = strings.TrimPrefix(s[2:], "_")
		}
	}
	if base == 10 && len(s) > 4300 || s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") {
		return nil, false
	}
	if strings.ContainsAny(s, "+-") {
		return nil, false
	}
	n, ok := new(big.Int).SetString(strings.ReplaceAll(s, "_", ""), base)
	if ok && negative {
		n.Neg(n)
	}
	return n, ok
}

// parseFloat is SafeConstructor.construct_yaml_float.
func parseFloat(text string) (float64, error) {
	s := strings.ToLower(strings.ReplaceAll(text, "_", ""))
	if s == "" {
		return 0, &Error{Msg: "not a float", Uncaught: true}
	}
	factor := 1.0
	if s[0] == '-' {
		factor = -1
	}
	switch s = sign(s); {
	case s == ".inf":
		return factor * math.Inf(1), nil
	case s == ".nan":
		return math.NaN(), nil
	case strings.Contains(s, ":"):
		parts := strings.Split(s, ":")
		value, base := 0.0, 1.0
		for i := len(parts) - 1; i >= 0; i-- {
			d, ok := pythonFloat(parts[i])
			if !ok {
				return 0, &Error{Msg: "not a float"}
			}
			value += d * base
			base *= 60
		}
		return factor * value, nil
	}
	f, ok := pythonFloat(s)
	if !ok {
		return 0, &Error{Msg: "not a float"}
	}
	return factor * f, nil
}

// pythonFloat is Python's float(s) of a lower-case string without underscores.
func pythonFloat(s string) (float64, bool) {
	s = Strip(s)
	switch sign(s) {
	case "inf", "infinity", "nan":
	default:
		if s == "" || strings.Trim(s, digits+"+-.e") != "" {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}
