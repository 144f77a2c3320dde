//go:build e2e

package pipelines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// kpt's module is not one that `go install` builds everywhere, so it is tested where it is installed.
func TestKpt(t *testing.T) {
	if _, err := exec.LookPath("kpt"); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: kpt is not tested: it is not on PATH")
		t.Skip("kpt is not on PATH")
	}
	t.Run("documentation", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(repository(t), "examples"))); err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks(t, "docs/kustomize.md", "sh kpt") {
			if out, ok := shell(t, dir, nil, block); !ok {
				t.Error(out)
			}
		}
		results := run(t, dir, nil, "cat", "results/results.yaml")
		if !strings.Contains(results, "path: spec.additionalUserData") || !strings.Contains(results, "name: gpu-a") {
			t.Errorf("results:\n%s", results)
		}
		again, ok := shell(t, dir, nil, "cp -R package before; kpt fn eval package --exec 'kopshook fn' && diff -r before package")
		if !ok {
			t.Errorf("a second run changes something: %s", again)
		}
	})
	t.Run("sources beside a spec, options, and mistakes", func(t *testing.T) {
		dir := t.TempDir()
		files := map[string]string{
			"groups.yaml": example(t, "kustomize/instancegroups.yaml"),
			"hooks.yaml":  "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata:\n  name: a\nspec:\n  selector: {names: [gpu-*]}\n  hooks:\n  - name: a\n    source: ./a.sh\n",
			"a.sh":        "#!/bin/sh\necho from a file\n",
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if out, ok := shell(t, dir, nil, "kpt fn eval . --exec 'kopshook fn' -- strict=true && grep -q 'echo from a file' groups.yaml"); !ok {
			t.Error(out)
		}
		out, ok := shell(t, dir, nil, "sed -i 's/source:/sorce:/' hooks.yaml && kpt fn eval . --exec 'kopshook fn'")
		if ok || !strings.Contains(out, "spec.hooks[0].sorce: unknown field `sorce`") {
			t.Error(out)
		}
	})
}
