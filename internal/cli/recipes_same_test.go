package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// TestRecipesAndExamplesAgree holds the hooks of recipes to those of the examples that have them, too.
func TestRecipesAndExamplesAgree(t *testing.T) {
	t.Chdir(repository(t))
	examples := map[string]string{
		"local-nvme":               "local-nvme",
		"nvidia-driver":            "gpu",
		"nvidia-container-toolkit": "gpu",
	}
	for recipe, example := range examples {
		t.Run(recipe, func(t *testing.T) {
			theirs := hooksOf(t, filepath.Join("examples", example, "hooks.yaml"))
			for name, ours := range hooksOf(t, filepath.Join("examples", "recipes", recipe+".yaml")) {
				if diff := cmp.Diff(ours, theirs[name]); diff != "" {
					t.Errorf("hook %s (-recipe +example):\n%s", name, diff)
				}
			}
		})
	}
}

// hookText is what a hook brings to a node.
type hookText struct {
	Script, Verify string
	Env            map[string]string
	Files          []hookspec.File
}

// hooksOf reads the hooks of the spec in a file, by their names.
func hooksOf(t *testing.T, file string) map[string]hookText {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	docs := hookspec.Decode(file, data, &r)
	if len(r.Findings) > 0 || len(docs) != 1 {
		t.Fatalf("%s: %d specs, %v", file, len(docs), r.Findings)
	}
	hooks := map[string]hookText{}
	for _, h := range docs[0].Spec.Spec.Hooks {
		text := hookText{Env: h.Env, Files: h.Files}
		if h.Script != nil {
			text.Script = *h.Script
		}
		if h.Verify != nil {
			text.Verify = *h.Verify
		}
		hooks[h.Name] = text
	}
	return hooks
}
