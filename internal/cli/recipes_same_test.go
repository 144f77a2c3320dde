package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
				if example == "gpu" { // for Ubuntu alone: bytes are scarce
					ours.Script = strings.Replace(dnfBranch.ReplaceAllString(ours.Script, ""), "neither dnf nor dpkg", "no dpkg", 1)
				}
				if diff := cmp.Diff(ours, theirs[name]); diff != "" {
					t.Errorf("hook %s (-recipe +example):\n%s", name, diff)
				}
			}
		})
	}
}

var dnfBranch = regexp.MustCompile(`(?s)if command -v dnf; then\n.*?\nfi\n`)

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
