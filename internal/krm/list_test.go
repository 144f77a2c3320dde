package krm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// read is what a function does with its input.
func read(data []byte) ([]byte, *List, error) {
	data = Normalize(data)
	var root yaml.Node
	if err := unmarshal(data, &root); err != nil {
		return data, nil, err
	}
	if len(root.Content) != 1 {
		return data, nil, fmt.Errorf("no document")
	}
	l, err := Read(root.Content[0])
	return data, l, err
}

func TestWrite(t *testing.T) {
	results := []Result{{Message: "a: b\n# c", Severity: "error"}}
	const printed = "results:\n  - message: |-\n      a: b\n      # c\n    severity: error\n"
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	tests := []struct {
		name, in, want string
		results        []Result
	}{
		{"results come behind all else", head + "items: []\n", head + "items: []\n" + printed, results},
		{"no results, no key", head + "items: []\n", head + "items: []\n", nil},
		{"a missing line break is added", head + "items: []", head + "items: []\n" + printed, results},
		{"a line break that a block scalar keeps is kept", head + "items:\n- a: |+\n    b\n\n", head + "items:\n- a: |+\n    b\n\n" + printed, results},
		{"what ends the document goes", head + "items: []\n...\n# x\n", head + "items: []\n" + printed, results},
		{"dots in a text stay", head + "items:\n- a: |\n    ...\n", head + "items:\n- a: |\n    ...\n" + printed, results},
		{"other results go", head + "results:\n- message: x\n# y\n  \nitems: []\n", head + "items: []\n" + printed, results},
		{"other results go from the end", head + "items: []\nresults:\n  - message: |\n      results:\n", head + "items: []\n", nil},
		{"comments and styles stay", "# a\n" + head + "items:  # b\n-   {a:   'b'}\n", "# a\n" + head + "items:  # b\n-   {a:   'b'}\n" + printed, results},
		{"carriage returns stay", "apiVersion: config.kubernetes.io/v1\r\nkind: ResourceList\r\nitems: []\r\n",
			"apiVersion: config.kubernetes.io/v1\r\nkind: ResourceList\r\nitems: []\r\n" + printed, results},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data, l, err := read([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			got, err := l.Write(data, test.results)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestResultsNameTheObjectAndItsField(t *testing.T) {
	const list = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- kind: InstanceGroup
  apiVersion: kops.k8s.io/v1alpha2
  metadata: {name: a, namespace: n, annotations: {internal.config.kubernetes.io/path: d/a.yaml, internal.config.kubernetes.io/index: "2"}}
- kind: InstanceGroup
- {apiVersion: v1, kind: A, metadata: {name: c}}
- {apiVersion: v1, kind: B, metadata: {name: d}}
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: config}
`
	_, l, err := read([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	a := &ResourceRef{APIVersion: "kops.k8s.io/v1alpha2", Kind: "InstanceGroup", Namespace: "n", Name: "a"}
	tests := []struct {
		name string
		in   report.Finding
		want Result
	}{
		{"a field", report.Finding{Position: report.Position{Line: 5, Col: 3}, Path: "spec.x", Message: "m", Remedy: "r", Code: "KH001"},
			Result{Message: "m (r)", Severity: "error", ResourceRef: a, Field: &Field{"spec.x"}, File: &File{"d/a.yaml", 2}, Tags: map[string]string{"code": "KH001"}}},
		{"only a line", report.Finding{Severity: report.Warning, Position: report.Position{Line: 4}, Message: "m"},
			Result{Message: "m", Severity: "warning", ResourceRef: a, File: &File{"d/a.yaml", 2}}},
		{"an object without a name has no reference, and then no field", report.Finding{Position: report.Position{Line: 7, Col: 3}, Path: "metadata", Message: "m"},
			Result{Message: "m", Severity: "error"}},
		{"the options", report.Finding{Severity: report.Info, Position: report.Position{Line: 13, Col: 1}, Path: "data", Message: "m"},
			Result{Message: "m", Severity: "info", ResourceRef: &ResourceRef{APIVersion: "v1", Kind: "ConfigMap", Name: "config"}, Field: &Field{"data"}}},
		{"before all objects", report.Finding{Position: report.Position{Line: 1, Col: 1}, Message: "m"}, Result{Message: "m", Severity: "error"}},
		{"nowhere", report.Finding{Message: "m"}, Result{Message: "m", Severity: "error"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, l.NewResult(test.in)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestObjectsOnOneLineAreToldByColumnOnly(t *testing.T) {
	_, l, err := read([]byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{kind: A}, {kind: B}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := l.At(3, 0); got != nil {
		t.Errorf("line 3 is one of two objects, not %s", got.Kind)
	}
	if got := l.At(3, 20); got == nil || got.Kind != "B" {
		t.Errorf("line 3, column 20 is in B, not %v", got)
	}
}

func FuzzReadAndWrite(f *testing.F) {
	example, err := os.ReadFile("../../examples/kustomize/resourcelist.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example, "message")
	f.Add([]byte(`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"a":1e3},{}],"results":[]}`), "a\nb: c")
	f.Add([]byte("{apiVersion: config.kubernetes.io/v1, kind: ResourceList, items: [{a: b}]}"), "#")
	f.Add([]byte("apiVersion: config.kubernetes.io/v1\nresults:\n- message: x\nkind: ResourceList\nitems:\n- a: |+\n   b\n\n...\n"), "'")
	f.Fuzz(func(t *testing.T, in []byte, message string) {
		data, l, err := read(in)
		if err != nil {
			return
		}
		out, err := l.Write(data, []Result{{Message: message, Severity: "info"}})
		if err != nil {
			return // said so, and wrote nothing
		}
		again, l2, err := read(out)
		if err != nil {
			t.Fatalf("cannot be read again: %v\n%s", err, out)
		}
		if len(l2.Items) != len(l.Items) {
			t.Fatalf("%d items became %d:\n%s", len(l.Items), len(l2.Items), out)
		}
		twice, err := l2.Write(again, []Result{{Message: message, Severity: "info"}})
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out) && !bytes.Equal(out, twice) {
			t.Fatalf("writing twice is not writing once:\n%s", cmp.Diff(string(out), string(twice)))
		}
	})
}
