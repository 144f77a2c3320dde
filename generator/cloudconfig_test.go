package generator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// Whatever nests in whatever is read back as it was written, tags included.
func TestCloudConfigIsReadBack(t *testing.T) {
	for _, text := range []string{
		"a: {b: {c: d, e: [f, [g, {h: i, j: [k]}], []], l: {}}}\n",
		"a: [[[b, c], [d]], [], {e: [f, {g: h}]}]\n",
		"a:\n- !x {b: c, d: [e, {f: g}]}\n- !y [h, !z {i: j}]\n- !w k\n",
		"a: !x {b: !y [c, {d: e}]}\n",
		"a: &x {b: [c]}\nd: [*x, {e: *x}]\n",
		"a: |\n  b\n   c\nd: [\"e\\nf\", {g: \"h\\ni\\n\"}, [\"j\\nk\"]]\n",
	} {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		writePairs(&b, n.Content[0].Content, 0)
		var again yaml.Node
		if err := yaml.Unmarshal([]byte(b.String()), &again); err != nil {
			t.Errorf("%s becomes\n%s: %v", text, b.String(), err)
			continue
		}
		if diff := cmp.Diff(outline(&n), outline(&again)); diff != "" {
			t.Errorf("%s becomes\n%s%s", text, b.String(), diff)
		}
	}
}

// outline is a node's kinds, tags and values.
func outline(n *yaml.Node) []any {
	n = resolved(n)
	all := []any{n.Kind, n.ShortTag(), n.Value}
	for _, c := range n.Content {
		all = append(all, outline(c))
	}
	return all
}

func TestAsManyValuesAsAreAllowed(t *testing.T) {
	for n, taken := range map[int]bool{maxNodes: true, maxNodes + 1: false} {
		list := "a: [" + strings.Repeat("x, ", n-3) + "]" // the mapping, its key and the list are values too
		if err := checkCloudConfig(yamlNode(t, list)); (err == nil) != taken {
			t.Errorf("%d values: %v", n, err)
		}
	}
}
