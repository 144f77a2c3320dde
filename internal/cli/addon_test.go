package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGoldenAddon compares the addon of examples/addon for the cluster of examples/mixed with golden/addon/kops.
func TestGoldenAddon(t *testing.T) {
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(repo)
	args := []string{"addon", "--status", "examples/addon/hooks.yaml", "examples/mixed/cluster.yaml"}
	dir := filepath.Join(t.TempDir(), "addon")
	runApp(t, "", append(args, "-o", dir)...)
	goldenTree(t, filepath.Join("golden", "addon", "kops"), dir)

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !regexp.MustCompile(`^kopshook-[0-9a-f]{12}\.yaml$`).MatchString(e.Name()) {
			continue
		}
		manifest, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(manifest), runApp(t, "", append(args, "-o", "objects")...)); diff != "" {
			t.Errorf("-o objects differs from the manifest of -o DIR (-manifest +objects)\n%s", diff)
		}
		return
	}
	t.Errorf("no manifest among %v", entries)
}
