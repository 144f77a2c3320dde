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

	"kopshook.dev/kopshook/internal/report"
)

// Everything that the issue asks of a lock file, in the order of a project's life.
func TestLockedSourcesAreTheSameEverywhere(t *testing.T) {
	r := newRepo(t)
	commit := r.commit(map[string]string{"gpu/10-driver": "#!/bin/sh\necho driver\n", "gpu/20-check": "#!/bin/sh\n"})
	tgz := packed(t, tarOf(t, entry{"hooks-1.2/disk", "#!/bin/sh\necho disk\n", 0}), "gz")
	files := map[string]string{"/ca.pem": "-----BEGIN CERTIFICATE-----\n", "/hooks.tar.gz": string(tgz)}
	srv := serve(t, files)
	sources := []string{r.serve(nil) + "//gpu?ref=main", srv.URL + "/ca.pem", srv.URL + "/hooks.tar.gz//*/disk", "scripts/local"}

	first := specIn(t, map[string]string{"scripts/local": "#!/bin/sh\necho local\n"})
	l := testLoader(t)
	if err := lockAll(t, l, first, sources...); err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile(lockPath(first))
	if err != nil {
		t.Fatal(err)
	}
	driver, check := hashOf([]byte("#!/bin/sh\necho driver\n")), hashOf([]byte("#!/bin/sh\n"))
	want := lockHeader + fmt.Sprintf(`version: 1
sources:
  - source: %s
    revision: %s
    tree: %s
    size: 32
  - source: %s/ca.pem
    sha256: %s
    size: 28
  - source: %s/hooks.tar.gz//*/disk
    sha256: %s
    size: 20
`, sources[0], commit, hashOf([]byte(driver+"  10-driver\n"+check+"  20-check\n")), srv.URL, hashOf([]byte(files["/ca.pem"])), srv.URL, hashOf([]byte("#!/bin/sh\necho disk\n")))
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(string(lock), "\n")
	if strings.Compare(sources[0], srv.URL) > 0 {
		t.Fatal("git:: sorts before http")
	}
	if diff := cmp.Diff(wantLines, gotLines); diff != "" {
		t.Fatal(diff)
	}

	contents := func(l *Loader, spec string) string {
		var b strings.Builder
		for _, src := range sources {
			b.WriteString(got(l.Load(context.Background(), Ref{spec, src, true})))
		}
		return b.String()
	}
	rendered := contents(again(l), first)
	if strings.Contains(rendered, "error") {
		t.Fatal(rendered)
	}

	t.Run("offline, from a second clone and the same cache", func(t *testing.T) {
		clone := specIn(t, map[string]string{"scripts/local": "#!/bin/sh\necho local\n", LockName: string(lock)})
		l := again(l)
		l.Offline = true
		if diff := cmp.Diff(rendered, contents(l, clone)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("online, from a second clone and an empty cache", func(t *testing.T) {
		clone := specIn(t, map[string]string{"scripts/local": "#!/bin/sh\necho local\n", LockName: string(lock)})
		l := testLoader(t)
		l.Prefetch(context.Background(), refsOf(clone, sources...))
		l.Offline = true
		if diff := cmp.Diff(rendered, contents(l, clone)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("offline, from a clone with a vendor folder and no cache", func(t *testing.T) {
		clone := specIn(t, map[string]string{"scripts/local": "#!/bin/sh\necho local\n", LockName: string(lock)})
		changes, err := again(l).Vendor(context.Background(), refsOf(clone, sources...), filepath.Join(filepath.Dir(clone), "third party"))
		if err != nil {
			t.Fatal(err)
		}
		if err := changes[0].Write(); err != nil {
			t.Fatal(err)
		}
		l := testLoader(t)
		l.Offline = true
		if diff := cmp.Diff(rendered, contents(l, clone)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("locking again writes the same bytes", func(t *testing.T) {
		for _, order := range [][]string{sources, {sources[2], sources[3], sources[0], sources[1]}} {
			if err := lockAll(t, again(l), first, order...); err != nil {
				t.Fatal(err)
			}
			b, _ := os.ReadFile(lockPath(first))
			if diff := cmp.Diff(string(lock), string(b)); diff != "" {
				t.Error(diff)
			}
		}
	})

	r.commit(map[string]string{"gpu/10-driver": "#!/bin/sh\necho newer\n"})
	files["/ca.pem"] = "changed\n"
	t.Run("a server that sends other bytes than locked", func(t *testing.T) {
		_, err := testLoader(t).Load(context.Background(), Ref{first, sources[1], false})
		want := fmt.Sprintf("error: source %q: the server sends other bytes than were locked: want %s, got %s\nhint: %s\n", sources[1],
			hashOf([]byte("-----BEGIN CERTIFICATE-----\n")), hashOf([]byte("changed\n")), relockRemedy)
		if diff := cmp.Diff(want, got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an update takes what is there now, of what it names", func(t *testing.T) {
		changes, err := again(l).Lock(context.Background(), refsOf(first, sources...), func(r Ref) bool { return r.Source == sources[0] })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{sources[0]}, changes[0].Changed()); diff != "" {
			t.Error(diff)
		}
		changes, err = again(l).Lock(context.Background(), refsOf(first, sources...), func(Ref) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sources[:2], changes[0].Changed()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("what no spec names is taken out", func(t *testing.T) {
		changes, err := again(l).Lock(context.Background(), refsOf(first, sources[0]), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sources[1:3], changes[0].Removed()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a failure writes nothing", func(t *testing.T) {
		_, err := again(l).Lock(context.Background(), refsOf(first, append(sources, srv.URL+"/gone")...), nil)
		if err == nil {
			t.Error("it locked what is not there")
		}
		if b, _ := os.ReadFile(lockPath(first)); string(b) != string(lock) {
			t.Error("the lock file changed")
		}
	})
}

func TestUnlockedSources(t *testing.T) {
	spec := specIn(t, nil)
	_, err := testLoader(t).Load(context.Background(), Ref{spec, "https://example.com/x.sh", false})
	if diff := cmp.Diff("error: source \"https://example.com/x.sh\" is not locked in "+lockPath(spec)+"\nhint: run `kopshook lock`\n", got(nil, err)); diff != "" {
		t.Error(diff)
	}
	l := testLoader(t)
	l.Offline = true
	_, err = l.Lock(context.Background(), refsOf(spec, "https://example.com/x.sh"), nil)
	if diff := cmp.Diff("error: source \"https://example.com/x.sh\" is not locked\nhint: run `kopshook lock` without --offline\n", got(nil, err)); diff != "" {
		t.Error(diff)
	}
	write(t, filepath.Dir(spec), map[string]string{LockName: "version: 1\nsources:\n- {source: https://example.com/x.sh, sha256: " + strings.Repeat("0", 64) + ", size: 1}\n"})
	l = testLoader(t)
	l.Offline = true
	_, err = l.Load(context.Background(), Ref{spec, "https://example.com/x.sh", false})
	want := "error: source \"https://example.com/x.sh\" is neither vendored nor in the cache\nhint: run it once without --offline, or keep copies beside the specs with `kopshook vendor`\n"
	if diff := cmp.Diff(want, got(nil, err)); diff != "" {
		t.Error(diff)
	}
}

func TestFoldersThatLockOneSourceDifferently(t *testing.T) {
	files := map[string]string{"/x.sh": "one"}
	srv := serve(t, files)
	src := srv.URL + "/x.sh"
	l := testLoader(t)
	a, b := specIn(t, nil), specIn(t, nil)
	if err := lockAll(t, l, a, src); err != nil {
		t.Fatal(err)
	}
	files["/x.sh"] = "two"
	if err := lockAll(t, again(l), b, src); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("error: source %q is locked differently in %s and in %s\nhint: run `kopshook lock --update` with the specs of both folders\n", src, lockPath(a), lockPath(b))

	reader := again(l)
	if _, err := reader.Load(context.Background(), Ref{a, src, true}); err != nil {
		t.Fatal(err)
	}
	_, err := reader.Load(context.Background(), Ref{b, src, true})
	if diff := cmp.Diff(want, got(nil, err)); diff != "" {
		t.Error(diff)
	}
	both := append(refsOf(a, src), refsOf(b, src)...)
	_, err = again(l).Lock(context.Background(), both, nil)
	if diff := cmp.Diff(want, got(nil, err)); diff != "" {
		t.Error(diff)
	}
	_, err = again(l).Vendor(context.Background(), both, filepath.Join(t.TempDir(), "vendor"))
	if diff := cmp.Diff(want, got(nil, err)); diff != "" {
		t.Error(diff)
	}
	t.Run("an update of both agrees", func(t *testing.T) {
		changes, err := again(l).Lock(context.Background(), both, func(Ref) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) != 2 || !changes[0].New.Sources[0].same(&changes[1].New.Sources[0]) {
			t.Errorf("%+v", changes)
		}
	})
	t.Run("what one has locked is locked so for the other", func(t *testing.T) {
		c := specIn(t, nil)
		changes, err := again(l).Lock(context.Background(), append(refsOf(a, src), refsOf(c, src)...), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !changes[0].New.Sources[0].same(&changes[1].New.Sources[0]) || changes[1].New.Sources[0].SHA256 != hashOf([]byte("one")) {
			t.Errorf("%+v", changes)
		}
	})
}

func TestDecodeLock(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	ok := "version: 1\nvendor: vendor/hooks\nsources:\n  - source: https://example.com/x\n    sha256: " + sum + "\n    size: 3\n"
	f, err := DecodeLock("l", []byte(ok))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lockHeader+ok, string(f.Encode())); diff != "" {
		t.Error(diff)
	}
	entry := "  - {source: https://example.com/x, sha256: " + sum + ", size: 3}\n"
	for name, c := range map[string]struct{ in, want string }{
		"empty":                    {"", "l:1:1: the lock file is empty"},
		"comments alone":           {"# x\n", "l:1:1: the lock file is empty"},
		"no YAML":                  {"version: 1\nsources:\n\t- x\n", "l:3: the lock file is no YAML: found character that cannot start any token"},
		"a merge conflict":         {"version: 1\n<<<<<<< HEAD\nsources: []\n=======\n", "l:2: the lock file is no YAML: could not find expected ':'"},
		"a list":                   {"- x\n", "l:1:1: the lock file must be a mapping"},
		"two documents":            {ok + "---\nversion: 1\n", "l:7:1: the lock file has a second document"},
		"no version":               {"sources: []\n", "l:1:1: the lock file has no version"},
		"version 0":                {"version: 0\n", "l:1:10: version must be 1"},
		"a newer version":          {"version: 2\nblobs: {}\n", "l:1:1: the lock file has version 2; this kopshook knows version 1"},
		"an unknown key":           {"version: 1\nsorces: []\n", "l:2:1: the lock file has an unknown key \"sorces\""},
		"a key twice":              {"version: 1\nsources: []\nsources: []\n", "l:3:1: the lock file has \"sources\" twice"},
		"sources is no list":       {"version: 1\nsources: {}\n", "l:2:10: sources must be a list"},
		"an unknown key of one":    {"version: 1\nsources:\n  - {source: a, sha256: " + sum + ", size: 3, rev: x}\n", "l:3:100: a source has an unknown key \"rev\""},
		"no source":                {"version: 1\nsources:\n  - {sha256: " + sum + ", size: 3}\n", "l:3:5: a source has no source"},
		"no sum":                   {"version: 1\nsources:\n  - {source: a, size: 3}\n", "l:3:5: a source has sha256 or tree, one of them"},
		"two sums":                 {"version: 1\nsources:\n  - {source: a, size: 3, sha256: " + sum + ", tree: " + sum + "}\n", "l:3:5: a source has sha256 or tree, one of them"},
		"a sum that is short":      {"version: 1\nsources:\n  - {source: a, size: 3, sha256: " + sum[1:] + "}\n", "l:3:34: sha256 \"" + sum[1:] + "\" is no SHA-256 in hex"},
		"a sum in capitals":        {"version: 1\nsources:\n  - {source: a, size: 3, tree: " + strings.ToUpper(sum) + "}\n", "l:3:32: tree \"" + strings.ToUpper(sum) + "\" is no SHA-256 in hex"},
		"no size":                  {"version: 1\nsources:\n  - {source: a, sha256: " + sum + "}\n", "l:3:5: a source has no size"},
		"a size that is no number": {"version: 1\nsources:\n  - {source: a, sha256: " + sum + ", size: -1}\n", "l:3:97: size must be a number of bytes"},
		"a revision that is none":  {"version: 1\nsources:\n  - {source: a, sha256: " + sum + ", size: 1, revision: main}\n", "l:3:110: revision \"main\" is no commit id"},
		"a source twice":           {"version: 1\nsources:\n" + entry + entry, "l:4:5: source \"https://example.com/x\" stands there twice"},
		"credentials":              {"version: 1\nsources:\n  - {source: 'https://u:p@h/x', sha256: " + sum + ", size: 3}\n", "l:3:5: a source holds credentials"},
		"an absolute vendor path":  {"version: 1\nvendor: /x\n", "l:2:9: vendor must be relative to the lock file's folder"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeLock("l", []byte(c.in))
			var r report.Report
			if err != nil {
				r.AddError(report.Position{}, "", err)
			}
			var lines []string
			for _, f := range r.Findings {
				lines = append(lines, f.Position.String()+": "+f.Message)
				if f.Remedy == "" {
					t.Error("no remedy")
				}
			}
			if diff := cmp.Diff([]string{c.want}, lines); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("its errors stand at its own place", func(t *testing.T) {
		spec := specIn(t, map[string]string{LockName: "version: 7\n"})
		_, err := testLoader(t).Load(context.Background(), Ref{spec, "https://example.com/x", true})
		var r report.Report
		r.AddError(report.Position{File: spec, Line: 3, Col: 3}, "spec.hooks[0].source", err)
		want := []report.Finding{{Position: report.Position{File: lockPath(spec), Line: 1, Col: 1},
			Message: "the lock file has version 7; this kopshook knows version 1", Remedy: "use the kopshook that wrote it, or a newer one"}}
		if diff := cmp.Diff(want, r.Findings); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzDecodeLock(f *testing.F) {
	f.Add([]byte("version: 1\nvendor: v\nsources:\n  - source: https://example.com/x\n    sha256: " + strings.Repeat("0a", 32) + "\n    size: 3\n"))
	f.Add([]byte("version: 1\nsources: [{source: a, tree: b, revision: c, size: d}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := DecodeLock("l", data)
		if err != nil {
			return
		}
		once := lock.Encode()
		lock, err = DecodeLock("l", once)
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if diff := cmp.Diff(string(once), string(lock.Encode())); diff != "" {
			t.Error(diff)
		}
	})
}

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
	if diff := cmp.Diff([]string{vendorName(x) + "/x.sh", vendorName(y) + "/y.sh", "SHA256SUMS"}, below()); diff != "" {
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
		want = fmt.Sprintf("error: source %q: its copy in %s: \"x.sh\" is no regular file\nhint: run `kopshook vendor` again\n", x, filepath.Dir(copied))
		if diff := cmp.Diff(want, got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("again, with less, takes out what is no longer named", func(t *testing.T) {
		if err := vendor(y); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{vendorName(y) + "/y.sh", "SHA256SUMS"}, below()); diff != "" {
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
