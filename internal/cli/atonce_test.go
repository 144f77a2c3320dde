package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Two CI jobs or two people at one folder and one cache: whoever comes second fails or does the same, and what lies there
// in the end is whole.
func TestLockAndVendorAtOnce(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "#!/bin/sh\n# %s\n%s", r.URL.Path, strings.Repeat("echo word\n", 1000))
	}))
	defer srv.Close()
	dir := t.TempDir()
	spec := filepath.Join(dir, "hooks.yaml")
	text := "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: a}\nspec:\n  selector: {}\n  hooks:\n"
	for i := range 12 {
		text += fmt.Sprintf("  - {name: h%d, source: %q}\n", i, fmt.Sprintf("%s/%d.sh", srv.URL, i))
	}
	if err := os.WriteFile(spec, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	copies := filepath.Join(dir, "vendor")
	run := func(args ...string) (string, error) {
		cmd := exec.Command("kopshook", args...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	atOnce := func(t *testing.T, args ...string) {
		t.Helper()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if out, err := run(args...); err != nil {
					t.Errorf("%v: %v: %s", args, err, out)
				}
			})
		}
		all.Wait()
		if out, err := run("lock", "--check", spec); err != nil {
			t.Errorf("after %v: %v: %s", args, err, out)
		}
	}
	atOnce(t, "lock", spec)
	for range 2 {
		atOnce(t, "vendor", "-f", spec, copies)
		atOnce(t, "lock", "--update", "-f", spec)
	}
	// the cache is not needed, and nothing lies there that nobody wanted
	os.RemoveAll(filepath.Join(dir, "cache"))
	if out, err := run("lock", "--check", "--offline", spec); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, pattern := range []string{".*", "*.tmp*", "vendor/.*"} {
		if left, _ := filepath.Glob(filepath.Join(dir, pattern)); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
}
