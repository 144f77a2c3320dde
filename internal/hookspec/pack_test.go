package hookspec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/report"
)

func TestPack(t *testing.T) {
	const head = "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: x}\nspec:\n  selector: {}\n  hooks:\n"
	const script = "    script: |\n      #!/bin/sh\n      true\n"
	for name, c := range map[string]struct {
		in, want string
		paths    string
	}{
		"behind the name": {
			head + "  - name: a # first\n" + script + "  # second\n  - name: b\n" + script,
			head + "  - name: a # first\n    compress: true\n" + script + "  # second\n  - name: b\n" + script, "spec.hooks[0]"},
		"two of them": {
			head + "  - name: a\n" + script + "  - name: b\n" + script,
			head + "  - name: a\n    compress: true\n" + script + "  - name: b\n    compress: true\n" + script, "spec.hooks[0] spec.hooks[1]"},
		"the name does not come first": {
			head + "  -\n" + script + "    name: a\n",
			head + "  -\n" + script + "    name: a\n    compress: true\n", "spec.hooks[0]"},
		"it says false": {
			head + "  - name: a\n    compress: false # for review\n" + script,
			head + "  - name: a\n    compress: true # for review\n" + script, "spec.hooks[0]"},
		"it says true": {
			head + "  - name: a\n    compress: true\n" + script,
			head + "  - name: a\n    compress: true\n" + script, "spec.hooks[0]"},
		"between braces": {
			head + "  - {name: a, script: \"#!/bin/sh\\ntrue\\n\"} # x\n",
			head + "  - {compress: true, name: a, script: \"#!/bin/sh\\ntrue\\n\"} # x\n", "spec.hooks[0]"},
		"at the end of the file": {
			head + "  - script: \"#!/bin/sh\\ntrue\\n\"\n    name: a",
			head + "  - script: \"#!/bin/sh\\ntrue\\n\"\n    name: a\n    compress: true", "spec.hooks[0]"},
		"with CRLF": {
			strings.ReplaceAll(head+"  - name: a\n"+script, "\n", "\r\n"),
			strings.ReplaceAll(head+"  - name: a\n    compress: true\n"+script, "\n", "\r\n"), "spec.hooks[0]"},
		"JSON": {
			`{"apiVersion": "kopshook.dev/v1alpha1", "kind": "InstanceGroupHooks", "metadata": {"name": "x"}, "spec": {"selector": {}, "hooks": [{"name": "a", "script": "#!/bin/sh\n"}]}}`,
			`{"apiVersion": "kopshook.dev/v1alpha1", "kind": "InstanceGroupHooks", "metadata": {"name": "x"}, "spec": {"selector": {}, "hooks": [{"compress": true, "name": "a", "script": "#!/bin/sh\n"}]}}`, "spec.hooks[0]"},
		"in characters of several bytes": {
			head + "  - {env: {A: äöü}, name: a, script: \"#!/bin/sh\\ntrue\\n\"}\n",
			head + "  - {env: {A: äöü}, compress: true, name: a, script: \"#!/bin/sh\\ntrue\\n\"}\n", "spec.hooks[0]"},
		"archive, behind spec": {
			strings.Replace(head, "spec:\n", "spec: # what\n  # who\n", 1) + "  - name: a\n" + script,
			strings.Replace(head, "spec:\n", "spec: # what\n  archive: true\n  # who\n", 1) + "  - name: a\n" + script, "archive"},
		"archive, where it says false": {
			strings.Replace(head, "spec:\n", "spec:\n  archive: false\n", 1) + "  - name: a\n" + script,
			strings.Replace(head, "spec:\n", "spec:\n  archive: true\n", 1) + "  - name: a\n" + script, "archive"},
		"archive, in JSON": {
			`{"apiVersion": "kopshook.dev/v1alpha1", "kind": "InstanceGroupHooks", "metadata": {"name": "x"}, "spec": {"selector": {}, "hooks": [{"name": "a", "script": "#!/bin/sh\n"}]}}`,
			`{"apiVersion": "kopshook.dev/v1alpha1", "kind": "InstanceGroupHooks", "metadata": {"name": "x"}, "spec": {"archive": true, "selector": {}, "hooks": [{"name": "a", "script": "#!/bin/sh\n"}]}}`, "archive"},
		"an override has the last word": {
			head + "  - name: a\n" + script + "  overrides:\n  - selector: {}\n    hooks: {a: {compress: false}}\n",
			head + "  - name: a\n" + script + "  overrides:\n  - selector: {}\n    hooks: {a: {compress: true}}\n", "spec.overrides[0].hooks.a"},
		"a hook and its override": {
			head + "  - name: a\n" + script + "  overrides:\n  - selector: {}\n    hooks:\n      a:\n        compress: false # x\n",
			head + "  - name: a\n    compress: true\n" + script + "  overrides:\n  - selector: {}\n    hooks:\n      a:\n        compress: true # x\n",
			"spec.hooks[0] spec.overrides[0].hooks.a"},
		"an alias of another value": {
			head + "  - name: a\n    compress: &no false\n" + script + "  overrides:\n  - selector: {}\n    hooks: {a: {compress: *no}}\n",
			head + "  - name: a\n    compress: &no false\n" + script + "  overrides:\n  - selector: {}\n    hooks: {a: {compress: true}}\n", "spec.overrides[0].hooks.a"},
		"a name on two lines cannot be": {head + "  - name: >-\n      a\n" + script, "", "spec.hooks[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			var r report.Report
			docs := Decode("hooks.yaml", []byte(c.in), &r)
			if r.HasErrors() {
				t.Fatal(r.Findings)
			}
			var archive []*Doc
			if c.paths == "archive" {
				archive, c.paths = docs, ""
			}
			out, err := Pack([]byte(c.in), docs, map[*Doc][]string{docs[0]: strings.Fields(c.paths)}, archive)
			if (err != nil) != (c.want == "") {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, string(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("the second of two documents", func(t *testing.T) {
		in := head + "  - name: a\n" + script + "---\n" + strings.Replace(head, "name: x", "name: y", 1) + "  - name: b\n" + script
		var r report.Report
		docs := Decode("hooks.yaml", []byte(in), &r)
		out, err := Pack([]byte(in), docs, map[*Doc][]string{docs[1]: {"spec.hooks[0]"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Replace(in, "name: b\n", "name: b\n    compress: true\n", 1), string(out)); diff != "" {
			t.Error(diff)
		}
	})
}
