package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/golden"
)

// TestGolden merges each example into the cluster of examples/mixed, some of them together for "mixed", and compares
// with golden/: the manifest, and the tree form with each script as a plain file. `make golden` writes it anew; read
// the diff as you would read that of a release.
func TestGolden(t *testing.T) {
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(repo)
	specs, err := filepath.Glob("examples/*/hooks.yaml")
	if err != nil || len(specs) < 4 {
		t.Fatalf("examples: %v, %v", specs, err)
	}
	cases := map[string][]string{"mixed": {"examples/root-ca/hooks.yaml", "examples/boot-tuning/hooks.yaml"}}
	for _, s := range specs {
		cases[filepath.Base(filepath.Dir(s))] = []string{s}
	}
	const cluster = "examples/mixed/cluster.yaml"
	for name, specs := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("golden", name)
			merged := runApp(t, "", append([]string{"merge", cluster}, specs...)...)
			golden.Check(t, filepath.Join(dir, "cluster.yaml"), []byte(merged))

			again := runApp(t, merged, append([]string{"merge", "-"}, specs...)...)
			if diff := cmp.Diff(merged, again); diff != "" {
				t.Errorf("merging twice is not merging once (-once +twice):\n%s", diff)
			}

			tree := filepath.Join(t.TempDir(), "tree")
			runApp(t, "", append([]string{"render", "-o", "tree", "--dir", tree, cluster}, specs...)...)
			goldenTree(t, filepath.Join(dir, "tree"), tree)
		})
	}
}

// runApp runs kopshook in this process and returns what it printed; it fails the test on an error.
func runApp(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := newApp(strings.NewReader(stdin), &stdout, &stderr)
	err := app.RunContext(context.Background(), optionsFirst(app, append([]string{"kopshook"}, args...)))
	if err != nil {
		t.Fatalf("kopshook %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

// goldenTree compares two folders, or makes the golden one anew.
func goldenTree(t *testing.T, want, got string) {
	t.Helper()
	if golden.Update() {
		if err := os.RemoveAll(want); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(want, os.DirFS(got)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(listFiles(t, want), listFiles(t, got)); diff != "" {
		t.Errorf("files of %s (-golden +got); run make golden if that is meant:\n%s", want, diff)
		return
	}
	for _, f := range listFiles(t, want) {
		data, err := os.ReadFile(filepath.Join(got, f))
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join(want, f), data)
	}
}

func listFiles(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path == dir && errors.Is(err, fs.ErrNotExist) {
			return nil // git keeps no empty folder
		}
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatalf("%v: run make golden", err)
	}
	slices.Sort(files)
	return files
}
