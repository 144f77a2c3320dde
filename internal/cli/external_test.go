package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/report"
)

// provider runs a program as Terraform's external provider does (terraform-provider-external
// internal/provider/data_source.go, Read): without a shell, found on PATH, with Terraform's own environment and the
// data source's working_dir; the query is JSON as Go writes it, without null values, {} when there is none. The result
// has to be one JSON object of strings and nothing else, with exit code 0; standard error is dropped then, and is the
// diagnostic otherwise.
func provider(t *testing.T, program []string, workingDir string, query map[string]string) (result map[string]string, diagnostic string) {
	t.Helper()
	bin := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, filepath.Join(bin, "kopshook")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if query == nil {
		query = map[string]string{}
	}
	stdin, err := json.Marshal(query)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Dir = workingDir
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if len(out) > 0 {
			t.Errorf("it failed and printed: %s", out)
		}
		return nil, stderr.String()
	}
	if stderr.Len() > 0 {
		t.Errorf("nobody sees what it said on standard error: %s", stderr.String())
	}
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("the provider does not take the result: %v\n%s", err, out)
	}
	return result, ""
}

func repository(t *testing.T) string {
	t.Helper()
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

var externalProgram = []string{"kopshook", "external"}

func TestTerraformGetsWhatRenderAndMergePrint(t *testing.T) {
	repo := repository(t)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(repo, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	queries := map[string]map[string]string{
		"files":                    {"specs": "examples/gpu/hooks.yaml", "manifests": "examples/mixed/cluster.yaml"},
		"a folder, and lists":      {"specs": `["examples/gpu"]`, "manifests": ` ["examples/mixed/cluster.yaml"]`},
		"text":                     {"spec": read("examples/gpu/hooks.yaml"), "manifest": read("examples/mixed/cluster.yaml")},
		"text and files":           {"spec": read("examples/gpu/hooks.yaml"), "manifests": "examples/mixed/cluster.yaml"},
		"with options":             {"specs": "examples/gpu", "manifests": "examples/mixed/cluster.yaml", "strict": "true", "fetch": "false"},
		"an absolute path as well": {"specs": filepath.Join(repo, "examples/gpu/hooks.yaml"), "manifests": "examples/mixed/cluster.yaml"},
	}
	want, _ := provider(t, externalProgram, repo, queries["files"])
	t.Run("against the other commands", func(t *testing.T) {
		t.Chdir(repo)
		merged := runApp(t, "", "merge", "examples/gpu/hooks.yaml", "examples/mixed/cluster.yaml")
		if diff := cmp.Diff(merged, want["manifest"]); diff != "" {
			t.Errorf("manifest is not what merge prints (-merge +external):\n%s", diff)
		}
		var list []rendered
		if err := json.Unmarshal([]byte(runApp(t, "", "render", "-o", "json", "examples/gpu/hooks.yaml", "examples/mixed/cluster.yaml")), &list); err != nil {
			t.Fatal(err)
		}
		parts, sums := map[string][]generator.UserData{}, map[string]string{}
		if err := json.Unmarshal([]byte(want["additional_user_data"]), &parts); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(want["sha256"]), &sums); err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if diff := cmp.Diff(r.AdditionalUserData, parts[r.InstanceGroup]); diff != "" {
				t.Errorf("%s: not what render prints (-render +external):\n%s", r.InstanceGroup, diff)
			}
			if len(sums[r.InstanceGroup]) != 64 {
				t.Errorf("%s: sha256 %q", r.InstanceGroup, sums[r.InstanceGroup])
			}
		}
		if len(parts["gpu-a"]) < 3 || len(parts["nodes"]) != 0 || sums["gpu-a"] == sums["nodes"] {
			t.Errorf("gpu-a has %d parts, nodes %d; checksums %v", len(parts["gpu-a"]), len(parts["nodes"]), sums)
		}
	})
	for name, query := range queries {
		t.Run(name, func(t *testing.T) {
			got, diagnostic := provider(t, externalProgram, repo, query)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s-files +this:\n%s", diagnostic, diff)
			}
		})
	}
}

func TestTerraformSeesWarningsAsAValue(t *testing.T) {
	repo := repository(t)
	query := map[string]string{"specs": "examples/gpu", "manifest": "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: nodes}\nspec:\n  role: Node\n"}
	got, diagnostic := provider(t, externalProgram, repo, query)
	if diagnostic != "" {
		t.Fatal(diagnostic)
	}
	var warnings []string
	if err := json.Unmarshal([]byte(got["warnings"]), &warnings); err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "selects none of the instance groups; hint: ") {
		t.Errorf("warnings %q", warnings)
	}
	query["strict"] = "true"
	if _, diagnostic = provider(t, externalProgram, repo, query); !strings.Contains(diagnostic, "error: spec \"gpu\" selects none") {
		t.Errorf("with strict: %q", diagnostic)
	}
}

// Nothing on standard output and a remedy on standard error, whatever is wrong: provider fails the test otherwise.
func TestTerraformIsToldWhatIsWrongWithAQuery(t *testing.T) {
	repo := repository(t)
	gpu, mixed := "examples/gpu", "examples/mixed/cluster.yaml"
	tests := []struct {
		name  string
		query map[string]string
		want  string
	}{
		{"no query", nil, "`specs` or `spec` is missing"},
		{"no instance groups", map[string]string{"specs": gpu}, "`manifests` or `manifest` is missing"},
		{"an unknown key", map[string]string{"specs": gpu, "manifest_file": mixed}, "unknown key \"manifest_file\""},
		{"a misspelled key", map[string]string{"spec": "x", "manifets": "y"}, "did you mean `manifests`?"},
		{"a file that is not there", map[string]string{"specs": "none.yaml", "manifests": mixed}, "none.yaml: no such file or directory"},
		{"standard input", map[string]string{"specs": gpu, "manifests": "-"}, "standard input is the query"},
		{"a list that is none", map[string]string{"specs": `["a"`, "manifests": mixed}, "`specs` of the query is no JSON list of strings"},
		{"a list of numbers", map[string]string{"specs": gpu, "manifests": `[1]`}, "`manifests` of the query is no JSON list of strings"},
		{"an empty list", map[string]string{"specs": "[]", "manifests": mixed}, "`specs` of the query is empty"},
		{"an empty name", map[string]string{"specs": gpu, "manifests": ""}, "`manifests` of the query is empty"},
		{"an option that is neither", map[string]string{"specs": gpu, "manifests": mixed, "fetch": "maybe"}, "`fetch` of the query is \"maybe\""},
		{"a spec with a mistake", map[string]string{"spec": "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: a}\nspec: {selector: {}, hoks: []}\n", "manifests": mixed},
			"query.spec:4:22: error: unknown field `hoks`\n  hint: did you mean `hooks`?"},
		{"text that is no spec", map[string]string{"spec": "a: b", "manifests": mixed}, "query.spec: error: holds no hook spec"},
		{"text that is no YAML", map[string]string{"spec": "{", "manifests": mixed}, "query.spec:1:1: error: the file is not YAML"},
		{"text that is no manifest", map[string]string{"specs": gpu, "manifest": "a: b"}, "query.manifest: error: holds neither instance groups nor hook specs"},
		{"nothing as text", map[string]string{"spec": "", "manifests": mixed}, "query.spec: error: the file is empty"},
		{"a remote source", map[string]string{"spec": `{"apiVersion": "kopshook.dev/v1alpha1", "kind": "InstanceGroupHooks", "metadata": {"name": "a"}, "spec": {"selector": {}, "hooks": [{"name": "a", "source": "https://127.0.0.1:1/a?checksum=sha256:0000000000000000000000000000000000000000000000000000000000000000"}]}}`,
			"manifests": mixed}, "is neither vendored nor in the cache\n  hint: run it once with --fetch"},
		{"the same name in two clusters", map[string]string{"specs": gpu, "manifest": "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: gpu-a, labels: {kops.k8s.io/cluster: a}}\nspec:\n  role: Node\n---\n" +
			"apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: gpu-a, labels: {kops.k8s.io/cluster: b}}\nspec:\n  role: Node\n"},
			`there is an instance group "gpu-a" in two clusters`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, diagnostic := provider(t, externalProgram, repo, test.query)
			if !strings.Contains(diagnostic, test.want) {
				t.Errorf("said %q, not %q", diagnostic, test.want)
			}
			if strings.Contains(diagnostic, "\x1b") {
				t.Errorf("colors in %q", diagnostic)
			}
		})
	}
	t.Run("arguments", func(t *testing.T) {
		if _, diagnostic := provider(t, append(externalProgram, "x.yaml"), repo, nil); !strings.Contains(diagnostic, "external takes no files") {
			t.Error(diagnostic)
		}
	})
}

func TestParseQuery(t *testing.T) {
	tests := []struct{ in, want string }{
		{``, "there is no query on standard input"},
		{"\n ", "there is no query on standard input"},
		{`null`, "the query is no JSON object"},
		{`["specs"]`, "the query is no JSON object"},
		{`{"specs": "a"} {}`, "there is something behind the query"},
		{`{"specs": "a"`, "the query is not JSON: EOF"},
		{`{"specs"`, "the query is not JSON"},
		{`{"specs": "a",}`, "the query is not JSON"},
		{`{"specs": "a", "specs": "b"}`, "`specs` is in the query twice"},
		{`{"specs": ["a"]}`, "`specs` of the query is no string"},
		{`{"specs": null, "specs": "b"}`, "`specs` is in the query twice"},
		{`{"strict": true, "fetch": 1, "x": {}}`, "`strict` of the query is no string\n`fetch` of the query is no string\nthe query has the unknown key \"x\""},
	}
	for _, test := range tests {
		if _, err := parseQuery([]byte(test.in)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, not %q", test.in, err, test.want)
		}
	}
	if _, err := parseQuery([]byte(`{"strict": true}`)); report.Remedy(err) != `write "true", a string` {
		t.Errorf("the remedy is %q", report.Remedy(err))
	}
	got, err := parseQuery([]byte(`{"specs": "\u003ca\u003e", "strict": "", "spec": null}`))
	if diff := cmp.Diff(map[string]string{"specs": "<a>", "strict": ""}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add([]byte(`{"specs": "a", "manifest": "b"}`))
	f.Add([]byte(`{"specs": {"a": [1]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		query, err := parseQuery(data)
		if err != nil {
			return
		}
		var all map[string]*string
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatalf("took what encoding/json refuses: %v", err)
		}
		want := map[string]string{}
		for key, value := range all {
			if value != nil {
				want[key] = *value
			}
		}
		if diff := cmp.Diff(want, query); diff != "" {
			t.Fatal(diff)
		}
	})
}
