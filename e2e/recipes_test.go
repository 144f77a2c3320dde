//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kopshook.dev/kopshook/examples"
	"kopshook.dev/kopshook/internal/boot"
)

// recipeBoots boot the recipes, each on one suite. Its page (docs/recipes) says what was booted and what was not.
var recipeBoots = map[string]func(t *testing.T, suite string){
	"starter": func(t *testing.T, suite string) {
		n := recipeNode(t, suite, "starter", standIns{})
		n.boot(boot.Options{}).joins().fails()
		if _, err := n.Stat("/var/lib/agent"); err != nil {
			t.Error(err)
		}
		n.boot(boot.Options{}).joins().fails()
	},
}

// TestRecipes boots every recipe of examples/recipes.
func TestRecipes(t *testing.T) {
	for _, name := range examples.Names() {
		boots := recipeBoots[name]
		if boots == nil {
			t.Errorf("recipe %s is not booted: add it to recipeBoots", name)
			continue
		}
		t.Run(name, func(t *testing.T) { onSuites(t, boots) })
	}
}

// recipeNode is a node with the hooks of a recipe, changed as recipeText does.
func recipeNode(t *testing.T, suite, name string, s standIns, replace ...string) *node {
	t.Helper()
	n := newNode(t, suite, userData(t, parts(t, recipeText(t, name, replace...))...))
	s.install(t, n)
	return n
}

// recipeText is a recipe whose selector selects everything. Pairs of old and new text change it: what it holds downloads
// to may be the stand-ins' instead.
func recipeText(t *testing.T, name string, replace ...string) string {
	t.Helper()
	text, ok := examples.Read(name)
	if !ok {
		t.Fatalf("there is no recipe %s", name)
	}
	before, rest, _ := strings.Cut(text, "\n  selector:")
	_, after, ok := strings.Cut(rest, "\n  hooks:\n")
	if !ok {
		t.Fatalf("recipe %s has no selector before its hooks", name)
	}
	text = before + "\n  selector: {}\n  hooks:\n" + after
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Errorf("recipe %s has no %q", name, replace[i])
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	return text
}

// TestRecipesAreCleanShell runs shellcheck on every script that a recipe brings.
func TestRecipesAreCleanShell(t *testing.T) {
	t.Parallel()
	var scripts []string
	for _, glob := range []string{"opt/kopshook/hooks/*/*", "bootcmd/*"} {
		found, err := filepath.Glob(filepath.Join("..", "golden", "recipes", "*", "tree", "all", glob))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(string(data), "#!/bin/sh\n") || filepath.Base(file) == "verify" {
				scripts = append(scripts, file)
			}
		}
	}
	if len(scripts) < 4 {
		t.Fatalf("only these: %v", scripts)
	}
	if out, err := exec.Command("shellcheck", append([]string{"-s", "sh"}, scripts...)...).CombinedOutput(); err != nil {
		t.Errorf("%v: this needs shellcheck (apt-get install shellcheck)\n%s", err, out)
	}
}
