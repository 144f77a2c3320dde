package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/golden"
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
	golden.Check(t, "golden/adopt/hooks.yaml", stdout.Bytes())
	golden.Check(t, "golden/adopt/said.txt", stderr.Bytes())

	runApp(t, "", "adopt", "-o", spec, "-w", manifest)
	written, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "golden/adopt/manifest.yaml", written)
	runApp(t, "", "check", "-f", spec, manifest)
}

func TestAdoptWritesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	manifest, spec := filepath.Join(dir, "ig.yaml"), filepath.Join(dir, "hooks.yaml")
	const text = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\nspec:\n  additionalUserData:\n" +
		"  - name: 00-a.sh\n    type: text/x-shellscript\n    content: |\n      #!/bin/sh\n  role: Node\n"
	if err := os.WriteFile(manifest, []byte(text), 0o444); err != nil { // read-only: it cannot be written in place
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Run(context.Background(), []string{"kopshook", "adopt", "-o", spec, "-w", manifest}, strings.NewReader(""), &stdout, &stderr); code != 2 {
		t.Errorf("exit code %d\n%s", code, stderr.String())
	}
	if !strings.Contains(stderr.String(), "it is read-only\n  hint: chmod u+w "+manifest) {
		t.Errorf("it says %s", stderr.String())
	}
	if _, err := os.Stat(spec); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the spec is there: %v", err)
	}
	if data, err := os.ReadFile(manifest); err != nil || string(data) != text {
		t.Errorf("the manifest is %q, %v", data, err)
	}
}
