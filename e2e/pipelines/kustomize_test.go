//go:build e2e

package pipelines

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
)

const kustomizeVersion = "v5.7.1"

// tool builds a program of a Go module, once for this user, outside of kopshook's own module, and returns the folder
// that it is in.
func tool(t *testing.T, pkg, version string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(strings.TrimSuffix(pkg, "/v5"))
	dir := filepath.Join(cache, "kopshook-pipelines", name+"-"+version)
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		return dir
	}
	start := time.Now()
	run(t, t.TempDir(), []string{"GOBIN=" + dir, "GOFLAGS="}, "go", "install", pkg+"@"+version)
	t.Logf("building %s took %v; it is kept in %s", name, time.Since(start).Round(time.Second), dir)
	return dir
}

func kustomize(t *testing.T) string {
	return tool(t, "sigs.k8s.io/kustomize/kustomize/v5", kustomizeVersion)
}

// build runs kustomize on a folder with these files.
func kustomizeBuild(t *testing.T, files map[string]string) (out string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return shell(t, dir, []string{"PATH=" + kustomize(t) + ":" + kopshook(t) + ":" + os.Getenv("PATH")},
		"kustomize build --enable-alpha-plugins --enable-exec . > out.yaml || { cat out.yaml; exit 1; }; cat out.yaml")
}

// userData returns the parts of the instance groups in a manifest.
func userData(t *testing.T, manifest string) map[string][]kops.UserData {
	t.Helper()
	f, err := instancegroups.Parse("manifest", []byte(manifest))
	if err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
	parts := map[string][]kops.UserData{}
	for _, g := range f.Groups() {
		parts[g.Name] = g.UserData()
	}
	return parts
}

func example(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository(t), "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// asTransformer gives a spec the annotation that makes it one.
func asTransformer(spec string) string {
	return strings.Replace(spec, "metadata:\n", "metadata:\n  annotations:\n    config.kubernetes.io/function: |\n      exec:\n        path: kopshook\n        args: [fn]\n", 1)
}

func TestKustomizeMakesWhatMergeMakes(t *testing.T) {
	for _, spec := range []string{"gpu", "boot-tuning", "local-nvme"} {
		t.Run(spec, func(t *testing.T) {
			hooks, cluster := example(t, spec+"/hooks.yaml"), example(t, "mixed/cluster.yaml")
			out, ok := kustomizeBuild(t, map[string]string{
				"kustomization.yaml": "resources: [cluster.yaml]\ntransformers: [hooks.yaml]\n",
				"cluster.yaml":       cluster,
				"hooks.yaml":         asTransformer(hooks),
			})
			if !ok {
				t.Fatal(out)
			}
			merged := run(t, repository(t), nil, filepath.Join(kopshook(t), "kopshook"), "merge", "examples/"+spec+"/hooks.yaml", "examples/mixed/cluster.yaml")
			if diff := cmp.Diff(userData(t, merged), userData(t, out)); diff != "" {
				t.Errorf("-merge +kustomize:\n%s", diff)
			}
		})
	}
}

func TestKustomizeDocumentation(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(repository(t), "examples"))); err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks(t, "docs/kustomize.md", "sh kustomize") {
		if out, ok := shell(t, dir, []string{"PATH=" + kustomize(t) + ":" + kopshook(t) + ":" + os.Getenv("PATH")}, block); !ok {
			t.Error(out)
		}
	}
	// the example is what the page shows
	shown := blocks(t, "docs/kustomize.md", "yaml")
	if !strings.HasSuffix(strings.TrimSpace(example(t, "kustomize/kustomization.yaml")), strings.TrimSpace(strings.TrimPrefix(shown[1], "# kustomization.yaml\n"))) {
		t.Errorf("examples/kustomize/kustomization.yaml is not what docs/kustomize.md shows:\n%s", shown[1])
	}
}

func TestKustomizeWithSeveralFunctions(t *testing.T) {
	groups := example(t, "kustomize/instancegroups.yaml")
	gpu := example(t, "kustomize/hooks-gpu.yaml")
	nodes := strings.NewReplacer("gpu-*", "nodes", "name: gpu\n", "name: nodes\n", "name: hugepages", "name: other").Replace(gpu)
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kopshook\n  annotations:\n    config.kubernetes.io/function: |\n      exec:\n        path: kopshook\n        args: [fn, -f, gpu.yaml, -f, more.yaml]\n"
	more := strings.NewReplacer("name: gpu\n", "name: more\n", "name: hugepages", "name: more-hugepages").Replace(gpu)

	t.Run("for different instance groups", func(t *testing.T) {
		out, ok := kustomizeBuild(t, map[string]string{
			"kustomization.yaml": "resources: [groups.yaml]\ntransformers: [gpu.yaml, nodes.yaml]\n", "groups.yaml": groups, "gpu.yaml": gpu, "nodes.yaml": nodes,
		})
		if !ok || !strings.Contains(out, "kopshook-500-hugepages.yaml") || !strings.Contains(out, "kopshook-500-other.yaml") {
			t.Error(out)
		}
	})
	t.Run("one must not replace the hooks of another", func(t *testing.T) {
		out, ok := kustomizeBuild(t, map[string]string{
			"kustomization.yaml": "resources: [groups.yaml]\ntransformers: [gpu.yaml, more.yaml]\n", "groups.yaml": groups, "gpu.yaml": gpu, "more.yaml": more,
		})
		if ok || !strings.Contains(out, `instance group "gpu-a" has the hook "hugepages" already`) {
			t.Error(out)
		}
	})
	t.Run("several specs as files of one", func(t *testing.T) {
		out, ok := kustomizeBuild(t, map[string]string{
			"kustomization.yaml": "resources: [groups.yaml]\ntransformers: [config.yaml]\n", "groups.yaml": groups, "gpu.yaml": gpu, "more.yaml": more, "config.yaml": config,
		})
		if !ok || !strings.Contains(out, "kopshook-500-hugepages.yaml") || !strings.Contains(out, "kopshook-500-more-hugepages.yaml") {
			t.Error(out)
		}
	})
}

func TestKustomizeShowsMistakes(t *testing.T) {
	files := map[string]string{
		"kustomization.yaml": "resources: [groups.yaml]\ntransformers: [gpu.yaml]\n",
		"groups.yaml":        example(t, "kustomize/instancegroups.yaml"),
		"gpu.yaml":           strings.Replace(example(t, "kustomize/hooks-gpu.yaml"), "run: every-boot", "runs: every-boot", 1),
	}
	out, ok := kustomizeBuild(t, files)
	if ok || !strings.Contains(out, "InstanceGroupHooks gpu: error: unknown field `runs` (did you mean `run`?)") {
		t.Error(out)
	}
	files["gpu.yaml"] = example(t, "kustomize/hooks-gpu.yaml")
	files["groups.yaml"] = strings.Replace(files["groups.yaml"], "maxSize: 8", "maxSise: 8", 1)
	out, ok = kustomizeBuild(t, files)
	if ok || !strings.Contains(out, `InstanceGroup gpu-a: error: kops has no field "maxSise"`) {
		t.Error(out)
	}
}

// What is not ours comes out as it would without us, in a build of hundreds of objects.
func TestKustomizeKeepsEverythingElse(t *testing.T) {
	var resources strings.Builder
	for i := range 200 {
		fmt.Fprintf(&resources, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c%d\n  annotations: {a.b/c: \"yes\", n: \"010\"}\ndata:\n  text: |2\n      indented\n     less\n\n  odd: \"\\u0085 \\u2028 \\t\\e\"\n", i)
	}
	for i := range 30 {
		fmt.Fprintf(&resources, "---\napiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: other-%d\nspec:\n  role: Node\n  image: i\n", i)
	}
	files := map[string]string{"kustomization.yaml": "resources: [r.yaml]\n", "r.yaml": strings.TrimPrefix(resources.String(), "---\n")}
	before, ok := kustomizeBuild(t, files)
	if !ok {
		t.Fatal(before)
	}
	files["kustomization.yaml"] += "transformers: [gpu.yaml]\n"
	files["gpu.yaml"] = example(t, "kustomize/hooks-gpu.yaml")
	start := time.Now()
	after, ok := kustomizeBuild(t, files)
	t.Logf("with kopshook it took %v", time.Since(start).Round(time.Millisecond))
	if _, after, _ = strings.Cut(after, "apiVersion: "); !ok || "apiVersion: "+after != before {
		t.Errorf("something else changed: %d bytes, %d before", len(after), len(before))
	}
}
