package source

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kopshook.dev/kopshook/internal/report"
)

// small keeps tests short: a server that stalls is given up after a blink, and nothing waits between attempts.
var small = Limits{
	Bytes: 4096, Files: 10, Download: 1 << 20, Unpacked: 1 << 20, Entries: 100,
	Time: time.Minute, Stall: 10 * time.Second, Attempts: 3, Backoff: time.Nanosecond, Parallel: 4,
}

func testLoader(t *testing.T) *Loader {
	return &Loader{CacheDir: filepath.Join(t.TempDir(), "cache"), Limits: small}
}

// specIn writes files into a new folder and returns the name that a spec in it would have.
func specIn(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	return filepath.Join(dir, "hooks.yaml")
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// got are files as one line each, and an error with its hint, for comparing.
func got(files []File, err error) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s: %q\n", f.Name, f.Content)
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
		if h := report.Remedy(err); h != "" {
			fmt.Fprintf(&b, "hint: %s\n", h)
		}
	}
	return b.String()
}

// lockAll locks sources for a spec and writes the lock file.
func lockAll(t *testing.T, l *Loader, spec string, sources ...string) error {
	t.Helper()
	changes, err := l.Lock(context.Background(), refsOf(spec, sources...), nil)
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

func refsOf(spec string, sources ...string) []Ref {
	var refs []Ref
	for _, s := range sources {
		refs = append(refs, Ref{SpecFile: spec, Source: s, Dir: true})
	}
	return refs
}

// fetchNew locks a source for a new spec with a new loader, and reads it.
func fetchNew(t *testing.T, src string, change func(*Loader)) ([]File, error) {
	t.Helper()
	l := testLoader(t)
	if change != nil {
		change(l)
	}
	spec := specIn(t, nil)
	if err := lockAll(t, l, spec, src); err != nil {
		return nil, err
	}
	return again(l).Load(context.Background(), Ref{SpecFile: spec, Source: src, Dir: true})
}

// again is a loader of another process with the same options.
func again(l *Loader) *Loader {
	return &Loader{AllowPaths: l.AllowPaths, CacheDir: l.CacheDir, Offline: l.Offline, Limits: l.Limits, Warn: l.Warn, transport: l.transport, vfs: l.vfs}
}

// serve serves contents by path.
func serve(t *testing.T, files map[string]string) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(content))
	}))
	t.Cleanup(srv.Close)
	return srv
}

// repo is a git repository with a work tree.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := &repo{t, filepath.Join(t.TempDir(), "hooks.git")}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "core.autocrlf=false",
		"-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits files on top of what is there, and returns the commit's id.
func (r *repo) commit(files map[string]string) string {
	r.t.Helper()
	write(r.t, r.dir, files)
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "change")
	return r.git("rev-parse", "HEAD")
}

// handler serves the repository as forges do.
func (r *repo) handler() http.Handler {
	r.t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		r.t.Fatal(err)
	}
	return &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1", "HOME=" + os.Getenv("HOME"), "GIT_CONFIG_NOSYSTEM=1"},
	}
}

// serve serves the repository, and returns its source.
func (r *repo) serve(wrap func(http.Handler) http.Handler) string {
	r.t.Helper()
	h := r.handler()
	if wrap != nil {
		h = wrap(h)
	}
	srv := httptest.NewServer(h)
	r.t.Cleanup(srv.Close)
	return "git::" + srv.URL + "/hooks.git"
}
