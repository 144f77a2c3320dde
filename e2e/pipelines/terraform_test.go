//go:build e2e

package pipelines

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/model/resources"
)

// terraformVersion is built when no terraform is on PATH: the last whose module holds all of its packages.
const terraformVersion = "v1.5.7"

// workspace is a folder for Terraform with the example's files and stand-ins for the providers that the page uses.
type workspace struct {
	dir string
	env []string
}

func newWorkspace(t *testing.T, hcl ...string) *workspace {
	t.Helper()
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		terraform = filepath.Join(tool(t, "github.com/hashicorp/terraform", terraformVersion), "terraform")
	}
	w := &workspace{dir: t.TempDir()}
	providers := standIns(t)
	config := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"hashicorp/external\" = %q\n    \"hashicorp/kops\" = %q\n  }\n}\n", providers, providers)
	files := map[string]string{
		"main.tf":      strings.Join(hcl, "\n"),
		"hooks.yaml":   example(t, "gpu/hooks.yaml"),
		"cluster.yaml": example(t, "mixed/cluster.yaml"),
		".terraformrc": config,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	w.env = []string{
		"PATH=" + filepath.Dir(terraform) + ":" + kopshook(t) + ":" + os.Getenv("PATH"),
		"TF_CLI_CONFIG_FILE=" + filepath.Join(w.dir, ".terraformrc"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "TF_CLI_ARGS=-no-color",
	}
	return w
}

// standIns returns a folder with the stand-in providers, built once.
func standIns(t *testing.T) string {
	t.Helper()
	providers.once.Do(func() {
		dir, err := os.MkdirTemp("", "kopshook-providers")
		if err != nil {
			t.Fatal(err)
		}
		leftovers = append(leftovers, dir)
		start := time.Now()
		run(t, filepath.Join(repository(t), "e2e/pipelines/standin"), []string{"GOFLAGS="}, "go", "build", "-o", filepath.Join(dir, "terraform-provider-external"), ".")
		run(t, dir, nil, "ln", "terraform-provider-external", "terraform-provider-kops")
		t.Logf("building the stand-in providers took %v", time.Since(start).Round(time.Second))
		providers.dir = dir
	})
	if providers.dir == "" {
		t.Fatal("the stand-in providers could not be built")
	}
	return providers.dir
}

var providers struct {
	once sync.Once
	dir  string
}

func (w *workspace) apply(t *testing.T) (out string, ok bool) {
	t.Helper()
	return shell(t, w.dir, w.env, "terraform apply -auto-approve -input=false")
}

// resources returns the attributes of what the state holds, by address.
func (w *workspace) resources(t *testing.T) map[string]map[string]any {
	t.Helper()
	out, ok := shell(t, w.dir, w.env, "terraform show -json 2> /dev/null")
	if !ok {
		t.Fatal(out)
	}
	var state struct {
		Values struct {
			Outputs    map[string]struct{ Value any }
			RootModule struct {
				Resources []struct {
					Address string
					Values  map[string]any
				}
			} `json:"root_module"`
		}
	}
	if err := json.Unmarshal([]byte(out), &state); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := map[string]map[string]any{}
	for _, r := range state.Values.RootModule.Resources {
		found[r.Address] = r.Values
	}
	for name, o := range state.Values.Outputs {
		found["output."+name] = map[string]any{"value": o.Value}
	}
	return found
}

// The page's HCL runs as it stands there, all of it together.
func TestTerraformDocumentation(t *testing.T) {
	w := newWorkspace(t, blocks(t, "docs/terraform.md", "hcl")...)
	if out, ok := shell(t, w.dir, w.env, "terraform fmt -check -diff main.tf && kopshook render -o json -f hooks.yaml cluster.yaml > hooks.json"); !ok {
		t.Fatal(out)
	}
	if out, ok := w.apply(t); !ok {
		t.Fatal(out)
	}
	got := w.resources(t)
	merged := userData(t, run(t, w.dir, nil, filepath.Join(kopshook(t), "kopshook"), "merge", "-f", "hooks.yaml", "cluster.yaml"))["gpu-a"]
	var ours []kops.UserData
	for _, p := range merged {
		if strings.HasPrefix(p.Name, "kopshook-") {
			ours = append(ours, p)
		}
	}
	var blocks []kops.UserData
	for _, b := range got["kops_instance_group.gpu"]["additional_user_data"].([]any) {
		v := b.(map[string]any)
		blocks = append(blocks, kops.UserData{Name: v["name"].(string), Type: v["type"].(string), Content: v["content"].(string)})
	}
	if diff := cmp.Diff(ours, blocks); diff != "" || len(ours) == 0 {
		t.Errorf("blocks of additional_user_data (-merge +terraform):\n%s", diff)
	}
	if sum, _ := got["terraform_data.roll"]["triggers_replace"].(string); len(sum) != 64 {
		t.Errorf("triggers_replace is %q", sum)
	}
	if diff := cmp.Diff([]any{}, got["output.hook_warnings"]["value"]); diff != "" {
		t.Errorf("warnings: %s", diff)
	}
	var names []any
	for _, p := range ours {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff(names, got["output.gpu_parts"]["value"]); diff != "" {
		t.Errorf("the parts that are read without a provider: %s", diff)
	}

	out, ok := shell(t, w.dir, w.env, "terraform plan -detailed-exitcode -input=false")
	if !ok {
		t.Errorf("a second plan is not empty:\n%s", out)
	}
	out, _ = shell(t, w.dir, w.env, "sed -i 's/580-server/590-server/' hooks.yaml; terraform plan -input=false")
	if !strings.Contains(out, "terraform_data.roll must be replaced") {
		t.Errorf("a changed hook rolls nothing:\n%s", out)
	}
}

func TestTerraformShowsMistakes(t *testing.T) {
	query := func(q string) string {
		return fmt.Sprintf("data \"external\" \"hooks\" {\n  program = [\"kopshook\", \"external\"]\n%s\n}\n", q)
	}
	tests := []struct{ name, hcl, want string }{
		{"no query", query(""), "`specs` or `spec` is missing"},
		{"a misspelled key", query(`query = { specs = "hooks.yaml", manifets = "cluster.yaml" }`), "did you mean `manifests`?"},
		{"a list that is not JSON", query(`query = { specs = "hooks.yaml", manifests = ["cluster.yaml"] }`), "string required"},
		{"a mistake in a spec", query(`query = { spec = replace(file("hooks.yaml"), "timeout:", "timout:"), manifests = "cluster.yaml" }`), "unknown field `timout`"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if out, ok := newWorkspace(t, test.hcl).apply(t); ok || !strings.Contains(strings.Join(strings.Fields(out), " "), test.want) {
				t.Errorf("no %q:\n%s", test.want, out)
			}
		})
	}
	t.Run("keys without a value count as not given", func(t *testing.T) {
		w := newWorkspace(t, query(`query = { specs = "hooks.yaml", manifests = "cluster.yaml", spec = null, fetch = null }`))
		if out, ok := w.apply(t); !ok {
			t.Error(out)
		}
	})
	t.Run("a list as JSON, and another folder", func(t *testing.T) {
		w := newWorkspace(t, query(`working_dir = "/"`+"\n"+`query = { specs = jsonencode([abspath("hooks.yaml")]), manifests = jsonencode([abspath("cluster.yaml")]), strict = true }`))
		if out, ok := w.apply(t); !ok {
			t.Error(out)
		}
	})
}

// kops' part of the page: a stand-in writes what kops writes, with kops' own code for the message.
func TestTerraformFromKops(t *testing.T) {
	dir := t.TempDir()
	for to, from := range map[string]string{"hooks.yaml": "gpu/hooks.yaml", "cluster.yaml": "mixed/cluster.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, to), []byte(example(t, from)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nset -eu\ncase $1 in\nreplace) cp \"$3\" stored.yaml ;;\nupdate) cp user_data data/aws_launch_template_gpu-a.main.example.com_user_data ;;\nesac\n"
	if err := os.WriteFile(filepath.Join(bin, "kops"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	run(t, dir, nil, "mkdir", "data")
	kopsWrites := func(manifest string) {
		t.Helper()
		message := awsUserData(t, "#!/bin/bash\nClusterName: main.example.com\nInstanceGroupName: gpu-a\n", userData(t, manifest)["gpu-a"])
		if err := os.WriteFile(filepath.Join(dir, "user_data"), []byte(message), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + bin + ":" + kopshook(t) + ":" + os.Getenv("PATH")}
	block := blocks(t, "docs/terraform.md", "sh kops")[0]

	kopsWrites(run(t, dir, nil, filepath.Join(kopshook(t), "kopshook"), "merge", "-f", "hooks.yaml", "cluster.yaml"))
	if out, ok := shell(t, dir, env, block); !ok || !strings.Contains(out, "holds what the specs say for instance group gpu-a") {
		t.Error(out)
	}
	kopsWrites(example(t, "mixed/cluster.yaml"))
	if out, ok := shell(t, dir, env, block); ok || !strings.Contains(out, "lacks: kopshook-000-gate.sh") {
		t.Errorf("kops ran before the merge, and nobody saw it: %s", out)
	}
}

// awsUserData is the message that kops makes, by kops' own code.
func awsUserData(t *testing.T, nodeup string, parts []kops.UserData) string {
	t.Helper()
	ig := &kops.InstanceGroup{Spec: kops.InstanceGroupSpec{Role: kops.InstanceGroupRoleNode, AdditionalUserData: parts}}
	message, err := resources.AWSMultipartMIME(nodeup, ig)
	if err != nil {
		t.Fatal(err)
	}
	return message
}
