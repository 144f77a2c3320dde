package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/examples"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"

	"kopshook.dev/kopshook/internal/golden"
)

// TestRecipes holds every file of examples/recipes to what docs/recipes promises, and its tree to golden/recipes.
// What boots, and what shellcheck says, stands in e2e/recipes_test.go. `make golden` writes trees and the list of pages.
func TestRecipes(t *testing.T) {
	t.Chdir(repository(t))
	files, err := filepath.Glob("examples/recipes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		names = append(names, name)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r report.Report
			docs := hookspec.Decode(file, data, &r)
			for _, f := range r.Findings {
				t.Errorf("%s: %s", f.Position, f.Message)
			}
			if t.Failed() || len(docs) != 1 {
				t.Fatalf("%d specs, want one", len(docs))
			}
			spec := docs[0].Spec
			if spec.Metadata.Name != name {
				t.Errorf("metadata.name is %s", spec.Metadata.Name)
			}
			if spec.Spec.Runtime != "v1" {
				t.Errorf("runtime is %q: recipes name the newest", spec.Spec.Runtime)
			}
			checkHead(t, name, string(data))
			for _, h := range spec.Spec.Hooks {
				checkHook(t, h)
			}
			checkPage(t, name)

			manifest := filepath.Join(t.TempDir(), "ig.yaml")
			if err := os.WriteFile(manifest, []byte(fitting(spec.Spec.Selector)), 0o666); err != nil {
				t.Fatal(err)
			}
			merged := runApp(t, "", "merge", manifest, file)
			if diff := cmp.Diff(merged, runApp(t, merged, "merge", "-", file)); diff != "" {
				t.Errorf("merging twice is not merging once (-once +twice):\n%s", diff)
			}
			// also that it is not too large for AWS (KH082), reads as a script (KH060), and waits for apt's lock (KH061)
			runApp(t, "", "lint", "--severity", "info", manifest, file)

			tree := filepath.Join(t.TempDir(), "tree")
			runApp(t, "", "render", "-o", "tree", "--dir", tree, manifest, file)
			os.RemoveAll(filepath.Join(tree, "all", "opt", "kopshook", "bin")) // golden/gpu has the runner
			goldenTree(t, filepath.Join("golden", "recipes", name, "tree"), tree)
		})
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, examples.Names()); diff != "" {
		t.Errorf("recipes (-folder +embedded):\n%s", diff)
	}
	golden.Check(t, filepath.Join("docs", "recipes", "README.md"), []byte(recipePages()))
}

// fitting is the manifest of an instance group that the selector selects: "gpu-*" selects gpu-a.
func fitting(s *hookspec.Selector) string {
	name := "nodes"
	if len(s.Names) > 0 {
		name = strings.ReplaceAll(s.Names[0], "*", "a")
	}
	text := fmt.Sprintf(`apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  labels:
    kops.k8s.io/cluster: main.example.com
  name: %s # drivers take their time, kopshook: ignore=KH092
spec:
  image: ssm:/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id
  machineType: m7i.large
  maxSize: 2
  minSize: 1
  role: Node
`, name)
	if len(s.NodeLabels) > 0 {
		text += "  nodeLabels:\n"
		for _, key := range slices.Sorted(maps.Keys(s.NodeLabels)) {
			text += fmt.Sprintf("    %q: %q\n", key, s.NodeLabels[key])
		}
	}
	return text + "  subnets:\n  - us-east-1a\n"
}

// checkHead looks at the comment that a recipe begins with: the editors' line, the summary, what kops has, the sources.
func checkHead(t *testing.T, name, text string) {
	t.Helper()
	head, _, _ := strings.Cut(text, "\napiVersion: ")
	lines := strings.Split(head, "\n")
	if want := "# yaml-language-server: $schema=../../docs/schema/v1alpha1.json"; lines[0] != want {
		t.Errorf("line 1 is %q, want %q", lines[0], want)
	}
	if len(lines) < 4 || len(lines[1]) > 90 || strings.HasSuffix(lines[1], ".") || lines[2] != "#" {
		t.Errorf("line 2 is the summary, of at most 88 characters and without a full stop, and line 3 is empty:\n%s", head)
	}
	want := []string{"# In kops: ", "# Sources:\n#   https://"}
	if name == examples.Starter {
		want = want[:1]
	}
	for _, w := range want {
		if !strings.Contains(head, "\n"+w) {
			t.Errorf("the comment has no line %q:\n%s", w, head)
		}
	}
	for i, line := range strings.Split(text, "\n") {
		if len(line) > 140 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) || strings.HasSuffix(line, " ") {
			t.Errorf("line %d: is longer than 140 characters, or has other than plain ASCII: %q", i+1, line)
		}
	}
}

// careless is what takes software from a network unseen, or leaves a node half done.
var careless = regexp.MustCompile(`trusted=yes|allow-unauthenticated|AllowUnauthenticated|AllowInsecure|--recv-keys|curl[^\n]*(-k|--insecure) |no-check-certificate|dpkg -i|dpkg --install|apt-key`)

// checkHook looks at what lint does not: lint knows what is wrong, not what is careless in a recipe that many copy.
func checkHook(t *testing.T, h hookspec.Hook) {
	t.Helper()
	isBoot := slices.Contains(h.Phase, hookspec.Boot)
	if h.Verify == nil && !isBoot && !slices.Contains(h.Phase, hookspec.PreShutdown) {
		t.Errorf("hook %s has no verify", h.Name)
	}
	for _, s := range []*string{h.Script, h.Verify} {
		if s == nil {
			continue
		}
		if strings.HasPrefix(*s, "#!") && !strings.HasPrefix(*s, "#!/bin/sh\nset -eu\n") {
			t.Errorf("hook %s has a script that does not begin with #!/bin/sh and set -eu:\n%s", h.Name, *s)
		}
		if bad := careless.FindString(*s); bad != "" {
			t.Errorf("hook %s: %s", h.Name, bad)
		}
		for line := range strings.Lines(*s) {
			if strings.Contains(line, "apt-get ") && !strings.Contains(line, "DPkg::Lock::Timeout=") {
				t.Errorf("hook %s does not wait for apt's lock: %s", h.Name, line)
			}
		}
		if strings.Contains(*s, "apt-get ") && !strings.Contains(*s, "export DEBIAN_FRONTEND=noninteractive") {
			t.Errorf("hook %s: apt may ask", h.Name)
		}
	}
	for _, f := range h.Files {
		if len(f.URL) > 0 && f.SHA256 == nil {
			t.Errorf("hook %s downloads %s without a checksum", h.Name, f.Path)
		}
		if f.Content == nil {
			continue
		}
		if bad := careless.FindString(*f.Content); bad != "" {
			t.Errorf("hook %s, %s: %s", h.Name, f.Path, bad)
		}
		if strings.HasSuffix(f.Path, ".sources") && !strings.Contains(*f.Content, "\nSigned-By: /") {
			t.Errorf("hook %s: %s does not pin its key with Signed-By", h.Name, f.Path)
		}
		if strings.HasSuffix(f.Path, ".list") && !strings.HasPrefix(*f.Content, "deb [signed-by=/") {
			t.Errorf("hook %s: %s does not pin its key with signed-by", h.Name, f.Path)
		}
	}
}

// pageHeadings are those of each recipe's page.
var pageHeadings = []string{"What you get", "Use it", "What to change", "In kops", "What was booted", "Sources"}

func checkPage(t *testing.T, name string) {
	t.Helper()
	page := filepath.Join("docs", "recipes", name+".md")
	data, err := os.ReadFile(page)
	if err != nil {
		t.Error(err)
		return
	}
	var headings []string
	for line := range strings.Lines(string(data)) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			headings = append(headings, strings.TrimSpace(h))
		}
	}
	want := pageHeadings
	if name == examples.Starter {
		want = slices.DeleteFunc(slices.Clone(want), func(h string) bool { return h == "Sources" })
	}
	if diff := cmp.Diff(want, headings); diff != "" {
		t.Errorf("headings of %s (-want +got):\n%s", page, diff)
	}
	if !strings.HasPrefix(string(data), "# "+name+"\n") || !strings.Contains(string(data), "kopshook new "+name) {
		t.Errorf("%s does not begin with the recipe's name, or does not show kopshook new %s", page, name)
	}
}

// recipePages is docs/recipes/README.md.
func recipePages() string {
	var b strings.Builder
	b.WriteString(`# Recipes

Complete specs for what nodes often need. ` + "`kopshook new RECIPE`" + ` writes one into the current folder; read it, change it,
keep it in git. The file is yours: an upgrade of kopshook does not change it, so it changes no node.

` + "```sh" + `
kopshook new nvidia-driver --group gpu-a
kopshook merge -w nvidia-driver.yaml cluster.yaml
kopshook check nvidia-driver.yaml cluster.yaml
` + "```" + `

` + "```sh setup" + `
sudo kopshook try --group gpu-a cluster.yaml
` + "```" + `

` + "`kopshook new --list` prints the table below." + `

Each recipe can run more than once, checks its own result, waits for apt's lock, and verifies the checksum or signature
of everything that it downloads. Its page says when a field of kops is the better choice, what was tested on a booted
node, and what was not.

| recipe | |
| --- | --- |
`)
	for _, r := range examples.List() {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", r.Name, r.Name, r.Summary)
	}
	return b.String()
}
