package source

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	getter "github.com/hashicorp/go-getter/v2"

	"kopshook.dev/kopshook/internal/report"
)

// gitGetter fetches one commit into a bare repository. go-getter's own, which it takes the place of, clones, checks
// out and updates submodules: then a repository's attributes and the user's git configuration (autocrlf, filters)
// change the bytes that land on disk, and its links are followed. Here nothing is checked out: blobs are read as they are.
type gitGetter struct {
	getter.GitGetter
	limits   Limits
	revision string // commit that is locked, or ""
	scheme   string // of the remote
	ref      string // what the source asks for
	item     *progressItem

	commit string // result
}

var gitDetectors = []getter.Detector{new(getter.GitHubDetector), new(getter.GitLabDetector), new(getter.GitDetector)}

// Get fetches into the new folder req.Dst.
func (g *gitGetter) Get(ctx context.Context, req *getter.Request) error {
	if _, err := exec.LookPath("git"); err != nil {
		return report.Hint("install git", "git is not on the PATH")
	}
	u := *req.URL()
	u.RawQuery = withoutGitParams(u.Query()).Encode()
	g.scheme = u.Scheme
	dir := req.Dst
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if _, err := g.run(ctx, dir, "init", "--quiet", "--bare"); err != nil {
		return err
	}
	want := g.revision
	if want == "" {
		want = g.ref
	}
	if want == "" {
		want = "HEAD"
	}
	err := g.fetch(ctx, dir, u.String(), "--depth=1", "--no-tags", want)
	var failed *gitError
	if errors.As(err, &failed) && isCommit(want) && (strings.Contains(failed.stderr, "not our ref") || strings.Contains(failed.stderr, "unadvertised object")) {
		// a server that hands out branches and tags only, or a commit that is gone
		err = g.fetch(ctx, dir, u.String(), "--tags", "+refs/heads/*:refs/heads/*")
		if err == nil {
			if _, err = g.run(ctx, dir, "cat-file", "-e", want+"^{commit}"); err != nil {
				err = report.Hint("the branch was rewritten: lock the new commit with `kopshook lock --update`", "the repository has no commit %s", want)
			}
		}
	} else if err == nil && !isCommit(want) {
		want = "FETCH_HEAD"
	}
	if err != nil {
		return err
	}
	out, err := g.run(ctx, dir, "rev-parse", "--verify", "--end-of-options", want+"^{commit}")
	if err != nil {
		return err
	}
	g.commit = strings.TrimSpace(string(out))
	return nil
}

// GetFile is never asked for: git sources are trees.
func (g *gitGetter) GetFile(context.Context, *getter.Request) error {
	return errors.New("git has no single files")
}

func withoutGitParams(q url.Values) url.Values {
	for _, name := range []string{"ref", "depth"} {
		q.Del(name)
	}
	return q
}

// isCommit says whether a ref is a full commit id, of SHA-1 or SHA-256.
func isCommit(ref string) bool {
	return (len(ref) == 40 || len(ref) == 64) && !strings.ContainsFunc(ref, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

func (g *gitGetter) fetch(ctx context.Context, dir, remote string, args ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		g.watch(ctx, dir, cancel)
	}()
	// options before --, then the remote, then what to fetch: nothing of the source is taken for an option
	split := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "--") })
	cmd := append([]string{"fetch", "--quiet", "--no-recurse-submodules"}, args[:split]...)
	cmd = append(cmd, "--", remote)
	_, err := g.run(ctx, dir, append(cmd, args[split:]...)...)
	cause := context.Cause(ctx)
	cancel(nil)
	<-watched
	if cause == nil && err == nil {
		cause = g.tooLarge(dir)
	}
	if cause != nil {
		return cause
	}
	return err
}

// watch stops a fetch that brings too much: git has no limit for that.
func (g *gitGetter) watch(ctx context.Context, dir string, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := g.tooLarge(dir); err != nil {
			cancel(err)
			return
		}
	}
}

// tooLarge measures a repository.
func (g *gitGetter) tooLarge(dir string) error {
	var sum int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // git renames while we look
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	g.item.set(sum)
	if sum > g.limits.Download {
		return report.Hint("keep hooks in a repository of their own", "the repository is larger than %s", size(g.limits.Download))
	}
	return nil
}

// run runs git in a bare repository of ours and returns its output.
func (g *gitGetter) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := g.command(ctx, dir, args...)
	var stdout bytes.Buffer
	stderr := headWriter{limit: maxGitMessage}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return nil, &gitError{cause: err, stderr: strings.TrimSpace(stderr.String())}
}

// minGitMemory is what git gets at least, in bytes: its libraries take some of it.
const minGitMemory = 64 << 20

// maxGitMessage is how much of what git, and so the server, says is kept.
const maxGitMessage = 64 << 10

// headWriter keeps the first bytes that are written to it.
type headWriter struct {
	bytes.Buffer
	limit int
}

func (h *headWriter) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), max(0, h.limit-h.Len()))])
	return len(p), nil
}

func (g *gitGetter) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	seconds := strconv.Itoa(max(1, int(g.limits.Stall/time.Second)))
	all := []string{
		"-c", "protocol.version=2",
		"-c", "core.hooksPath=/dev/null",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "pack.threads=1",
		"-c", "fetch.unpackLimit=1", // a pack grows on disk, where watch sees it; loose objects are made in memory
		"-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=" + seconds,
		"--git-dir=" + dir,
	}
	cmd := boundedCommand(ctx, max(4*g.limits.Unpacked, minGitMemory), "git", append(all, args...)...)
	cmd.Dir = dir
	cmd.Env = gitEnv(os.Environ(), g.scheme, seconds)
	endWithChildren(cmd)
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// gitEnv is the environment without what points git at another repository, as it is set in a git hook
// (git rev-parse --local-env-vars), and so that nothing asks questions. Several fetches run at once, perhaps without
// a terminal: passwords come from credential helpers, agents and files. A server cannot redirect to a protocol that is not
// allowed: from http to https, and not the other way.
func gitEnv(env []string, scheme, stallSeconds string) []string {
	local := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
		"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE",
		"GIT_IMPLICIT_WORK_TREE", "GIT_CONFIG", "GIT_TERMINAL_PROMPT", "GIT_ALLOW_PROTOCOL", "LC_ALL", "LANGUAGE"}
	ssh := false
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		ssh = ssh || name == "GIT_SSH_COMMAND" || name == "GIT_SSH"
		return slices.Contains(local, name)
	})
	if scheme == "http" {
		scheme = "http:https"
	}
	env = append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL="+scheme)
	if !ssh {
		env = append(env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes -o ConnectTimeout="+stallSeconds+" -o ServerAliveInterval="+stallSeconds)
	}
	return env
}

// gitError is git's failure, in git's words.
type gitError struct {
	cause  error
	stderr string
}

func (e *gitError) Error() string {
	if e.stderr == "" {
		return "git: " + e.cause.Error()
	}
	lines := strings.Split(e.stderr, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"fatal: ", "error: ", "remote: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		lines[i] = strings.TrimSuffix(line, ".")
	}
	return "git: " + strings.Join(slices.Compact(slices.DeleteFunc(lines, func(s string) bool { return s == "" })), "; ")
}

// temporary says whether trying again may help. git's exit code does not tell, its words do.
func (e *gitError) temporary() bool {
	if e.disabled() {
		return false
	}
	for _, final := range []string{"not found", "does not exist", "could not read Username", "could not read Password", "Authentication failed",
		"Permission denied", "couldn't find remote ref", "not our ref", "certificate", "Host key verification failed", "not allowed", "ut of memory", "Cannot allocate memory",
		"does not appear to be a git repository", "unadvertised object", "error: 401", "error: 403", "error: 404", "No space left"} {
		if strings.Contains(e.stderr, final) {
			return false
		}
	}
	return true
}

// disabled says whether curl was sent to a protocol that GIT_ALLOW_PROTOCOL does not have.
func (e *gitError) disabled() bool {
	return strings.Contains(e.stderr, "disabled in libcurl") || strings.Contains(e.stderr, "disabled or unsupported")
}

// Hint says what to do about the failures that people meet.
func (e *gitError) Hint() string {
	switch {
	case e.disabled():
		return "the server redirects from https to http: ask its operator, or name another server"
	case strings.Contains(e.stderr, "ut of memory"), strings.Contains(e.stderr, "Cannot allocate memory"):
		return "it holds more than git may take memory for: keep hooks in a repository of their own"
	case strings.Contains(e.stderr, "couldn't find remote ref"):
		return "ref= is a tag, a branch or a full commit id"
	case strings.Contains(e.stderr, "could not read Username"), strings.Contains(e.stderr, "Authentication failed"), strings.Contains(e.stderr, "Permission denied"),
		strings.Contains(e.stderr, "error: 401"), strings.Contains(e.stderr, "error: 403"):
		return "give git a credential helper, or use git::ssh:// with an agent; `git ls-remote URL` shows whether it works"
	case strings.Contains(e.stderr, "not found"), strings.Contains(e.stderr, "does not exist"), strings.Contains(e.stderr, "does not appear to be a git repository"):
		return "is the URL right, and may you read the repository? `git ls-remote URL` shows"
	}
	return ""
}
