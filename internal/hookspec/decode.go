package hookspec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// Decode reads all hook specs of a file, YAML or JSON, and validates them. Documents of other kinds are skipped. It
// reports all mistakes at once, each where it stands; a spec with mistakes may be among the results, so look at r
// before going on. file is the name as the user gave it, "-" for standard input.
func Decode(file string, data []byte, r *report.Report) []*Doc {
	var found report.Report
	roots, breaks := parse(file, data, &found)
	return decodeRoots(file, roots, breaks, &found, r, func(root *yaml.Node) []*yaml.Node { return []*yaml.Node{root} })
}

// DecodeNested is Decode for hook specs inside other documents, such as the items of a list: choose returns the values
// of a document that may be hook specs. It does not bound the size of data.
func DecodeNested(file string, data []byte, choose func(root *yaml.Node) []*yaml.Node, r *report.Report) []*Doc {
	var found report.Report
	roots, breaks := parseAny(file, data, &found)
	return decodeRoots(file, roots, breaks, &found, r, choose)
}

// decodeRoots decodes what choose returns of each document, and merges what it found into r.
func decodeRoots(file string, roots []*yaml.Node, breaks breaks, found, r *report.Report, choose func(*yaml.Node) []*yaml.Node) []*Doc {
	var docs []*Doc
	for _, root := range roots {
		if len(root.Content) != 1 {
			continue
		}
		for _, n := range choose(root.Content[0]) {
			if doc := decodeDocument(file, n, breaks, found); doc != nil {
				docs = append(docs, doc)
			}
		}
	}
	found.Sort()
	// what stands in an anchor's value is said once, however many aliases it has
	found.Findings = slices.CompactFunc(found.Findings, func(a, b report.Finding) bool {
		return a.Position == b.Position && a.Message == b.Message
	})
	r.Merge(found)
	return docs
}

// otherKinds of kopshook.dev are read elsewhere.
var otherKinds = []string{"ClusterHooks"}

// decodeDocument returns nil where the document is no hook spec, or is so wrong that there is no sense in going on.
func decodeDocument(file string, root *yaml.Node, b breaks, r *report.Report) *Doc {
	if !isHookSpec(file, root, r) {
		return nil
	}
	doc := &Doc{File: file, places: map[string]place{}}
	e := expander{doc: doc, r: r, breaks: b, within: map[*yaml.Node]bool{}}
	tree := e.expand(nil, root, "", 0)
	if e.failed {
		return nil
	}
	d := newDecoder(doc, r)
	for f, v := range d.fields(value{node: tree, label: "document"}, &documentObject) {
		switch f.Name {
		case "apiVersion":
			doc.Spec.APIVersion = d.str(v)
		case "kind":
			doc.Spec.Kind = d.str(v)
		case "metadata":
			doc.Spec.Metadata = d.metadata(v)
		case "spec":
			doc.Spec.Spec = d.spec(v)
		}
	}
	d.validate()
	return doc
}

// isHookSpec tells by kind and apiVersion whether a document is meant to be a hook spec. It reports kinds and versions
// of kopshook.dev that do not exist.
func isHookSpec(file string, n *yaml.Node, r *report.Report) bool {
	apiVersion, kind, spec := entry(n, "apiVersion"), entry(n, "kind"), entry(n, "spec")
	group, _, _ := strings.Cut(scalar(apiVersion), "/")
	wantGroup, _, _ := strings.Cut(APIVersion, "/")
	pos := func(n *yaml.Node) report.Position {
		return report.Position{File: file, Line: n.Line, Col: n.Column}
	}
	switch {
	case scalar(kind) == Kind:
		if group == wantGroup && scalar(apiVersion) != APIVersion {
			r.Errorf(pos(apiVersion), "apiVersion", fmt.Sprintf("write %s, or use a kopshook that knows this version", APIVersion),
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
		r.Errorf(pos(kind), "kind", "did you mean `"+near+"`?", "unknown kind `%s`", shorten(scalar(kind)))
	}
	return false
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

func (d *decoder) metadata(v value) (m Metadata) {
	for f, v := range d.fields(v, &metadataObject) {
		switch f.Name {
		case "name":
			m.Name = d.str(v)
		case "labels":
			m.Labels = d.stringMap(v)
		case "annotations":
			m.Annotations = d.stringMap(v)
		}
	}
	return m
}

func (d *decoder) spec(v value) (s Spec) {
	for f, v := range d.fields(v, &specObject) {
		switch f.Name {
		case "runtime":
			s.Runtime = d.str(v)
		case "selector":
			s.Selector = d.selector(v)
		case "compress":
			s.Compress = d.boolean(v)
		case "archive":
			s.Archive = d.boolean(v)
		case "archiveURL":
			s.ArchiveURL = d.str(v)
		case "hooks":
			s.Hooks = []Hook{}
			for v := range d.items(v) {
				s.Hooks = append(s.Hooks, d.hook(v, false))
			}
		case "overrides":
			for v := range d.items(v) {
				s.Overrides = append(s.Overrides, d.override(v))
			}
		}
	}
	return s
}

func (d *decoder) selector(v value) *Selector {
	s := new(Selector)
	for f, v := range d.fields(v, &selectorObject) {
		switch f.Name {
		case "clusters":
			s.Clusters = d.stringList(v)
		case "names":
			s.Names = d.stringList(v)
		case "excludeNames":
			s.ExcludeNames = d.stringList(v)
		case "roles":
			s.Roles = d.stringList(v)
		case "matchLabels":
			s.MatchLabels = d.stringMap(v)
		case "nodeLabels":
			s.NodeLabels = d.stringMap(v)
		}
	}
	return s
}

func (d *decoder) override(v value) (o Override) {
	for f, v := range d.fields(v, &overrideObject) {
		switch f.Name {
		case "selector":
			o.Selector = d.selector(v)
		case "hooks":
			o.Hooks = map[string]Hook{}
			for name, v := range d.entries(v) {
				o.Hooks[name] = d.hook(v, true)
			}
		}
	}
	return o
}

// hook reads a hook; partial says that it stands in an override, where nothing is required.
func (d *decoder) hook(v value, partial bool) (h Hook) {
	fields := d.fields
	if partial {
		fields = d.optionalFields
	}
	for f, v := range fields(v, &hookObject) {
		switch f.Name {
		case "name":
			h.Name = d.str(v)
		case "phase":
			h.Phase = PhaseList{}
			for _, p := range d.stringOrList(v) {
				h.Phase = append(h.Phase, Phase(p))
			}
		case "weight":
			h.Weight = ptr(d.integer(v))
		case "run":
			h.Run = ptr(d.str(v))
		case "script":
			h.Script = ptr(d.str(v))
		case "source":
			h.Source = ptr(d.str(v))
		case "verify":
			h.Verify = ptr(d.str(v))
		case "env":
			h.Env = d.stringMap(v)
		case "timeout":
			h.Timeout = ptr(d.duration(v))
		case "attempts":
			h.Attempts = ptr(d.integer(v))
		case "retryDelay":
			h.RetryDelay = ptr(d.duration(v))
		case "onDrift":
			h.OnDrift = ptr(d.str(v))
		case "onFailure":
			h.OnFailure = ptr(d.str(v))
		case "before":
			h.Before = d.stringList(v)
		case "rebootExitCodes":
			h.RebootExitCodes = []int{}
			for v := range d.items(v) {
				h.RebootExitCodes = append(h.RebootExitCodes, d.integer(v))
			}
		case "compress":
			h.Compress = ptr(d.boolean(v))
		case "cleanup":
			h.Cleanup = ptr(d.str(v))
		case "files":
			h.Files = []File{}
			for v := range d.items(v) {
				h.Files = append(h.Files, d.file(v))
			}
		case "dropIns":
			h.DropIns = []DropIn{}
			for v := range d.items(v) {
				h.DropIns = append(h.DropIns, d.dropIn(v))
			}
		case "cloudConfig":
			h.CloudConfig = d.anyMapping(v)
		case "enabled":
			h.Enabled = ptr(d.boolean(v))
		}
	}
	return h
}

func (d *decoder) file(v value) (f File) {
	for field, v := range d.fields(v, &fileObject) {
		switch field.Name {
		case "path":
			f.Path = d.str(v)
		case "content":
			f.Content = ptr(d.str(v))
		case "contentBase64":
			f.ContentBase64 = ptr(strings.Join(strings.Fields(d.str(v)), ""))
		case "source":
			f.Source = ptr(d.str(v))
		case "url":
			f.URL = d.stringOrList(v)
		case "sha256":
			f.SHA256 = ptr(strings.ToLower(d.str(v)))
		case "secret":
			f.Secret = ptr(d.str(v))
		case "mode":
			f.Mode = ptr(d.str(v))
		case "owner":
			f.Owner = ptr(d.str(v))
		}
	}
	return f
}

func (d *decoder) dropIn(v value) (u DropIn) {
	for f, v := range d.fields(v, &dropInObject) {
		switch f.Name {
		case "unit":
			u.Unit = d.str(v)
		case "content":
			u.Content = d.str(v)
		}
	}
	return u
}

func ptr[T any](v T) *T { return &v }
