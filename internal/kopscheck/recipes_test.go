package kopscheck

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/kopscodecs"
	"k8s.io/kops/pkg/model/resources"
	"k8s.io/kops/util/pkg/text"

	"kopshook.dev/kopshook/examples"
	"kopshook.dev/kopshook/internal/golden"
	"kopshook.dev/kopshook/internal/report"
)

// What a worker's user data may take with hooks in a bucket, kops' own included: AWS takes 16,384. A recipe, and forty hooks,
// leave a quarter of it to what comes later; all recipes together fit.
const (
	takes = 16384
	most  = 12000
)

// worker is a group of a cloud that takes user data of any size that is measured here: merge writes nothing that does not fit.
const worker = `apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  name: nodes
  labels:
    kops.k8s.io/cluster: main.example.com
spec:
  image: ubuntu-os-cloud/ubuntu-2404-noble-amd64-v20260101
  role: Node
`

// TestUserDataOfRecipes holds the table of docs/size.md: what the recipes of `kopshook new`, and many hooks, take on an AWS
// worker, with the script that kops itself writes and in kops' own framing.
func TestUserDataOfRecipes(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	manifests := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(manifests, []byte(worker), 0o600); err != nil {
		t.Fatal(err)
	}
	script := bootstrap(t, kops.CloudProviderSpec{AWS: &kops.AWSSpec{}}, kops.InstanceGroupRoleNode, "main.example.com", authority(t), nil)
	var b strings.Builder
	b.WriteString("| on one worker | plain text | `archive: true` | `archiveURL:` |\n| --- | ---: | ---: | ---: |\n")
	row := func(name string, specs ...string) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, way := range []string{"", "  archive: true\n", "  archive: true\n  archiveURL: s3://example-kops-hooks/main\n"} {
			args := []string{"merge", manifests}
			dir := t.TempDir()
			for i, spec := range specs {
				file := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
				if err := os.WriteFile(file, []byte(strings.Replace(spec, "\nspec:\n", "\nspec:\n"+way, 1)), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "-f", file)
			}
			message, err := resources.AWSMultipartMIME(string(script), groupOf(t, kopshook(t, args...), "nodes"))
			if err != nil {
				t.Fatal(err)
			}
			n := len(message)
			limit := most
			if len(specs) > 1 {
				limit = takes
			}
			if strings.Contains(way, "URL") && n >= limit {
				t.Errorf("%s: %d bytes through a bucket, want less than %d", name, n, limit)
			}
			// certificate authorities differ by a few bytes, and the table is not to
			size := report.Thousands((n + 50) / 100 * 100)
			if n > takes {
				size = "*" + size + "*"
			}
			fmt.Fprintf(&b, " %s |", size)
		}
		b.WriteString("\n")
	}
	var all []string
	for _, name := range examples.Names() {
		spec := kopshook(t, "new", "-o", "-", "--group", "nodes", name)
		if name != "nvidia-driver-debian" && name != "nvidia-driver-cuda-repo" { // in place of nvidia-driver
			all = append(all, spec)
		}
		row("["+name+"](recipes/"+name+".md)", spec)
	}
	row(fmt.Sprintf("all %d together", len(all)), all...)
	row("40 hooks of 3 KB", forty())

	const begin, end = "<!-- recipes -->\n", "<!-- end -->\n"
	page, err := os.ReadFile("docs/size.md")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/size.md has no table between %q and %q", begin, end)
	}
	if golden.Update() {
		if err := os.WriteFile("docs/size.md", []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, b.String()); diff != "" {
		t.Errorf("docs/size.md is not what is measured; make golden writes it\n%s", diff)
	}
}

// groupOf returns an instance group of manifests as kops decodes it.
func groupOf(t *testing.T, manifests, name string) *kops.InstanceGroup {
	t.Helper()
	for _, section := range text.SplitContentToSections([]byte(manifests)) {
		object, _, err := kopscodecs.Decode(section, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ig, ok := object.(*kops.InstanceGroup); ok && ig.Name == name {
			return ig
		}
	}
	t.Fatalf("no instance group %q", name)
	return nil
}

// forty is a spec of 40 hooks of 3 KB that does not compress well.
func forty() string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: forty}\nspec:\n  selector: {names: [nodes]}\n  hooks:\n")
	for i := range 40 {
		fmt.Fprintf(&b, "  - name: configure-part-%02d\n    script: |\n      #!/bin/sh\n", i)
		for n := 10; n < 3000; n += 64 {
			fmt.Fprintf(&b, "      : %016x%016x%016x%013x\n", r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()>>12)
		}
	}
	return b.String()
}
