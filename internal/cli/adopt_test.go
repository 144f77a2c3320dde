package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdoptGolden adopts examples/adopt and compares with golden/adopt: the spec, what is said, and the manifest that has
// the hooks in place of the parts. `make golden` writes it anew.
func TestAdoptGolden(t *testing.T) {
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(repo)
	const example = "examples/adopt/cluster.yaml"
	data, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	manifest, spec := filepath.Join(dir, "cluster.yaml"), filepath.Join(dir, "hooks.yaml")
	if err := os.WriteFile(manifest, data, 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Run(context.Background(), []string{"kopshook", "adopt", example}, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr.String())
	}
	golden(t, "golden/adopt/hooks.yaml", stdout.String())
	golden(t, "golden/adopt/said.txt", stderr.String())

	runApp(t, "", "adopt", "-o", spec, "-w", manifest)
	written, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "golden/adopt/manifest.yaml", string(written))
	runApp(t, "", "check", "-f", spec, manifest)
}
