package schema

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/golden"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// published is the schema as the docs carry it, at the address that ID names.
const published = "../../docs/schema/v1alpha1.json"

func TestThePublishedSchemaIsCurrent(t *testing.T) {
	got, err := Print()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, published, got)
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Print()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(ID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(ID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every description says something, since editors show it.
func TestEveryFieldHasADescription(t *testing.T) {
	for name, d := range document()["definitions"].(node) {
		for field, p := range d.(node)["properties"].(node) {
			if text, _ := p.(node)["description"].(string); !strings.HasSuffix(strings.TrimSpace(text), ".") {
				t.Errorf("%s.%s: description %q", name, field, text)
			}
		}
	}
}

func TestReservedNamesAreRefused(t *testing.T) {
	s := compile(t)
	for _, name := range append([]string{"agent"}, hookspec.ReservedNames...) {
		text := "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: a}\nspec:\n  selector: {}\n  hooks: [{name: " + name + ", script: '#!/bin/sh'}]\n"
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value); (err == nil) != (name == "agent") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGoodSpecsAreValid(t *testing.T) {
	s := compile(t)
	var files []string
	for _, glob := range []string{"../../examples/*/*.yaml", "../../templates/recipes/*.yaml", "../../templates/*/*/*.yaml"} {
		found, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	specs := 0
	for _, file := range files {
		for _, doc := range documents(t, file) {
			if kind(doc) != hookspec.Kind {
				continue
			}
			specs++
			if err := s.Validate(plain(doc, nil)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if specs < 4 {
		t.Fatalf("only %d specs found", specs)
	}
}

// What the matrix of phases and fields takes only because it says what happens anyway, odd forms of values, and values
// at their limits.
const unusual = `
apiVersion: kopshook.dev/v1alpha1
kind: InstanceGroupHooks
metadata: {name: a, labels: {a.b/c: d}, annotations: {x: ""}}
spec:
  selector: {names: ["[a-c]?-*"], roles: [Master, Bastion], nodeLabels: {a: ""}}
  compress: true
  hooks:
  - {name: a, phase: boot, run: every-boot, onFailure: continue, compress: false, cleanup: never, script: "#! /bin/sh", env: {_a1: ""}}
  - {name: b, phase: pre-shutdown, run: every-boot, onFailure: continue, cleanup: never, timeout: 1.5h, script: "#!/bin/sh", weight: -400}
  - {name: c, phase: [post-nodeup, daemon], onFailure: continue, compress: false, cleanup: never, source: ./a b, weight: 499}
  - {name: d, phase: [pre-nodeup], dropIns: [{unit: 'a\x2db@.service', content: "\n# a\n ; b\n\n [Service] \nA=b"}], before: [a@b.timer]}
  - {name: e, timeout: 24h, retryDelay: 0s, attempts: 100, rebootExitCodes: [1, 255], cloudConfig: {apt: {}}}
  - name: f
    files:
    - {path: /a, content: ""}
    - {path: /a b/..c/d.., contentBase64: "YWFh\nYg==", mode: "4755", owner: "0:0"}
    - {path: /etc/systemd/system/a.service, source: a}
    - {path: /opt/kopshooks, url: ["HTTPS://example.com", "http://[::1]:80/%20?a"], sha256: ABCDEF0000000000000000000000000000000000000000000000000000000000}
  - {name: g, verify: "true", source: a, enabled: false}
  overrides:
  - selector: {}
    hooks: {a: {}, g: {verify: "#!/bin/sh", enabled: true}}
`

func TestUnusualSpecsAreValid(t *testing.T) {
	var r report.Report
	hookspec.Decode("unusual", []byte(unusual), &r)
	for _, f := range r.Findings {
		t.Errorf("kopshook: %s: %s", f.Position, f.Message)
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(unusual), &n); err != nil {
		t.Fatal(err)
	}
	if err := compile(t).Validate(plain(n.Content[0], nil)); err != nil {
		t.Errorf("schema: %v", err)
	}
}

// documents returns the roots of a file's documents.
func documents(t *testing.T, file string) []*yaml.Node {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var docs []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := dec.Decode(&n); err != nil {
			break
		}
		if len(n.Content) == 1 {
			docs = append(docs, n.Content[0])
		}
	}
	return docs
}

func kind(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "kind" {
				return n.Content[i+1].Value
			}
		}
	}
	return ""
}

// plain turns YAML into what an editor's validator sees: the core schema of YAML 1.2, keys as strings, the last of two
// equal keys. seen holds the aliases that are being followed.
func plain(n *yaml.Node, seen []*yaml.Node) any {
	switch n.Kind {
	case yaml.AliasNode:
		if slices.Contains(seen, n.Alias) {
			return nil
		}
		return plain(n.Alias, append(seen, n.Alias))
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, plain(c, seen))
		}
		return list
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v := plain(n.Content[i+1], seen)
			if n.Content[i].Value == "<<" {
				merged, ok := v.([]any)
				if !ok {
					merged = []any{v}
				}
				for _, one := range merged {
					more, _ := one.(map[string]any)
					for k, v := range more {
						if _, there := m[k]; !there {
							m[k] = v
						}
					}
				}
				continue
			}
			m[n.Content[i].Value] = v
		}
		return m
	}
	var v any
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!null":
		if n.Decode(&v) == nil {
			return v
		}
	}
	return n.Value
}
