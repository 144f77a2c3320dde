package plan_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/schema"
	"kopshook.dev/kopshook/internal/strict"
)

type mapping = map[string]any

// usual are the hook, the file and the drop-in that fields are added to, and the spec around them.
func usual(object string) mapping {
	switch object {
	case "hook":
		return mapping{"name": "a", "script": "#!/bin/sh\n" + strings.Repeat(": long enough to be worth compressing\n", 20)}
	case "file":
		return mapping{"path": "/etc/a", "content": "a"}
	case "dropIn":
		return mapping{"unit": "a.service", "content": "[Unit]\n"}
	}
	return mapping{"selector": mapping{}}
}

// free are values of fields that take no text of anybody's choice.
var free = map[string]any{
	"hook.name": "b", "hook.script": "#!/bin/sh\ntrue\n", "hook.before": []string{"containerd.service"}, "hook.env": mapping{"A": "b"},
	"spec.archiveURL": "s3://hooks-example/prod",
	"hook.files":      []mapping{{"path": "/etc/a", "content": "a"}},
	"hook.dropIns":    []mapping{{"unit": "a.service", "content": "[Unit]\n"}}, "hook.cloudConfig": mapping{"apt": mapping{"preserve_sources_list": true}},
	"file.path": "/etc/b", "file.contentBase64": "Yg==", "file.url": "https://a.example.com/b", "file.secret": "aws-ssm:/a/b", "file.sha256": strings.Repeat("1", 64),
	"file.mode": "0600", "file.owner": "root:adm", "dropIn.unit": "b.service", "dropIn.content": "[Service]\n",
}

// values of a field that are not its default: a new field has some without anybody writing them here.
func values(object string, f *strict.Field) []any {
	if v, ok := free[object+"."+f.Name]; ok {
		return []any{v}
	}
	switch f.Type {
	case strict.Boolean:
		return []any{f.Default != "true"}
	case strict.Integer:
		return []any{f.Min, f.Max}
	case strict.IntegerList:
		return []any{[]int{f.Min}}
	case strict.Span:
		return []any{fmt.Sprintf("%ds", f.Min+1)}
	case strict.StringList:
		return []any{[]string{"text"}}
	case strict.StringMap:
		return []any{mapping{"key": "text"}}
	}
	if len(f.Enum) == 0 {
		return []any{"text"}
	}
	var others []any
	for _, v := range f.Enum {
		if v != f.Default {
			others = append(others, v)
		}
	}
	return others
}

// with adds a field to the usual object. What goes with one other field only, comes with it.
func with(object, name string, value any) mapping {
	m := usual(object)
	switch object + "." + name {
	case "hook.source":
		delete(m, "script")
	case "file.contentBase64", "file.source", "file.url", "file.secret":
		delete(m, "content")
	case "file.sha256":
		delete(m, "content")
		m["url"] = "https://a.example.com/b"
	}
	if name == "archiveURL" {
		m["archive"] = true
	}
	if name == "url" {
		m["sha256"] = strings.Repeat("0", 64)
	}
	m[name] = value
	return m
}

// specWith is a spec with one hook, that holds the object somewhere.
func specWith(object string, m mapping, overrides ...mapping) []byte {
	hook, spec := usual("hook"), mapping{"selector": mapping{}}
	switch object {
	case "spec":
		maps.Copy(spec, m)
	case "hook":
		hook = m
	case "file":
		hook["files"] = []mapping{m}
	case "dropIn":
		hook["dropIns"] = []mapping{m}
	}
	spec["hooks"] = []mapping{hook}
	if len(overrides) > 0 {
		spec["overrides"] = overrides
	}
	data, err := json.Marshal(mapping{"apiVersion": hookspec.APIVersion, "kind": hookspec.Kind, "metadata": mapping{"name": "a"}, "spec": spec})
	if err != nil {
		panic(err)
	}
	return data
}

// hops is a hook on its way to the node.
type hops struct {
	decoded  *hookspec.Doc
	resolved []generator.Hook
	read     []generator.Hook
	parts    []generator.UserData
}

func walk(t *testing.T, spec []byte) (h hops) {
	t.Helper()
	var r report.Report
	docs := hookspec.Decode("hooks.yaml", spec, &r)
	if r.HasErrors() {
		t.Fatalf("%s\n%v", spec, r.Findings)
	}
	h.decoded = docs[0]
	for _, hook := range h.decoded.Resolve(hookspec.Group{}) {
		h.resolved = append(h.resolved, hook.Hook)
	}
	for _, hook := range plan.Hooks(t.Context(), docs, &loader{}, &r) {
		h.read = append(h.read, hook.Hook)
	}
	file, err := instancegroups.Parse("ig.yaml", []byte(groupOf("nodes", "Node", "")))
	if err != nil {
		t.Fatal(err)
	}
	groups := plan.Make(t.Context(), docs, []*plan.Manifest{{Name: "ig.yaml", File: file}}, &loader{}, &r)
	if r.HasErrors() {
		t.Fatalf("%s\n%v", spec, r.Findings)
	}
	h.parts = groups[0].Parts
	return h
}

// decodedField returns the Go field that holds a field of the object, as the decoder left it.
func decodedField(d *hookspec.Doc, object, name string) (reflect.Value, bool) {
	at := reflect.ValueOf(d.Spec.Spec)
	switch hook := d.Spec.Spec.Hooks[0]; object {
	case "hook":
		at = reflect.ValueOf(hook)
	case "file":
		at = reflect.ValueOf(hook.Files[0])
	case "dropIn":
		at = reflect.ValueOf(hook.DropIns[0])
	}
	for i := range at.NumField() {
		if at.Type().Field(i).Tag.Get("yaml") == name {
			return at.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// TestEveryFieldReachesTheNode follows each value of each field of the table from the YAML to the user data. When a
// field is lost, the message names where: add it there (CONTRIBUTING.md has the list of places).
func TestEveryFieldReachesTheNode(t *testing.T) {
	for _, o := range hookspec.Objects() {
		if !slices.Contains([]string{"spec", "hook", "file", "dropIn"}, o.Name) {
			continue
		}
		for i := range o.Fields {
			f := &o.Fields[i]
			if o.Name == "spec" && slices.Contains([]string{"selector", "hooks", "overrides"}, f.Name) {
				continue // they hold the others
			}
			if f.Refused(hookspec.PreNodeup) != nil {
				continue // of phase daemon: internal/addon follows it into the pod's arguments
			}
			for _, v := range values(o.Name, f) {
				t.Run(fmt.Sprintf("%s.%s=%v", o.Name, f.Name, v), func(t *testing.T) { follow(t, o.Name, f, v) })
			}
		}
	}
}

func follow(t *testing.T, object string, f *strict.Field, v any) {
	if object == "file" && f.Name == "content" {
		v = "b"
	}
	without, has := walk(t, specWith(object, usual(object))), walk(t, specWith(object, with(object, f.Name, v)))
	if f.Name == "sha256" {
		without = walk(t, specWith(object, with(object, "url", "https://a.example.com/b")))
	}
	got, ok := decodedField(has.decoded, object, f.Name)
	old, _ := decodedField(without.decoded, object, f.Name)
	if !ok || reflect.DeepEqual(got.Interface(), old.Interface()) {
		t.Fatalf("lost in the decoder: internal/hookspec/types.go and decode.go")
	}
	fromSource := f.Name == "source"
	if !fromSource && reflect.DeepEqual(has.resolved, without.resolved) {
		t.Errorf("lost on resolving: internal/hookspec/resolve.go, inPhase, and generator/types.go")
	}
	if reflect.DeepEqual(has.read, without.read) {
		t.Errorf("lost where sources are read: internal/plan/hook.go")
	}
	if reflect.DeepEqual(has.parts, without.parts) {
		t.Errorf("lost in the generator: generator/unit.go and part.go")
	}
	told := map[string]string{"hook.source": "script", "file": "files", "dropIn": "dropIns"}
	name := cmp.Or(told[object+"."+f.Name], told[object], f.Name)
	if was, is := generator.Read(without.parts), generator.Read(has.parts); f.Name != "name" && len(is) > 0 && // phase daemon has none
		!slices.ContainsFunc(was[0].Diff(&is[0]), func(c generator.FieldChange) bool { return c.Field == name }) {
		t.Errorf("lost where user data is read back, so that merge and diff do not name it: generator/read.go has %v", was[0].Diff(&is[0]))
	}
	if object == "hook" && f.Name != "name" && f.Name != "phase" {
		override := with(object, f.Name, v)
		for key := range usual(object) {
			if key != f.Name {
				delete(override, key)
			}
		}
		overridden := walk(t, specWith(object, usual(object), mapping{"selector": mapping{}, "hooks": mapping{"a": override}}))
		if !reflect.DeepEqual(overridden.parts, has.parts) {
			t.Errorf("lost in overrides: internal/hookspec/override.go")
		}
	}
}

func TestEveryFieldIsPublished(t *testing.T) {
	data, err := schema.Print()
	if err != nil {
		t.Fatal(err)
	}
	var printed struct {
		Definitions map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(data, &printed); err != nil {
		t.Fatal(err)
	}
	page := string(schema.Reference())
	for _, o := range hookspec.Objects()[1:] {
		for _, f := range o.Fields {
			if printed.Definitions[o.Name].Properties[f.Name] == nil {
				t.Errorf("%s.%s: lost in the schema: internal/schema", o.Name, f.Name)
			}
			if !strings.Contains(page, "`"+f.Name+"`") {
				t.Errorf("%s.%s: lost in the reference: internal/schema/reference.go", o.Name, f.Name)
			}
		}
	}
}
