package source

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGit(t *testing.T) {
	r := newRepo(t)
	first := r.commit(map[string]string{"gpu/10-driver": "#!/bin/sh\necho one\n", "gpu/20-check": "#!/bin/sh\n", "gpu/.hidden": "x", "gpu/sub/x": "x", "top": "#!/bin/sh\necho top\n"})
	r.git("tag", "v1")
	r.git("branch", "old")
	second := r.commit(map[string]string{"gpu/10-driver": "#!/bin/sh\necho two\n"})
	src := r.serve(nil)
	one := "10-driver: \"#!/bin/sh\\necho one\\n\"\n20-check: \"#!/bin/sh\\n\"\n"
	two := strings.Replace(one, "one", "two", 1)
	top := "top: \"#!/bin/sh\\necho top\\n\"\n"
	for name, c := range map[string]struct{ src, want string }{
		"the default branch":     {src + "//gpu", two},
		"a tag":                  {src + "//gpu?ref=v1", one},
		"a branch":               {src + "//gpu?ref=old", one},
		"a commit":               {src + "//gpu?ref=" + first, one},
		"a file":                 {src + "//top", top},
		"the root":               {src, top},
		"a pattern":              {src + "//g*/10-driver?ref=v1", "10-driver: \"#!/bin/sh\\necho one\\n\"\n"},
		"depth= changes nothing": {src + "//top?depth=1&ref=main", top},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, got(fetchNew(t, c.src, nil))); diff != "" {
				t.Error(diff)
			}
		})
	}

	t.Run("a repository on this machine, if it is allowed", func(t *testing.T) {
		src := "git::file://" + r.dir + "//top"
		if diff := cmp.Diff(top, got(fetchNew(t, src, func(l *Loader) { l.AllowPaths = []string{filepath.Dir(r.dir)} }))); diff != "" {
			t.Error(diff)
		}
		_, err := fetchNew(t, src, nil)
		want := "error: source \"" + src + "\" is a repository on this machine\nhint: allow its folder with --allow-path, if it is there\n"
		if diff := cmp.Diff(want, got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("the lock keeps a branch where it was", func(t *testing.T) {
		l := testLoader(t)
		spec := specIn(t, nil)
		if err := lockAll(t, l, spec, src+"//gpu"); err != nil {
			t.Fatal(err)
		}
		lock, err := readLock(lockPath(spec))
		if err != nil {
			t.Fatal(err)
		}
		if lock.Sources[0].Revision != second {
			t.Errorf("revision %s, want %s", lock.Sources[0].Revision, second)
		}
		r.commit(map[string]string{"gpu/10-driver": "#!/bin/sh\necho three\n"})
		defer r.git("reset", "-q", "--hard", second)
		other := testLoader(t) // an empty cache
		if diff := cmp.Diff(two, got(other.Load(context.Background(), Ref{spec, src + "//gpu", true}))); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a folder where one file is wanted is refused", func(t *testing.T) {
		l := testLoader(t)
		spec := specIn(t, nil)
		if err := lockAll(t, l, spec, src+"//gpu"); err != nil {
			t.Fatal(err)
		}
		_, err := again(l).Load(context.Background(), Ref{spec, src + "//gpu", false})
		want := "error: source \"" + src + "//gpu\" is a folder\nhint: name one file: only a hook's source may be a folder of scripts\n"
		if diff := cmp.Diff(want, got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})
}

// Attributes and configuration that change what a checkout would hold.
func TestGitReadsBlobsAsTheyAre(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"x.sh": "#!/bin/sh\r\necho $Id$ $Format:%H$\n", ".gitattributes": "*.sh text eol=crlf ident export-subst filter=evil\nignored.sh export-ignore\n",
		"ignored.sh": "#!/bin/sh\n"})
	marker := filepath.Join(t.TempDir(), "ran")
	config := "[core]\n\tautocrlf = true\n[filter \"evil\"]\n\tsmudge = touch " + marker + "; cat\n\trequired = true\n"
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	blob := r.git("cat-file", "blob", "HEAD:x.sh") + "\n"
	files, err := fetchNew(t, r.serve(nil), nil)
	want := got([]File{{"ignored.sh", []byte("#!/bin/sh\n")}, {"x.sh", []byte(blob)}}, nil)
	if diff := cmp.Diff(want, got(files, err)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a filter of the user's configuration ran")
	}
}

func TestGitInsideAGitHook(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"x": "#!/bin/sh\n"})
	other := filepath.Join(t.TempDir(), "elsewhere.git")
	t.Setenv("GIT_DIR", other)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other, "index"))
	src := r.serve(nil)
	if diff := cmp.Diff("x: \"#!/bin/sh\\n\"\n", got(fetchNew(t, src, nil))); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("the repository of the git hook was touched")
	}
}

func TestGitLinks(t *testing.T) {
	r := newRepo(t)
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, r.dir, map[string]string{"v2/a": "#!/bin/sh\n", "common": "common"})
	link("v2", "scripts")
	link("../common", "v2/b")
	link("/etc/passwd", "absolute")
	link("../../../etc/passwd", "up")
	link("nowhere", "dangling")
	link("loop2", "loop1")
	link("loop1", "loop2")
	r.commit(nil)
	src := r.serve(nil)
	for name, c := range map[string]struct{ inner, want string }{
		"a link inside the repository is followed": {"//scripts", "a: \"#!/bin/sh\\n\"\nb: \"common\"\n"},
		"an absolute link is refused":              {"//absolute", "error: source SRC: \"absolute\" leads out of it, to /etc/passwd\nhint: only links inside it are followed\n"},
		"a link above the root is refused":         {"//up", "error: source SRC: \"up\" leads out of it\nhint: only links inside it are followed\n"},
		"a dangling link is refused":               {"//dangling", "error: source SRC: it holds no \"nowhere\", which \"dangling\" leads to\n"},
		"a loop is refused":                        {"//loop1", "error: source SRC: \"loop1\" is a link that leads nowhere\n"},
		"a folder with one of them is refused":     {"", "error: source SRC: \"absolute\" leads out of it, to /etc/passwd\nhint: only links inside it are followed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := strings.Replace(got(fetchNew(t, src+c.inner, nil)), `"`+src+c.inner+`"`, "SRC", 1)
			if c.inner == "" {
				if !strings.HasPrefix(s, "error: source SRC: ") {
					t.Error(s)
				}
			} else if diff := cmp.Diff(c.want, s); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGitFailures(t *testing.T) {
	r := newRepo(t)
	commit := r.commit(map[string]string{"x": "#!/bin/sh\n", "lfs": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "big": strings.Repeat("x", 5000)})
	r.git("update-index", "--add", "--cacheinfo", "160000,"+commit+",module")
	r.git("commit", "-q", "-m", "submodule")
	src := r.serve(nil)
	gone := strings.Repeat("0123456789", 4)
	for name, c := range map[string]struct{ src, want string }{
		"no such ref":        {src + "?ref=v9", "git: couldn't find remote ref v9\nhint: ref= is a tag, a branch or a full commit id\n"},
		"no such commit":     {src + "?ref=" + gone, "the repository has no commit " + gone + "\nhint: the branch was rewritten: lock the new commit with `kopshook lock --update`\n"},
		"no such path":       {src + "//y", "it holds no \"y\"\n"},
		"no such repository": {strings.Replace(src, "hooks.git", "gone.git", 1), "git: repository 'SERVER/gone.git/' not found\nhint: is the URL right, and may you read the repository? `git ls-remote URL` shows\n"},
		"an LFS pointer":     {src + "//lfs", "\"lfs\" is a Git LFS pointer\nhint: store it in git itself: kopshook does not fetch from LFS\n"},
		"a submodule":        {src + "//module", "\"module\" is no regular file\nhint: only regular files are read\n"},
		"a large file":       {src + "//big", "it is larger than 4096 bytes\nhint: have the node download it: a file with url: and sha256:, or in phase daemon the script itself\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := got(fetchNew(t, c.src, nil))
			s = strings.ReplaceAll(s, strings.TrimSuffix(strings.TrimPrefix(src, "git::"), "/hooks.git"), "SERVER")
			_, s, _ = strings.Cut(s, "\": ")
			if diff := cmp.Diff(c.want, s); diff != "" {
				t.Error(diff)
			}
		})
	}

	t.Run("a repository that vanished is still in the cache", func(t *testing.T) {
		r := newRepo(t)
		r.commit(map[string]string{"x": "#!/bin/sh\n"})
		src := r.serve(nil)
		l := testLoader(t)
		spec := specIn(t, nil)
		if err := lockAll(t, l, spec, src); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(r.dir); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("x: \"#!/bin/sh\\n\"\n", got(again(l).Load(context.Background(), Ref{spec, src, true}))); diff != "" {
			t.Error(diff)
		}
		if _, err := testLoader(t).Load(context.Background(), Ref{spec, src, true}); err == nil {
			t.Error("it was read without repository and cache")
		}
	})

	t.Run("a repository that is too large is given up", func(t *testing.T) {
		r := newRepo(t)
		// what does not compress
		noise := make([]byte, 3<<20)
		state := uint32(1)
		for i := range noise {
			state = state*1664525 + 1013904223
			noise[i] = byte(state >> 24)
		}
		r.commit(map[string]string{"x": "#!/bin/sh\n", "noise": string(noise)})
		release := make(chan struct{})
		src := r.serve(func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				counted := &countingWriter{ResponseWriter: w}
				h.ServeHTTP(counted, req)
				if counted.n > 1<<20 {
					select { // the end of the answer comes only when the client has gone
					case <-req.Context().Done():
					case <-release:
					}
				}
			})
		})
		defer close(release)
		_, err := fetchNew(t, src+"//x", nil)
		want := "error: source \"" + src + "//x\": the repository is larger than 1 MiB\nhint: keep hooks in a repository of their own\n"
		if diff := cmp.Diff(want, got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})
}

type countingWriter struct {
	http.ResponseWriter
	n int
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.n += len(p)
	return w.ResponseWriter.Write(p)
}
