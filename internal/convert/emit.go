package convert

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// document is one spec of the result.
type document struct {
	kind     string
	name     string
	selector *yaml.Node
	hooks    []*yaml.Node
	origins  []origin // of the hooks, or of the extensions
	// extensions are of a spec without hooks
	extensions []*yaml.Node
}

// origin is where a hook comes from.
type origin struct {
	at   *yaml.Node
	path string
}

// nodes adds a spec for nodes, cluster one for kops commands. want is the name that it gets if it is a name, and free.
func (c *converter) nodes(want string, selector *yaml.Node) *document {
	return c.add(hookspec.Kind, want, selector)
}

func (c *converter) cluster(want string) *document {
	return c.add(clusterhooks.Kind, want, mapping())
}

func (c *converter) add(kind, want string, selector *yaml.Node) *document {
	d := &document{kind: kind, name: c.free("", want), selector: selector}
	c.docs = append(c.docs, d)
	return d
}

// hook adds a hook; fields are pairs of a name and a value, see mapping.
func (c *converter) hook(d *document, from origin, want string, fields ...any) {
	hook := mapping(append([]any{"name", c.free(d.name+"/", want)}, fields...)...)
	if bad := notUTF8(hook); bad != nil {
		c.errorf(from.at, from.path, "rename it, or turn it into UTF-8 with iconv", "%q is not UTF-8: it cannot stand in a spec", bad.Value)
		return
	}
	d.hooks = append(d.hooks, hook)
	d.origins = append(d.origins, from)
}

// notUTF8 is the first scalar that no YAML can hold, nil where there is none: options and files may have any bytes.
func notUTF8(n *yaml.Node) *yaml.Node {
	if !utf8.ValidString(n.Value) {
		return n
	}
	for _, child := range n.Content {
		if bad := notUTF8(child); bad != nil {
			return bad
		}
	}
	return nil
}

// free makes a DNS label of want that is not taken yet.
func (c *converter) free(scope, want string) string {
	const most = 55 // leaves room for the phase that a list of phases adds, and for a number
	var b strings.Builder
	for _, r := range strings.ToLower(want) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if b.Len() > 0 {
			b.WriteByte('-')
		}
	}
	name := b.String()
	name = strings.Trim(name[:min(len(name), most)], "-")
	if name == "" || slices.Contains(hookspec.ReservedNames, name) {
		name = strings.Trim("hook-"+name, "-")
	}
	free := name
	for n := 2; c.names[scope+free]; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	c.names[scope+free] = true
	return free
}

// mapping makes a mapping of pairs of a key, a plain word, and a value. A value is a string, a number, a boolean, a list
// of strings, a node, or a list of nodes; empty lists and nil are left out.
func mapping(pairs ...any) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := node(pairs[i+1]); v != nil {
			m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: pairs[i].(string)}, v)
		}
	}
	return m
}

func node(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return text(v)
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(v)}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}
	case []string:
		if len(v) == 0 {
			return nil
		}
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, s := range v {
			list.Content = append(list.Content, text(s))
		}
		return list
	case []*yaml.Node:
		if len(v) == 0 {
			return nil
		}
		return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: v}
	case *yaml.Node:
		if v == nil {
			return nil
		}
		return v
	}
	return nil
}

// text is a string: literal where it has several lines, quoted where it could be taken for something else.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
	case slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(s)), strings.HasPrefix(s, "0"):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// settle takes out what would be no valid hook, because the input is odd, and says so. What is left is free of errors.
func (c *converter) settle() {
	for _, d := range c.docs {
		for len(d.hooks) > 0 {
			var r report.Report
			text := d.render()
			hookspec.Decode("", text, &r)
			clusterhooks.Decode("", text, &r)
			bad := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Severity == report.Error })
			if bad < 0 {
				break
			}
			wrong, i := r.Findings[bad], 0
			if n, _ := fmt.Sscanf(wrong.Path, "spec.hooks[%d]", &i); n == 0 || i >= len(d.hooks) {
				i = len(d.hooks) - 1 // it is not about one hook: fewer may do
			}
			c.notCarried(d.origins[i].at, d.origins[i].path, wrong.Remedy, "%s", wrong.Message)
			d.hooks = slices.Delete(d.hooks, i, i+1)
			d.origins = slices.Delete(d.origins, i, i+1)
		}
	}
	c.docs = slices.DeleteFunc(c.docs, func(d *document) bool { return len(d.hooks) == 0 && len(d.extensions) == 0 })
}

// render writes the result.
func (c *converter) render() []byte {
	var out bytes.Buffer
	c.writeHeader(&out)
	for i, d := range c.docs {
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(d.render())
	}
	return out.Bytes()
}

func (d *document) render() []byte {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := enc.Encode(mapping("apiVersion", hookspec.APIVersion, "kind", d.kind, "metadata", mapping("name", d.name),
		"spec", mapping("selector", d.selector, "hooks", d.hooks, "extensions", d.extensions)))
	if err != nil { // cannot be: it is made of plain nodes in UTF-8, see hook
		panic(err)
	}
	enc.Close()
	if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n') // yaml.v3 leaves it out after a literal
	}
	return out.Bytes()
}

// writeHeader says in comments where the result comes from, and what is not in it: that must be known to whoever reads
// the result later.
func (c *converter) writeHeader(out *bytes.Buffer) {
	name := comment(filepath.Base(c.file))
	switch c.file {
	case "-":
		name = "standard input"
	case "":
		name = "options"
	}
	fmt.Fprintf(out, "# Converted by kopshook from %s, %s.\n", c.called, name)
	for i, f := range c.report.Findings {
		if i == 0 {
			out.WriteString("#\n# Look at these, then remove them:\n")
		}
		where := ""
		if f.Line > 0 {
			where = fmt.Sprintf("line %d: ", f.Line)
		}
		fmt.Fprintf(out, "# - %s%s\n", where, comment(f.Message))
		if f.Remedy != "" {
			fmt.Fprintf(out, "#   %s\n", comment(f.Remedy))
		}
	}
}

// comment keeps a text on its line.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}

// having counts the hooks with this value of a field.
func (d *document) having(field, value string) int {
	n := 0
	for _, h := range d.hooks {
		for i := 0; i+1 < len(h.Content); i += 2 {
			if h.Content[i].Value == field && h.Content[i+1].Value == value {
				n++
			}
		}
	}
	return n
}
