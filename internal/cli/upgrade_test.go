package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/e2e/pairs"
	"kopshook.dev/kopshook/internal/golden"
)

// parts are specs that bring all that runtime v1 has onto nodes, each with the manifest that merge makes of it: hooks in
// which each two values of fields meet, and what reads the buckets and secrets of each cloud.
const parts = "internal/cli/testdata/parts"

// The specs of the pairs are those that nodes are booted with.
func TestPartsHaveEachPairOfFields(t *testing.T) {
	rows := map[string][]pairs.Row{}
	for _, r := range pairs.Cover() {
		name := "pairs"
		if r.Value("archive") != "" {
			name = "pairs-archive"
		}
		rows[name] = append(rows[name], r)
	}
	for name, rows := range rows {
		dir := filepath.Join(repository(t), parts, name)
		files := pairs.Sources(rows, 0)
		files["hooks.yaml"] = pairs.Spec(name, name == "pairs-archive", rows, 0)
		for file, content := range files {
			golden.Check(t, filepath.Join(dir, file), []byte(content))
		}
		for _, file := range listFiles(t, dir) {
			if _, ok := files[file]; !ok && file != "cluster.yaml" {
				t.Errorf("%s/%s: no hook names it", dir, file)
			}
		}
	}
}

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
			manifests := map[string]string{} // by the spec
			for _, of := range []struct{ specs, manifest string }{
				{"examples/*/hooks.yaml", "golden/NAME/cluster.yaml"},
				{"parts/*/hooks.yaml", "parts/NAME/cluster.yaml"},
				{parts + "/*/hooks.yaml", parts + "/NAME/cluster.yaml"},
			} {
				specs, err := filepath.Glob(of.specs)
				if err != nil {
					t.Fatal(err)
				}
				for _, spec := range specs {
					manifests[spec] = strings.Replace(of.manifest, "NAME", filepath.Base(filepath.Dir(spec)), 1)
				}
			}
			if len(manifests) < 10 {
				t.Fatalf("this release has few specs: %v", manifests)
			}
			for spec, manifest := range manifests {
				made, err := os.ReadFile(manifest)
				if err != nil {
					t.Fatal(err)
				}
				now := runApp(t, "", "merge", manifest, spec)
				if release == repo && golden.Update() {
					golden.Check(t, manifest, []byte(now))
				} else if diff := cmp.Diff(string(made), now); diff != "" {
					t.Errorf("%s is not what this release made, so kops would replace its nodes (-release +now):\n%s", manifest, diff)
				}
				forecast := runApp(t, "", "check", "--forecast", manifest, spec)
				if !strings.Contains(forecast, "merging changes nothing") {
					t.Errorf("%s: %s", manifest, forecast)
				}
			}
		})
	}
}
