package hookspec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// otherKinds of kopshook.dev are read elsewhere.
var otherKinds = []string{"ClusterHooks"}

// isHookSpec tells by kind and apiVersion whether a document is meant to be a hook spec. It reports kinds and versions
// of kopshook.dev that do not exist.
func isHookSpec(file strict.File, n *yaml.Node, r *report.Report) bool {
	apiVersion, kind, spec := entry(n, "apiVersion"), entry(n, "kind"), entry(n, "spec")
	group, _, _ := strings.Cut(scalar(apiVersion), "/")
	wantGroup, _, _ := strings.Cut(APIVersion, "/")
	switch {
	case scalar(kind) == Kind:
		if group == wantGroup && scalar(apiVersion) != APIVersion {
			r.Errorf(file.Pos(apiVersion), "apiVersion", fmt.Sprintf("write %s, or use a kopshook that knows this version", APIVersion),
				"this kopshook does not know apiVersion `%s`", scalar(apiVersion))
			return false
		}
		return true
	case kind == nil && group == wantGroup:
		return true // fields reports the missing kind
	case kind == nil && apiVersion == nil:
		return entry(spec, "hooks") != nil && entry(spec, "selector") != nil
	case scalar(kind) == "":
		return false
	case group == wantGroup && slices.Contains(otherKinds, scalar(kind)):
		return false
	case group == wantGroup, (apiVersion == nil || report.Nearest(group, []string{wantGroup}) != "") && report.Nearest(scalar(kind), []string{Kind}) != "":
		near := cmp.Or(report.Nearest(scalar(kind), append(otherKinds, Kind)), Kind)
		r.Errorf(file.Pos(kind), "kind", "did you mean `"+near+"`?", "unknown kind `%s`", strict.Shorten(scalar(kind)))
	}
	return false
}

// ReadKind finds the documents of a kind in a file and calls read for each of them. objects are all that it is made
// of; the first is the document, whose field kind holds the kind. Documents of other kinds are skipped.
func ReadKind(name string, data []byte, objects []*strict.Object, r *report.Report, read func(*strict.Reader, strict.Value)) {
	var found report.Report
	file := strict.Parse(name, data, &found)
	kind := objects[0].Field("kind").Enum[0]
	var nodes []*yaml.Node
	for _, root := range file.Roots {
		nodes = append(nodes, Members(root)...)
	}
	for _, n := range nodes {
		version := scalar(entry(n, "apiVersion"))
		group, _, _ := strings.Cut(version, "/")
		ours, _, _ := strings.Cut(APIVersion, "/")
		switch got := scalar(entry(n, "kind")); {
		case got == kind && group == ours && version != APIVersion:
			r.Errorf(file.Pos(n), "apiVersion", fmt.Sprintf("write %s, or use a kopshook that knows this version", APIVersion),
				"this kopshook does not know apiVersion `%s`", strict.Shorten(version))
			continue
		case got == kind:
		case group == ours && got != Kind && report.Nearest(got, []string{kind}) != "":
			r.Errorf(file.Pos(n), "kind", "did you mean `"+kind+"`?", "unknown kind `%s`", strict.Shorten(got))
			continue
		default:
			continue
		}
		if reader, v, ok := file.Open(n, objects, &found); ok {
			read(reader, v)
		}
	}
	strict.Finish(&found, r)
}

// Members returns what a document holds: itself, or the items of a List, which is how kubectl get -o yaml prints several.
func Members(root *yaml.Node) []*yaml.Node {
	if len(root.Content) != 1 {
		return nil
	}
	n := root.Content[0]
	if items := entry(n, "items"); items != nil && items.Kind == yaml.SequenceNode && strings.HasSuffix(scalar(entry(n, "kind")), "List") {
		return items.Content
	}
	return []*yaml.Node{n}
}

// entry returns the value of a key of a mapping, or nil. Aliases are followed once: their targets are no aliases.
func entry(n *yaml.Node, key string) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind == yaml.ScalarNode && n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// scalar returns what a scalar says, "" for anything else.
func scalar(n *yaml.Node) string {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}
