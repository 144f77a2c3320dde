package source

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCache(t *testing.T) {
	srv := serve(t, map[string]string{"/x.sh": "#!/bin/sh\n"})
	src := srv.URL + "/x.sh"
	want := "x.sh: \"#!/bin/sh\\n\"\n"
	spec := specIn(t, nil)
	l := testLoader(t)
	if err := lockAll(t, l, spec, src); err != nil {
		t.Fatal(err)
	}
	ref := Ref{spec, src, false}
	blob := l.cache.path(hashOf([]byte("#!/bin/sh\n")))

	t.Run("is verified: what is damaged is fetched again", func(t *testing.T) {
		if err := os.WriteFile(blob, []byte("#!/bin/sh\nrm -rf /\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		offline := again(l)
		offline.Offline = true
		if _, err := offline.Load(context.Background(), ref); err == nil {
			t.Error("damaged bytes were used")
		}
		if diff := cmp.Diff(want, got(again(l).Load(context.Background(), ref))); diff != "" {
			t.Error(diff)
		}
		if b, _ := os.ReadFile(blob); string(b) != "#!/bin/sh\n" {
			t.Errorf("the cache still holds %q", b)
		}
	})
	t.Run("that cannot be written to does no harm", func(t *testing.T) {
		var warnings []string
		// a file where the folder would be: it stops root as well
		file := filepath.Join(t.TempDir(), "file")
		write(t, filepath.Dir(file), map[string]string{"file": ""})
		files, err := fetchNew(t, src, func(l *Loader) {
			l.CacheDir = filepath.Join(file, "cache")
			l.Warn = func(s string) { warnings = append(warnings, s) }
		})
		if diff := cmp.Diff(want, got(files, err)); diff != "" {
			t.Error(diff)
		}
		if len(warnings) == 0 || !strings.HasPrefix(warnings[len(warnings)-1], "the cache cannot be written to: ") {
			t.Errorf("warnings %q", warnings)
		}
	})
	t.Run("read-only", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "cache")
		l := again(l)
		l.CacheDir = dir
		if _, err := l.Load(context.Background(), ref); err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{filepath.Join(dir, "sha256"), filepath.Join(dir, "tmp"), dir} {
			if err := os.Chmod(d, 0o555); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(d, 0o755)
		}
		offline := again(l)
		offline.Offline = true
		if diff := cmp.Diff(want, got(offline.Load(context.Background(), ref))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("many processes at once", func(t *testing.T) {
		dir := t.TempDir()
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				l := again(l)
				l.CacheDir = dir
				if diff := cmp.Diff(want, got(l.Load(context.Background(), ref))); diff != "" {
					t.Error(diff)
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff([]string{filepath.Join(dir, "sha256", filepath.Base(blob))}, filesBelow(t, dir)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("one process fetches a source once", func(t *testing.T) {
		var requests atomic.Int32
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			w.Write([]byte("#!/bin/sh\n"))
		}))
		defer srv.Close()
		spec := specIn(t, nil)
		l := testLoader(t)
		if err := lockAll(t, l, spec, srv.URL+"/x.sh", srv.URL+"/x.sh"); err != nil {
			t.Fatal(err)
		}
		l = again(l)
		l.CacheDir = t.TempDir()
		l.Prefetch(context.Background(), refsOf(spec, srv.URL+"/x.sh", srv.URL+"/x.sh", srv.URL+"/x.sh"))
		if n := requests.Load(); n != 2 {
			t.Errorf("%d requests", n)
		}
		srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			w.WriteHeader(http.StatusNotFound)
		})
		l = again(l)
		l.CacheDir = t.TempDir()
		l.Prefetch(context.Background(), refsOf(spec, srv.URL+"/x.sh"))
		if _, err := l.Load(context.Background(), Ref{spec, srv.URL + "/x.sh", true}); err == nil || requests.Load() != 3 {
			t.Errorf("%d requests, error %v", requests.Load(), err)
		}
	})
	t.Run("a full disk", func(t *testing.T) {
		_, err := fetchNew(t, src, func(l *Loader) {
			l.setUp()
			l.cache.makeTemp = func() (string, func(), error) {
				dir := t.TempDir()
				return dir, func() {}, os.Symlink("/dev/full", filepath.Join(dir, "fetched"))
			}
		})
		want := fmt.Sprintf("error: source %q: no space left on the disk\nhint: free some in the cache folder; TMPDIR and XDG_CACHE_HOME name others\n", src)
		if diff := cmp.Diff(want, got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWithoutAHomeFolderThereIsNoCache(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "home", "LocalAppData"} {
		t.Setenv(name, "")
	}
	if dir := defaultCacheDir(); dir != "" {
		t.Errorf("%s", dir)
	}
}
