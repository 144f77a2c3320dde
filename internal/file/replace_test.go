package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/report"
)

// old makes two files that hold "old", and changes of them.
func old(t *testing.T) (dir string, a, b Change) {
	t.Helper()
	dir = t.TempDir()
	a = Change{filepath.Join(dir, "a"), []byte("old"), []byte("new a")}
	b = Change{filepath.Join(dir, "b"), []byte("old"), []byte("new b")}
	for _, c := range []Change{a, b} {
		if err := os.WriteFile(c.Name, c.Old, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir, a, b
}

func wantContent(t *testing.T, name, content string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil || string(got) != content {
		t.Errorf("%s holds %q, %v; want %q", name, got, err, content)
	}
}

func wantFiles(t *testing.T, dir string, names ...string) {
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

// cause is what an error of a file says without its name.
func cause(t *testing.T, err error, name string) string {
	t.Helper()
	var path *fs.PathError
	if !errors.As(err, &path) {
		t.Fatalf("%v is not an error of a file", err)
	}
	if path.Path != name {
		t.Errorf("the error is about %s, want %s", path.Path, name)
	}
	return path.Err.Error()
}

func TestReplace(t *testing.T) {
	t.Run("writes all and keeps the mode", func(t *testing.T) {
		dir, a, b := old(t)
		if err := Replace(t.Context(), []Change{a, b}); err != nil {
			t.Fatal(err)
		}
		wantContent(t, a.Name, "new a")
		wantContent(t, b.Name, "new b")
		if info, _ := os.Stat(a.Name); info.Mode().Perm() != 0o640 {
			t.Errorf("mode is %v, want 0640", info.Mode())
		}
		wantFiles(t, dir, "a", "b")
	})
	t.Run("writes none when one is missing", func(t *testing.T) {
		dir, a, _ := old(t)
		if err := Replace(t.Context(), []Change{a, {Name: filepath.Join(dir, "gone")}}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error is %v, want that the file does not exist", err)
		}
		wantContent(t, a.Name, "old")
		wantFiles(t, dir, "a", "b")
	})
	t.Run("writes none when one has changed since it was read", func(t *testing.T) {
		dir, a, b := old(t)
		for _, edited := range []string{"ol", "olds", "", "OLD"} {
			if err := os.WriteFile(b.Name, []byte(edited), 0o640); err != nil {
				t.Fatal(err)
			}
			err := Replace(t.Context(), []Change{a, b})
			if got := cause(t, err, b.Name); got != "has changed while kopshook was reading: it is left as it is" || report.Remedy(err) == "" {
				t.Errorf("%q: error is %v", edited, err)
			}
			wantContent(t, a.Name, "old")
			wantContent(t, b.Name, edited)
		}
		wantFiles(t, dir, "a", "b")
	})
	t.Run("takes the first back when the second rename fails", func(t *testing.T) {
		dir, a, b := old(t)
		t.Cleanup(func() { rename = os.Rename })
		rename = func(from, to string) error {
			if to == b.Name {
				return &os.LinkError{Op: "rename", Old: from, New: to, Err: errors.New("disk on fire")}
			}
			return os.Rename(from, to)
		}
		err := Replace(t.Context(), []Change{a, b})
		if got := cause(t, err, b.Name); got != "disk on fire" {
			t.Errorf("error is %v", err)
		}
		wantContent(t, a.Name, "old")
		wantContent(t, b.Name, "old")
		wantFiles(t, dir, "a", "b")
	})
	t.Run("writes none when interrupted", func(t *testing.T) {
		dir, a, b := old(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Replace(ctx, []Change{a, b}); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want context.Canceled", err)
		}
		wantContent(t, a.Name, "old")
		wantContent(t, b.Name, "old")
		wantFiles(t, dir, "a", "b")
	})
	t.Run("writes through a symbolic link and keeps it", func(t *testing.T) {
		dir, a, _ := old(t)
		link := filepath.Join(dir, "link")
		if err := os.Symlink("a", link); err != nil {
			t.Fatal(err)
		}
		if err := Replace(t.Context(), []Change{{link, a.Old, a.New}}); err != nil {
			t.Fatal(err)
		}
		wantContent(t, a.Name, "new a")
		if target, err := os.Readlink(link); err != nil || target != "a" {
			t.Errorf("the link points to %q, %v", target, err)
		}
	})
	t.Run("refuses a file that is read-only, and writes none", func(t *testing.T) {
		dir, a, b := old(t)
		if err := os.Chmod(b.Name, 0o444); err != nil {
			t.Fatal(err)
		}
		err := Replace(t.Context(), []Change{a, b})
		if got := cause(t, err, b.Name); got != "cannot be written in place: it is read-only" || report.Remedy(err) != "chmod u+w "+b.Name {
			t.Errorf("error is %v", err)
		}
		wantContent(t, a.Name, "old")
		wantFiles(t, dir, "a", "b")
	})
	t.Run("says that the folder must be writable", func(t *testing.T) {
		dir, a, _ := old(t)
		createTemp = func(string, string, fs.FileMode) (*os.File, error) {
			return nil, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}
		}
		t.Cleanup(func() { createTemp = newFile })
		err := Replace(t.Context(), []Change{a})
		if got := cause(t, err, a.Name); got != "cannot be written: its folder may not be written to" || !strings.Contains(report.Remedy(err), dir+" writable") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("names a file as a shell takes it", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "my file")
		if err := os.WriteFile(name, []byte("old"), 0o444); err != nil {
			t.Fatal(err)
		}
		err := Replace(t.Context(), []Change{{Name: name, Old: []byte("old"), New: []byte("new")}})
		if got := report.Remedy(err); got != "chmod u+w '"+name+"'" {
			t.Errorf("the remedy is %s", got)
		}
	})
}

func TestWrite(t *testing.T) {
	dir, a, _ := old(t)
	if err := Write(a.Name, a.New, 0o600); err != nil {
		t.Fatal(err)
	}
	wantContent(t, a.Name, "new a")
	if info, _ := os.Stat(a.Name); info.Mode().Perm() != 0o640 {
		t.Errorf("mode is %v, want 0640 as before", info.Mode())
	}
	if err := Write(filepath.Join(dir, "c"), []byte("c"), 0o600); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(filepath.Join(dir, "c")); info.Mode().Perm() != 0o600 {
		t.Errorf("mode of a new file is %v, want 0600", info.Mode())
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("not for a"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantContent(t, link, "not for a")
	wantContent(t, a.Name, "new a")
	if err := os.Chmod(a.Name, 0o444); err != nil {
		t.Fatal(err)
	}
	if got := cause(t, Write(a.Name, nil, 0o600), a.Name); got != "cannot be written in place: it is read-only" {
		t.Error(got)
	}
	if got := cause(t, Write(dir, nil, 0o600), dir); got != "cannot be written in place: it is not a regular file" {
		t.Error(got)
	}
	wantFiles(t, dir, "a", "b", "c", "link")
}

// What the disk and the owner of a file see, and in which order: a file is in its place only when all of it is on the disk.
func TestOrderOfWriting(t *testing.T) {
	dir, a, b := old(t)
	var did []string
	note := func(what, name string) {
		name = strings.TrimPrefix(name, dir+"/")
		if strings.HasPrefix(name, ".a.") {
			name = "tmp"
		}
		did = append(did, strings.TrimSpace(what+" "+strings.TrimPrefix(name, dir)))
	}
	syncFile = func(f *os.File) error { note("sync", f.Name()); return f.Sync() }
	rename = func(from, to string) error { note("rename", to); return os.Rename(from, to) }
	t.Cleanup(func() { syncFile, rename = (*os.File).Sync, os.Rename })
	want := []string{"sync tmp", "rename a", "sync"}
	for _, c := range []struct {
		name  string
		write func() error
	}{
		{"Replace", func() error { return Replace(t.Context(), []Change{a}) }}, // first: it finds what it has read
		{"Write", func() error { return Write(a.Name, a.New, 0o600) }},
	} {
		did = nil
		if err := c.write(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, did); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	syncFile = func(*os.File) error { return errors.New("disk on fire") }
	if err := Replace(t.Context(), []Change{b}); err == nil {
		t.Error("a file that is not on the disk is in its place")
	}
	wantContent(t, b.Name, "old")
	wantFiles(t, dir, "a", "b")
}

func TestSignalsLeaveNothingBehind(t *testing.T) {
	dir, a, _ := old(t)
	t.Cleanup(func() { // RemoveTemporary keeps it for good
		temporary.Unlock()
		clear(temporary.paths)
	})
	tmp, err := writeBeside(a.Name, []byte("half"), 0o600, owner{})
	if err != nil {
		t.Fatal(err)
	}
	folder, _, err := TempDir(dir, "fetch-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tmp); err != nil {
		t.Fatal(err)
	}
	RemoveTemporary()
	wantFiles(t, dir, "a", "b")
}

func TestNothingIsKeptOfWhatIsDone(t *testing.T) {
	_, a, b := old(t)
	if err := Replace(t.Context(), []Change{a, b}); err != nil {
		t.Fatal(err)
	}
	_, remove, err := TempDir(t.TempDir(), "fetch-")
	if err != nil {
		t.Fatal(err)
	}
	remove()
	temporary.Lock()
	defer temporary.Unlock()
	for path := range temporary.paths {
		if slices.Contains([]string{"a", "b"}, filepath.Base(path)) || strings.Contains(path, t.Name()) {
			t.Errorf("%s would be removed at a signal", path)
		}
	}
}
