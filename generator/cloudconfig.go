package generator

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// The user's cloud-config is printed so that PyYAML (YAML 1.1) reads from our part what it would have read from the
// user's own: plain scalars stay as they were written, so that yes, 0755 and 1:30 mean what they mean there; quoted
// ones are quoted again; block scalars are lines again. Aliases are spelled out, and everything is ASCII.

// maxNodes bounds what aliases may expand to: user data holds 16 KiB on AWS, at most 256 KiB anywhere.
const maxNodes = 100000

// checkCloudConfig returns what cannot be passed through.
func checkCloudConfig(n *yaml.Node) error {
	if n == nil {
		return nil
	}
	if resolved(n).Kind != yaml.MappingNode {
		return fmt.Errorf("cloudConfig is not a mapping")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := resolved(n.Content[i+1])
		switch key := n.Content[i].Value; key {
		case "merge_how", "merge_type":
			return fmt.Errorf("cloudConfig says %s, which would change how kopshook's own parts are merged: remove it", key)
		case "bootcmd", "write_files":
			if value.Kind != yaml.SequenceNode {
				return fmt.Errorf("%s in cloudConfig is not a list", key)
			}
		}
	}
	count := 0
	return checkNode(n, map[*yaml.Node]bool{}, &count)
}

func checkNode(n *yaml.Node, open map[*yaml.Node]bool, count *int) error {
	n = resolved(n)
	if open[n] {
		return fmt.Errorf("line %d of cloudConfig: an alias is part of what it stands for", n.Line)
	}
	if *count++; *count > maxNodes {
		return fmt.Errorf("cloudConfig has more than %d values: its aliases expand to too much", maxNodes)
	}
	open[n] = true
	defer delete(open, n)
	for _, c := range n.Content {
		if err := checkNode(c, open, count); err != nil {
			return err
		}
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if resolved(n.Content[i]).Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d of cloudConfig: a key is not a scalar", n.Content[i].Line)
			}
		}
	}
	return nil
}

// resolved follows aliases.
func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// writePairs writes the keys and values of a mapping, each pair on lines of its own that begin with indent spaces.
func writePairs(b *strings.Builder, content []*yaml.Node, indent int) {
	for i := 0; i+1 < len(content); i += 2 {
		b.WriteString(strings.Repeat(" ", indent) + scalarNode(resolved(content[i])) + ":")
		writeValue(b, resolved(content[i+1]), indent, indent+2)
	}
}

// writeValue writes what follows "key:" or "-". Lists stand at indent, mappings at deeper.
func writeValue(b *strings.Builder, n *yaml.Node, indent, deeper int) {
	b.WriteString(tagged(n))
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		b.WriteByte('\n')
		writePairs(b, n.Content, deeper)
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		b.WriteByte('\n')
		for _, c := range n.Content {
			writeEntry(b, c, indent)
		}
	case n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "\n"):
		b.WriteString(block(n.Value, indent))
	default:
		b.WriteString(" " + scalarNode(n) + "\n")
	}
}

// writeEntry writes an entry of a list.
func writeEntry(b *strings.Builder, n *yaml.Node, indent int) {
	n = resolved(n)
	b.WriteString(strings.Repeat(" ", indent) + "-")
	if len(n.Content) == 0 || tagged(n) != "" {
		writeValue(b, n, indent+2, indent+2)
		return
	}
	var nested strings.Builder
	if n.Kind == yaml.MappingNode {
		writePairs(&nested, n.Content, indent+2)
	} else {
		for _, c := range n.Content {
			writeEntry(&nested, c, indent+2)
		}
	}
	b.WriteString(nested.String()[indent+1:]) // begins on the line of the dash
}

// scalarNode returns a scalar, or an empty collection, on one line.
func scalarNode(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "{}"
	case n.Kind == yaml.SequenceNode:
		return "[]"
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return quoted(n.Value)
	case n.Value == "":
		return "null"
	}
	for i := 0; i < len(n.Value); i++ {
		if c := n.Value[i]; c < ' ' || c > '~' {
			return quoted(n.Value) // whatever else it holds, with these in it, it is a string
		}
	}
	return n.Value
}

// tagged returns the tag that the user wrote, with a space before it.
func tagged(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle == 0 {
		return ""
	}
	if tag := n.ShortTag(); strings.HasPrefix(tag, "!") && plainLines(tag) {
		return " " + tag
	}
	return ""
}
