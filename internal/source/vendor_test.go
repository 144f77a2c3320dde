package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVendor(t *testing.T) {
	files := map[string]string{"/x.sh": "#!/bin/sh\n", "/y.sh": "#!/bin/sh\necho y\n"}
	srv := serve(t, files)
	x, y := srv.URL+"/x.sh", srv.URL+"/y.sh"
	spec := specIn(t, nil)
	l := testLoader(t)
	if err := lockAll(t, l, spec, x, y); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(spec), "vendor")
	vendor := func(sources ...string) error {
		t.Helper()
		changes, err := again(l).Vendor(context.Background(), refsOf(spec, sources...), dir)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if err := c.Write(); err != nil {
				t.Fatal(err)
			}
		}
		return nil
	}
	if err := vendor(x, y); err != nil {
		t.Fatal(err)
	}
	below := func() []string {
		var names []string
		for _, f := range filesBelow(t, dir) {
			rel, _ := filepath.Rel(dir, f)
			names = append(names, rel)
		}
		return names
	}
	if diff := cmp.Diff([]string{vendorName(x) + "/x.sh", vendorName(y) + "/y.sh", "LOCKFILES", "SHA256SUMS"}, below()); diff != "" {
		t.Error(diff)
	}
	lock, err := readLock(lockPath(spec))
	if err != nil || lock.Vendor != "vendor" {
		t.Errorf("vendor: %q, %v", lock.Vendor, err)
	}
	offline := func() *Loader {
		l := testLoader(t)
		l.Offline = true
		return l
	}
	t.Run("a copy that was changed is refused", func(t *testing.T) {
		copied := filepath.Join(dir, vendorName(x), "x.sh")
		defer os.WriteFile(copied, []byte(files["/x.sh"]), 0o644)
		os.WriteFile(copied, []byte("#!/bin/sh\nrm -rf /\n"), 0o644)
		_, err := offline().Load(context.Background(), Ref{spec, x, true})
		want := fmt.Sprintf("error: source %q: its copy in %s is not what kopshook.lock.yaml says\nhint: run `kopshook vendor` again, or take back what was changed there\n", x, filepath.Dir(copied))
		if diff := cmp.Diff(want, got(nil, err)); diff != "" {
			t.Error(diff)
		}
		os.Remove(copied)
		os.Symlink("/etc/passwd", copied)
		defer os.Remove(copied)
		_, err = offline().Load(context.Background(), Ref{spec, x, true})
		want = fmt.Sprintf("error: source %q: its copy in %s: \"x.sh\" is not a regular file\nhint: run `kopshook vendor` again\n", x, filepath.Dir(copied))
		if diff := cmp.Diff(want, got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("again, with less, takes out what is no longer named", func(t *testing.T) {
		if err := vendor(y); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{vendorName(y) + "/y.sh", "LOCKFILES", "SHA256SUMS"}, below()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a folder with other files is refused", func(t *testing.T) {
		dir = filepath.Join(filepath.Dir(spec), "mine")
		write(t, dir, map[string]string{"precious": "x"})
		want := "error: " + dir + " holds files that kopshook did not put there\nhint: name a new folder\n"
		if diff := cmp.Diff(want, got(nil, vendor(x))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("what is not locked is refused", func(t *testing.T) {
		dir = filepath.Join(filepath.Dir(spec), "new")
		want := "error: source \"https://example.com/z\" is not locked in " + lockPath(spec) + "\nhint: run `kopshook lock`\n"
		if diff := cmp.Diff(want, got(nil, vendor("https://example.com/z"))); diff != "" {
			t.Error(diff)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("it made the folder")
		}
	})
}
