package convert

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/strict"
)

// The input is read through these methods. They note what was looked at, so that unused can say what was not: a
// converter that forgets a field says so instead of dropping it.

// parse reads all documents, YAML or JSON, and the items of lists.
func (c *converter) parse(data []byte) []*yaml.Node {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	if c.lenient {
		data = withoutComments(data)
	}
	var docs []*yaml.Node
	for _, doc := range strict.ReadYAML(c.file, data, &c.report) {
		for _, n := range hookspec.Members(doc) {
			if n.Kind == yaml.MappingNode {
				docs = append(docs, n)
			}
		}
	}
	return docs
}

// withoutComments turns comments that begin with // or stand in /* */ into spaces, as well as commas before a closing
// bracket, and tabs outside of quotes, which YAML refuses even in JSON. Lines and columns stay what they are.
func withoutComments(data []byte) []byte {
	runes := []rune(string(data))
	quote, previous := rune(0), '\n'
	comment, block := false, false
	comma := -1 // the last one, if only white space came since
	for i, r := range runes {
		starts := func(second rune) bool { // a comment, with / and second
			return r == '/' && i+1 < len(runes) && runes[i+1] == second && strings.ContainsRune(" \t\n,{}[]\"'", previous)
		}
		if r == '\n' {
			quote, comment = 0, false // what is quoted over several lines has no //
		}
		switch {
		case r == '\n':
		case block:
			block = !(r == '/' && previous == '*')
			previous, runes[i] = r, ' '
			continue
		case comment:
			r = ' '
		case quote != 0:
			if r == quote && previous != '\\' {
				quote = 0
			}
		case (r == '"' || r == '\'') && strings.ContainsRune(" \t\n:,[{-", previous):
			quote = r
		case starts('/'):
			comment, r = true, ' '
		case starts('*'):
			block, r = true, ' '
		case r == '\t':
			r = ' '
		case (r == ']' || r == '}') && comma >= 0:
			runes[comma] = ' '
		}
		switch {
		case r == ',' && quote == 0:
			comma = i
		case r != ' ' && r != '\n' && r != '\r':
			comma = -1
		}
		runes[i] = r
		if previous == '\\' && r == '\\' {
			previous = 0 // an escaped backslash escapes nothing
		} else {
			previous = r
		}
	}
	return []byte(string(runes))
}

// value follows an alias.
func value(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// field returns a field of a mapping, nil when it is not there or null.
func (c *converter) field(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		n = value(n)
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		found := (*yaml.Node)(nil)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = n.Content[i+1]
			}
		}
		if found == nil || value(found).ShortTag() == "!!null" {
			c.take(found)
			return nil
		}
		c.used[found] = true
		n = found
	}
	return value(n)
}

// items returns the items of a list.
func (c *converter) items(n *yaml.Node) []*yaml.Node {
	n = value(n)
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	var items []*yaml.Node
	for _, item := range n.Content {
		c.used[item] = true
		items = append(items, value(item))
	}
	return items
}

// pair is a key of a mapping and its value.
type pair struct {
	key   string
	value *yaml.Node
}

// pairs returns all keys and values of a mapping.
func (c *converter) pairs(n *yaml.Node) []pair {
	n = value(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var pairs []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		c.used[n.Content[i+1]] = true
		pairs = append(pairs, pair{n.Content[i].Value, value(n.Content[i+1])})
	}
	return pairs
}

// str returns a scalar, "" for nil. Anything else is an error.
func (c *converter) str(n *yaml.Node, path string) string {
	n = value(n)
	switch {
	case n == nil:
		return ""
	case n.Kind != yaml.ScalarNode:
		c.errorf(n, path, "", "%s must be a string", path)
		c.take(n)
		return ""
	}
	return n.Value
}

// str of a field.
func (c *converter) text(n *yaml.Node, path string, keys ...string) string {
	return c.str(c.field(n, keys...), join(path, keys...))
}

// strings returns a list of scalars.
func (c *converter) strings(n *yaml.Node, path string) []string {
	if n = value(n); n != nil && n.Kind != yaml.SequenceNode {
		c.errorf(n, path, "", "%s must be a list", path)
		c.take(n)
	}
	var list []string
	for i, item := range c.items(n) {
		list = append(list, c.str(item, index(path, i)))
	}
	return list
}

// boolean returns a field that is true or false.
func (c *converter) boolean(n *yaml.Node, path string, otherwise bool) bool {
	if n == nil {
		return otherwise
	}
	b, err := strconv.ParseBool(c.str(n, path))
	if err != nil {
		c.errorf(n, path, "", "%s must be true or false", path)
	}
	return b
}

// take notes that all below n is accounted for.
func (c *converter) take(n *yaml.Node) {
	if n == nil {
		return
	}
	c.used[n] = true
	for _, child := range n.Content {
		c.take(child)
	}
}

// unused says of every field below n that was not looked at that it is not converted. why gives the reason.
func (c *converter) unused(n *yaml.Node, path string, why func(path string) (reason, remedy string)) {
	n = value(n)
	if n == nil {
		return
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if c.used[item] {
				c.unused(item, index(path, i), why)
			} else {
				reason, remedy := why(index(path, i))
				c.notCarried(item, index(path, i), remedy, "%s", reason)
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, v := n.Content[i], n.Content[i+1]
			p := join(path, key.Value)
			if c.used[v] {
				c.unused(v, p, why)
				continue
			}
			reason, remedy := why(p)
			c.notCarried(key, p, remedy, "%s", reason)
		}
	}
}

func join(path string, keys ...string) string {
	for _, k := range keys {
		if path != "" {
			path += "."
		}
		path += k
	}
	return path
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
