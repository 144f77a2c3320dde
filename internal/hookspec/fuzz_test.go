package hookspec

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// Whatever the input is: no panic, the same result twice, findings that stand in the file and say something, and
// specs without findings that resolve to complete hooks.
func FuzzDecode(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add([]byte(seed))
	}
	examples, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range examples {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r, again report.Report
		docs := Decode("hooks.yaml", data, &r)
		others := Decode("hooks.yaml", data, &again)
		if diff := cmp.Diff(r.Findings, again.Findings); diff != "" {
			t.Fatalf("findings differ the second time: %s", diff)
		}
		if len(docs) != len(others) {
			t.Fatalf("%d documents, then %d", len(docs), len(others))
		}
		lines := bytes.Split(data, []byte("\n"))
		for _, f := range r.Findings {
			if f.Line < 1 || f.Line > len(lines) || f.Col < 1 || f.Col > utf8.RuneCount(lines[f.Line-1])+1 {
				t.Errorf("outside of the file: %+v", f)
			}
			if f.Message == "" || f.File != "hooks.yaml" {
				t.Errorf("says nothing: %+v", f)
			}
		}
		g := Group{Cluster: "a.example.com", Name: "nodes", Role: "Node"}
		for i, d := range docs {
			d.Selects(g)
			if r.HasErrors() {
				continue
			}
			if diff := cmp.Diff(d.Spec, others[i].Spec, cmp.Comparer(sameYAML)); diff != "" {
				t.Errorf("specs differ the second time: %s", diff)
			}
			for _, h := range d.Resolve(g) {
				if h.Name == "" || h.Phase == "" || h.Timeout <= 0 || h.Attempts < 1 || h.Runtime == "" {
					t.Errorf("not resolved: %+v", h)
				}
				if h.CloudConfig != nil {
					if _, err := yaml.Marshal(h.CloudConfig); err != nil {
						t.Errorf("cloudConfig cannot be written: %v", err)
					}
				}
			}
		}
		var conflicts report.Report
		ForGroup(docs, g, &conflicts)
	})
}

func sameYAML(a, b *yaml.Node) bool {
	x, _ := yaml.Marshal(a)
	y, _ := yaml.Marshal(b)
	return bytes.Equal(x, y)
}

var fuzzSeeds = []string{
	"",
	"a: [b",
	"--- \n--- x\n",
	`{"apiVersion": "kopshook.dev/v1alpha1", "kind": "InstanceGroupHooks", "metadata": {"name": "a"}, "spec": {"selector": {}, "hooks": [{"name": "a", "script": "#!/bin/sh\n"}]}}`,
	`apiVersion: kopshook.dev/v1alpha1
kind: InstanceGroupHooks
metadata: {name: a, labels: {a.b/c: d}}
spec:
  runtime: v1
  compress: true
  selector: {clusters: ["*.a"], names: [n*], excludeNames: [x], roles: [Master], matchLabels: {a: b}, nodeLabels: {c: d}}
  hooks:
  - &first
    name: first
    phase: [pre-nodeup, post-kubelet]
    weight: -5
    run: every-boot
    script: &script |
      #!/bin/sh
      echo hi
    verify: "true"
    env: &env {A: "1", B: "2"}
    timeout: 90s
    attempts: 5
    retryDelay: 1s
    compress: false
    files:
    - path: /etc/a
      contentBase64: aGk=
      mode: "0600"
      owner: root:root
    - path: /etc/b
      url: [https://example.com/b, http://example.org/b]
      sha256: 0000000000000000000000000000000000000000000000000000000000000000
    - {path: /etc/c, source: c}
  - name: second
    script: *script
    env: {<<: *env, C: "3"}
    onFailure: continue
    before: [containerd.service]
    rebootExitCodes: [100]
    cleanup: on-success
    dropIns: [{unit: containerd.service, content: "[Service]\n"}]
    cloudConfig: {apt: {preserve_sources_list: true}, 1: x}
    enabled: false
  - <<: [*first, {name: third}]
  overrides:
  - selector: {}
    hooks: {second: {enabled: true, env: {C: "4"}, source: scripts}}
`,
	"apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: &m {<<: *m}\nspec: &s [*s]\n",
	"apiVersion: kopshook.dev/v1\nkind: InstanceGroupHooks\n---\nkind: InstanceGroupHook\n---\nspec: {hooks: , selector: }\n",
	"kind: InstanceGroupHooks\r\nspec:\u0085  x\u2028\r",
}
