//go:build unix

package file

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/report"
)

func TestReadRefusesWhatMayNeverEnd(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Symlink("/dev/zero", at("zero")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("full"), []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("larger"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"fifo": "is a FIFO", "socket": "is a socket", "zero": "is a device", ".": "is a folder", "larger": "is larger than 4 bytes",
		"gone": "no such file or directory",
	} {
		done := make(chan error, 1)
		go func() {
			_, err := Read(at(name), 4)
			done <- err
		}()
		select {
		case err := <-done:
			if got := cause(t, err, at(name)); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is still being read", name)
		}
	}
	if got, err := Read(at("full"), 4); err != nil || string(got) != "1234" {
		t.Errorf("a file of exactly the limit: %q, %v", got, err)
	}
}

func TestReplaceRefusesAFIFO(t *testing.T) {
	dir, a, b := old(t)
	if err := os.Remove(b.Name); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(b.Name, 0o600); err != nil {
		t.Fatal(err)
	}
	err := Replace(t.Context(), []Change{a, b})
	if got := cause(t, err, b.Name); got != "cannot be written in place: it is not a regular file" {
		t.Errorf("error is %v", err)
	}
	wantContent(t, a.Name, "old")
	wantFiles(t, dir, "a", "b")
}

// A file that belongs to somebody else stays theirs under sudo; whoever cannot give files away is told so.
func TestOwnerStays(t *testing.T) {
	dir, a, _ := old(t)
	info, err := os.Stat(a.Name)
	if err != nil {
		t.Fatal(err)
	}
	mine := ownerOf(info)
	t.Cleanup(func() { chown = (*os.File).Chown })
	var given []owner
	chown = func(f *os.File, uid, gid int) error {
		given = append(given, owner{uid, gid, true})
		return nil
	}
	if _, err := writeBeside(a.Name, nil, 0o600, mine); err != nil {
		t.Fatal(err)
	}
	theirs := owner{mine.uid + 7, mine.gid + 8, true}
	if _, err := writeBeside(a.Name, nil, 0o600, theirs); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]owner{theirs}, given, cmp.AllowUnexported(owner{})); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	chown = func(f *os.File, uid, gid int) error {
		return &os.PathError{Op: "chown", Path: f.Name(), Err: syscall.EPERM}
	}
	t.Chdir(dir)
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = writeBeside("ig.yaml", nil, 0o600, owner{7, 8, true})
	if err == nil || err.Error() != "cannot be written in place: its owner 7:8 cannot be kept: operation not permitted" {
		t.Errorf("error is %v", err)
	}
	if want := "run kopshook as its owner, or make the file yours: cp ig.yaml ig.yaml.new && mv ig.yaml.new ig.yaml"; report.Remedy(err) != want {
		t.Errorf("remedy is %q, want %q", report.Remedy(err), want)
	}
	after, err := os.ReadDir(dir)
	if err != nil || len(after) != len(before) {
		t.Errorf("left behind: %v, %v", after, err)
	}
	if os.Geteuid() != 0 {
		return
	}
	chown = (*os.File).Chown
	if err := os.Chown(a.Name, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	if err := Replace(t.Context(), []Change{a}); err != nil {
		t.Fatal(err)
	}
	if err := Write(a.Name, a.New, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err = os.Stat(a.Name)
	if err != nil || ownerOf(info) != (owner{1234, 2345, true}) || info.Mode().Perm() != 0o640 {
		t.Errorf("owner %v, mode %v, %v", ownerOf(info), info.Mode(), err)
	}
}

// A new file is for whom the umask says, one that was there before is for whom it was.
func TestWriteKeepsToTheUmask(t *testing.T) {
	dir := t.TempDir()
	defer syscall.Umask(syscall.Umask(0o027))
	for name, mode := range map[string]fs.FileMode{"new": 0o640, "private": 0o600, "open": 0o666} {
		path := filepath.Join(dir, name)
		if name != "new" {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := Write(path, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != mode {
			t.Errorf("%s: mode %o, want %o", name, info.Mode(), mode)
		}
	}
}
