package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/report"
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
	t.Run("refuses what is no regular file, and writes none", func(t *testing.T) {
		dir, a, b := setup(t)
		if err := os.Remove(b); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(b, 0o600); err != nil {
			t.Fatal(err)
		}
		err := writeFiles(context.Background(), []change{{a, []byte("new")}, {b, []byte("new")}})
		if err == nil || err.Error() != b+": cannot be written in place: it is not a regular file" {
			t.Errorf("error is %v", err)
		}
		want(t, a, "old")
		leftovers(t, dir, "a", "b")
		if info, err := os.Stat(b); err != nil || info.Mode().Type() != os.ModeNamedPipe {
			t.Errorf("the FIFO is %v, %v", info, err)
		}
	})
}

func TestOwnersThatCannotBeKept(t *testing.T) {
	err := ownerError("ig.yaml", &syscall.Stat_t{Uid: 7, Gid: 8}, &os.PathError{Op: "chown", Path: ".ig.yaml.1", Err: syscall.EPERM})
	err = fileError("ig.yaml", err)
	if want := "ig.yaml: cannot be written in place: its owner 7:8 cannot be kept: operation not permitted"; err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
	if want := "run kopshook as its owner, or make the file yours: cp ig.yaml ig.yaml.new && mv ig.yaml.new ig.yaml"; report.Remedy(err) != want {
		t.Errorf("remedy is %q, want %q", report.Remedy(err), want)
	}
}

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
	fifo := filepath.Join(dir, "fifo.yaml")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := specFiles(dir); err == nil || err.Error() != fifo+": is not a regular file" {
		t.Errorf("with a FIFO: %v", err)
	}
}
