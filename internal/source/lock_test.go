package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if diff := cmp.Diff("error: source \"https://example.com/x.sh\" has to be fetched, which --offline forbids\nhint: run `kopshook lock` without --offline\n", got(nil, err)); diff != "" {
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

// What wants one file is refused when it is locked, and not when it is used.
func TestAFolderIsNotLockedWhereAFileIsWanted(t *testing.T) {
	tgz := packed(t, tarOf(t, entry{"a", "1", 0}, entry{"b", "2", 0}), "gz")
	srv := serve(t, map[string]string{"/x.tgz": string(tgz)})
	spec := specIn(t, nil)
	refs := refsOf(spec, srv.URL+"/x.tgz")
	if _, err := testLoader(t).Lock(t.Context(), refs, nil); err != nil {
		t.Fatalf("as a folder: %v", err)
	}
	refs[0].Dir = false
	changes, err := testLoader(t).Lock(t.Context(), refs, nil)
	var ref *RefError
	if want := notOneFile(refs[0].Source); !errors.As(err, &ref) || ref.Err.Error() != want.Error() || len(changes) > 0 {
		t.Errorf("%v, %d changes; want %v", err, len(changes), want)
	}
}
