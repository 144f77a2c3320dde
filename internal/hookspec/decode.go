package hookspec

import (
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// Decode reads all hook specs of a file, YAML or JSON, and validates them. Documents of other kinds are skipped. It
// reports all mistakes at once, each where it stands; a spec with mistakes may be among the results, so look at r
// before going on. file is the name as the user gave it, "-" for standard input.
func Decode(file string, data []byte, r *report.Report) []*Doc {
	var found report.Report
	return decodeFile(strict.Parse(file, data, &found), &found, r, func(root *yaml.Node) []*yaml.Node { return []*yaml.Node{root} })
}

// DecodeNested is Decode for hook specs inside other documents, such as the items of a list: choose returns the values
// of a document that may be hook specs. It does not bound the size of data.
func DecodeNested(file string, data []byte, choose func(root *yaml.Node) []*yaml.Node, r *report.Report) []*Doc {
	var found report.Report
	return decodeFile(strict.ParseAny(file, data, &found), &found, r, choose)
}

// decodeFile decodes what choose returns of each document, and merges what it found into r.
func decodeFile(file strict.File, found, r *report.Report, choose func(*yaml.Node) []*yaml.Node) []*Doc {
	var docs []*Doc
	for _, root := range file.Roots {
		if len(root.Content) != 1 {
			continue
		}
		for _, n := range choose(root.Content[0]) {
			if doc := decodeDocument(file, n, found); doc != nil {
				docs = append(docs, doc)
			}
		}
	}
	strict.Finish(found, r)
	return docs
}

// decodeDocument returns nil where the document is no hook spec, or is so wrong that there is no sense in going on.
func decodeDocument(file strict.File, root *yaml.Node, r *report.Report) *Doc {
	if !isHookSpec(file, root, r) {
		return nil
	}
	reader, v, ok := file.Open(root, Objects(), r)
	if !ok {
		return nil
	}
	doc := &Doc{Document: reader.Doc}
	d := newDecoder(doc, reader)
	for field, v := range d.Fields(v, &documentObject) {
		switch field {
		case "apiVersion":
			doc.Spec.APIVersion = d.String(v)
		case "kind":
			doc.Spec.Kind = d.String(v)
		case "metadata":
			doc.Spec.Metadata = d.metadata(v)
		case "spec":
			doc.Spec.Spec = d.spec(v)
		}
	}
	d.validate()
	return doc
}

// decoder reads a hook spec.
type decoder struct {
	*strict.Reader
	doc *Doc
	// unsound holds the paths of hooks whose fields do not go together, overridden or not
	unsound map[string]bool
}

func newDecoder(doc *Doc, r *strict.Reader) *decoder {
	return &decoder{Reader: r, doc: doc, unsound: map[string]bool{}}
}

func (d *decoder) metadata(v strict.Value) (m Metadata) {
	for field, v := range d.Fields(v, &metadataObject) {
		switch field {
		case "name":
			m.Name = d.String(v)
		case "labels":
			m.Labels = d.StringMap(v)
		case "annotations":
			m.Annotations = d.StringMap(v)
		}
	}
	return m
}

func (d *decoder) spec(v strict.Value) (s Spec) {
	for field, v := range d.Fields(v, &specObject) {
		switch field {
		case "runtime":
			s.Runtime = d.String(v)
		case "selector":
			s.Selector = d.selector(v)
		case "compress":
			s.Compress = d.Bool(v)
		case "archive":
			s.Archive = d.Bool(v)
		case "archiveURL":
			s.ArchiveURL = d.String(v)
		case "hooks":
			s.Hooks = []Hook{}
			for v := range d.Items(v) {
				s.Hooks = append(s.Hooks, d.hook(v, false))
			}
		case "overrides":
			for v := range d.Items(v) {
				s.Overrides = append(s.Overrides, d.override(v))
			}
		}
	}
	return s
}

func (d *decoder) selector(v strict.Value) *Selector {
	s := new(Selector)
	for field, v := range d.Fields(v, &selectorObject) {
		switch field {
		case "clusters":
			s.Clusters = d.Strings(v)
		case "names":
			s.Names = d.Strings(v)
		case "excludeNames":
			s.ExcludeNames = d.Strings(v)
		case "roles":
			s.Roles = d.Strings(v)
		case "matchLabels":
			s.MatchLabels = d.StringMap(v)
		case "nodeLabels":
			s.NodeLabels = d.StringMap(v)
		}
	}
	return s
}

func (d *decoder) override(v strict.Value) (o Override) {
	for field, v := range d.Fields(v, &overrideObject) {
		switch field {
		case "selector":
			o.Selector = d.selector(v)
		case "hooks":
			o.Hooks = map[string]Hook{}
			for name, v := range d.Entries(v) {
				o.Hooks[name] = d.hook(v, true)
			}
		}
	}
	return o
}

// hook reads a hook; partial says that it stands in an override, where nothing is required.
func (d *decoder) hook(v strict.Value, partial bool) (h Hook) {
	fields := d.Fields
	if partial {
		fields = d.OptionalFields
	}
	for field, v := range fields(v, &hookObject) {
		switch field {
		case "name":
			h.Name = d.String(v)
		case "phase":
			h.Phase = PhaseList{}
			for _, p := range d.StringOrList(v) {
				h.Phase = append(h.Phase, Phase(p))
			}
		case "weight":
			h.Weight = ptr(d.Int(v))
		case "run":
			h.Run = ptr(d.String(v))
		case "script":
			h.Script = ptr(d.String(v))
		case "source":
			h.Source = ptr(d.String(v))
		case "verify":
			h.Verify = ptr(d.String(v))
		case "env":
			h.Env = d.StringMap(v)
		case "timeout":
			h.Timeout = ptr(d.Duration(v))
		case "attempts":
			h.Attempts = ptr(d.Int(v))
		case "retryDelay":
			h.RetryDelay = ptr(d.Duration(v))
		case "onDrift":
			h.OnDrift = ptr(d.String(v))
		case "undo":
			h.Undo = ptr(d.String(v))
		case "onFailure":
			h.OnFailure = ptr(d.String(v))
		case "before":
			h.Before = d.Strings(v)
		case "rebootExitCodes":
			h.RebootExitCodes = []int{}
			for v := range d.Items(v) {
				h.RebootExitCodes = append(h.RebootExitCodes, d.Int(v))
			}
		case "compress":
			h.Compress = ptr(d.Bool(v))
		case "cleanup":
			h.Cleanup = ptr(d.String(v))
		case "files":
			h.Files = []File{}
			for v := range d.Items(v) {
				h.Files = append(h.Files, d.file(v))
			}
		case "dropIns":
			h.DropIns = []DropIn{}
			for v := range d.Items(v) {
				h.DropIns = append(h.DropIns, d.dropIn(v))
			}
		case "cloudConfig":
			h.CloudConfig = d.Mapping(v)
		case "enabled":
			h.Enabled = ptr(d.Bool(v))
		}
	}
	return h
}

func (d *decoder) file(v strict.Value) (f File) {
	for field, v := range d.Fields(v, &fileObject) {
		switch field {
		case "path":
			f.Path = d.String(v)
		case "content":
			f.Content = ptr(d.String(v))
		case "contentBase64":
			f.ContentBase64 = ptr(strings.Join(strings.Fields(d.String(v)), ""))
		case "source":
			f.Source = ptr(d.String(v))
		case "url":
			f.URL = d.StringOrList(v)
		case "sha256":
			f.SHA256 = ptr(strings.ToLower(d.String(v)))
		case "secret":
			f.Secret = ptr(d.String(v))
		case "mode":
			f.Mode = ptr(d.String(v))
		case "owner":
			f.Owner = ptr(d.String(v))
		}
	}
	return f
}

func (d *decoder) dropIn(v strict.Value) (u DropIn) {
	for field, v := range d.Fields(v, &dropInObject) {
		switch field {
		case "unit":
			u.Unit = d.String(v)
		case "content":
			u.Content = d.String(v)
		}
	}
	return u
}

func ptr[T any](v T) *T { return &v }
