package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpecFilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yaml", "a.json", "c.txt", ".d.yaml", "e"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("e", filepath.Join(dir, "link.yaml")), os.Mkdir(filepath.Join(dir, "sub.yaml"), 0o700)); err != nil {
		t.Fatal(err)
	}
	got, err := specFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.yaml"), filepath.Join(dir, "link.yaml")}, got); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
}
