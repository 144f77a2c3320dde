// Package krm reads and writes ResourceLists, the wire format of KRM functions: kustomize and kpt send one on standard
// input and read one from standard output (kustomize cmd/config/docs/api-conventions/functions-spec.md).
package krm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
	sigsyaml "sigs.k8s.io/yaml"

	"kopshook.dev/kopshook/internal/report"
)

// Kind of a ResourceList.
const Kind = "ResourceList"

// versions of a ResourceList that functions know; the first is written where there is no input to follow.
var versions = []string{"config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1"}

// List is a ResourceList as it was read.
type List struct {
	Items []*Item
	// Config is functionConfig, nil where there is none.
	Config *Item
}

// Item is one object of a list.
type Item struct {
	Node                              *yaml.Node // a mapping; its lines are those of the whole list
	APIVersion, Kind, Namespace, Name string
	// Path is where the orchestrator read the object from, relative and with slashes, and Index its place among the
	// documents of that file. Path is empty where the orchestrator does not say.
	Path  string
	Index int

	at position
}

type position struct{ line, col int }

func (p position) before(q position) bool {
	return p.line < q.line || p.line == q.line && p.col < q.col
}

// Normalize returns the list in a form whose objects stand on lines of their own and that Write can add to: block
// YAML as it is, JSON indented. What cannot be read is returned as it is; reading it says why.
func Normalize(data []byte) []byte {
	if !json.Valid(data) {
		var root yaml.Node
		if first := bytes.TrimLeft(data, " \t\r\n"); len(first) == 0 || first[0] != '{' && first[0] != '-' && first[0] != '#' {
			return data
		}
		if err := unmarshal(data, &root); err != nil || len(root.Content) != 1 || root.Content[0].Style&yaml.FlowStyle == 0 {
			return data
		}
		asJSON, err := sigsyaml.YAMLToJSON(data)
		if err != nil {
			return data
		}
		data = asJSON
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return data
	}
	return b.Bytes()
}

// unmarshal is yaml.Unmarshal; yaml.v3 recovers from its own errors only.
func unmarshal(data []byte, v any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML parser gave up: %v", p)
		}
	}()
	return yaml.Unmarshal(data, v)
}

// Read makes a List of the root of a document.
func Read(root *yaml.Node) (*List, error) {
	const remedy = "kustomize and kpt send one on standard input; to merge files, use kopshook merge"
	if root.Kind != yaml.MappingNode {
		return nil, report.Hint(remedy, "standard input is no %s", Kind)
	}
	keys := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i].Value
		if keys[key] {
			return nil, report.Hint("keep one of them", "standard input has `%s` twice", key)
		}
		keys[key] = true
	}
	version, kind := text(root, "apiVersion"), text(root, "kind")
	switch {
	case kind == "":
		return nil, report.Hint(remedy, "standard input is no %s: it has no kind", Kind)
	case kind != Kind:
		return nil, report.Hint(remedy, "standard input is of kind %s, not %s", kind, Kind)
	case !slices.Contains(versions, version):
		return nil, report.Hint("the versions are "+strings.Join(versions, ", "), "this kopshook does not know %s %q", Kind, version)
	}
	items := value(root, "items")
	if items == nil || items.Kind != yaml.SequenceNode && !isNull(items) {
		return nil, report.Hint("`items` is a list of objects, and may be empty", "the %s has no list of items", Kind)
	}
	l := &List{}
	for i, n := range items.Content {
		item, err := newItem(n, fmt.Sprintf("items[%d]", i))
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, item)
	}
	if n := value(root, "functionConfig"); n != nil && !isNull(n) {
		item, err := newItem(n, "functionConfig")
		if err != nil {
			return nil, err
		}
		l.Config = item
	}
	return l, nil
}

func newItem(n *yaml.Node, what string) (*Item, error) {
	if n.Kind == yaml.AliasNode {
		return nil, report.Hint("write the object out", "%s of the %s is an alias", what, Kind)
	}
	if n.Kind != yaml.MappingNode {
		return nil, report.Hint("each item is a Kubernetes object", "%s of the %s is no object", what, Kind)
	}
	item := &Item{Node: n, APIVersion: text(n, "apiVersion"), Kind: text(n, "kind"), at: position{n.Line, n.Column}}
	metadata := value(n, "metadata")
	item.Name, item.Namespace = text(metadata, "name"), text(metadata, "namespace")
	annotations := value(metadata, "annotations")
	// the second of each is what kustomize wrote before the specification had v1
	for _, key := range []string{"internal.config.kubernetes.io/path", "config.kubernetes.io/path"} {
		if item.Path == "" {
			item.Path = text(annotations, key)
		}
	}
	for _, key := range []string{"internal.config.kubernetes.io/index", "config.kubernetes.io/index"} {
		if s := text(annotations, key); s != "" {
			item.Index, _ = strconv.Atoi(s)
			break
		}
	}
	return item, nil
}

// At returns the object in which a place stands, or nil. Without a column, which of two objects on one line is meant
// cannot be known.
func (l *List) At(line, col int) *Item {
	all := slices.Clone(l.Items)
	if l.Config != nil {
		all = append(all, l.Config)
	}
	var found *Item
	for _, item := range all {
		switch p := (position{line, col}); {
		case col == 0 && item.at.line == line && found != nil && found.at.line == line:
			return nil
		case col == 0 && item.at.line <= line, !p.before(item.at):
			if found == nil || found.at.before(item.at) {
				found = item
			}
		}
	}
	return found
}

// value returns the value of a mapping's key, or nil.
func value(n *yaml.Node, key string) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// text returns the scalar at a mapping's key, or "".
func text(n *yaml.Node, key string) string {
	v := value(n, key)
	if v == nil || v.Kind != yaml.ScalarNode || isNull(v) {
		return ""
	}
	return v.Value
}

// Options returns the data of functionConfig when it is a ConfigMap, as `kpt fn eval -- key=value` makes it.
func (i *Item) Options() map[string]string {
	data := value(i.Node, "data")
	options := map[string]string{}
	if data == nil || data.Kind != yaml.MappingNode {
		return options
	}
	for k := 0; k+1 < len(data.Content); k += 2 {
		options[data.Content[k].Value] = data.Content[k+1].Value
	}
	return options
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
