package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpgradingReplacesNoMachine merges the specs of each release into the manifests that it made of them
// (golden/releases, kept by `make keep-golden`): no byte may change, or kops would replace machines because of a new
// kopshook alone. The tree itself stands for the next release.
func TestUpgradingReplacesNoMachine(t *testing.T) {
	repo := repository(t)
	releases, err := filepath.Glob(filepath.Join(repo, "golden", "releases", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range append(releases, repo) {
		t.Run(filepath.Base(release), func(t *testing.T) {
			t.Chdir(release)
			specs, err := filepath.Glob("examples/*/hooks.yaml")
			if err != nil || len(specs) == 0 {
				t.Fatal(specs, err)
			}
			for _, spec := range specs {
				manifest := filepath.Join("golden", filepath.Base(filepath.Dir(spec)), "cluster.yaml")
				made, err := os.ReadFile(manifest)
				if err != nil {
					t.Fatal(err)
				}
				now := runApp(t, "", "merge", manifest, spec)
				if diff := cmp.Diff(string(made), now); diff != "" {
					t.Errorf("%s is not what this release made, so kops would replace its nodes (-release +now):\n%s", manifest, diff)
				}
				forecast := runApp(t, "", "check", "--forecast", manifest, spec)
				if !strings.Contains(forecast, "kops will replace no node") {
					t.Errorf("%s: %s", manifest, forecast)
				}
			}
		})
	}
}
