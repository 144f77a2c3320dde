package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteFiles(t *testing.T) {
	setup := func(t *testing.T) (dir, a, b string) {
		dir = t.TempDir()
		a, b = filepath.Join(dir, "a"), filepath.Join(dir, "b")
		for _, f := range []string{a, b} {
			if err := os.WriteFile(f, []byte("old"), 0o640); err != nil {
				t.Fatal(err)
			}
		}
		return dir, a, b
	}
	want := func(t *testing.T, file, content string) {
		t.Helper()
		got, err := os.ReadFile(file)
		if err != nil || string(got) != content {
			t.Errorf("%s holds %q, %v; want %q", file, got, err, content)
		}
	}
	leftovers := func(t *testing.T, dir string, names ...string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("files in the folder (-want +got):\n%s", diff)
		}
	}

	t.Run("writes all and keeps the mode", func(t *testing.T) {
		dir, a, b := setup(t)
		if err := writeFiles(context.Background(), []change{{a, []byte("new a")}, {b, []byte("new b")}}); err != nil {
			t.Fatal(err)
		}
		want(t, a, "new a")
		want(t, b, "new b")
		if info, _ := os.Stat(a); info.Mode().Perm() != 0o640 {
			t.Errorf("mode is %v, want 0640", info.Mode())
		}
		leftovers(t, dir, "a", "b")
	})
	t.Run("writes none when one is missing", func(t *testing.T) {
		dir, a, _ := setup(t)
		if err := writeFiles(context.Background(), []change{{a, []byte("new")}, {filepath.Join(dir, "gone"), nil}}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error is %v, want that the file does not exist", err)
		}
		want(t, a, "old")
		leftovers(t, dir, "a", "b")
	})
	t.Run("takes the first back when the second rename fails", func(t *testing.T) {
		dir, a, b := setup(t)
		rename = func(from, to string) error {
			if to == b {
				return &os.LinkError{Op: "rename", Old: from, New: to, Err: errors.New("disk on fire")}
			}
			return os.Rename(from, to)
		}
		defer func() { rename = os.Rename }()
		err := writeFiles(context.Background(), []change{{a, []byte("new a")}, {b, []byte("new b")}})
		if err == nil || err.Error() != b+": disk on fire" {
			t.Errorf("error is %v", err)
		}
		want(t, a, "old")
		want(t, b, "old")
		leftovers(t, dir, "a", "b")
	})
	t.Run("writes none when interrupted", func(t *testing.T) {
		dir, a, b := setup(t)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := writeFiles(ctx, []change{{a, []byte("new a")}, {b, []byte("new b")}}); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want context.Canceled", err)
		}
		want(t, a, "old")
		want(t, b, "old")
		leftovers(t, dir, "a", "b")
	})
	t.Run("writes through a symbolic link and keeps it", func(t *testing.T) {
		dir, a, _ := setup(t)
		link := filepath.Join(dir, "link")
		if err := os.Symlink("a", link); err != nil {
			t.Fatal(err)
		}
		if err := writeFiles(context.Background(), []change{{link, []byte("new")}}); err != nil {
			t.Fatal(err)
		}
		want(t, a, "new")
		if target, err := os.Readlink(link); err != nil || target != "a" {
			t.Errorf("the link points to %q, %v", target, err)
		}
	})
}
