//go:build e2e

package pipelines

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const tag = "v1.2.3-test"

// clone makes a git repository of the tree as it is now, uncommitted changes included.
func clone(t *testing.T, dir string) {
	t.Helper()
	repo := repository(t)
	const most = 5 << 20 // programs and test binaries that lie around
	err := filepath.WalkDir(repo, func(name string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(repo, name)
		if err = errors.Join(err, rerr); err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(dir, rel), 0o777)
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > most {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, rel), data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, fixed, "git", "init", "-q", "-b", "main")
	run(t, dir, fixed, "git", "add", "-A")
	run(t, dir, fixed, "git", "commit", "-q", "--no-gpg-sign", "-m", "release")
}

// build builds a release of the tree in dir, with the flags of .goreleaser.yaml, and writes it to program: outside of
// the tree, since a file of no commit makes the next build "+dirty".
func build(t *testing.T, dir, program string, env ...string) [sha256.Size]byte {
	t.Helper()
	var config goreleaser
	readYAML(t, ".goreleaser.yaml", &config)
	b := config.Builds[0]
	args := append([]string{"build"}, b.Flags...)
	args = append(args, "-ldflags", strings.ReplaceAll(strings.Join(b.Ldflags, " "), "{{ .Tag }}", tag), "-o", program, b.Main)
	run(t, dir, append(append(env, "GOFLAGS="), b.Env...), "go", args...)
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(data)
}

// twoBuilds are those of two folders, made once for all tests.
var twoBuilds struct {
	once     sync.Once
	dirs     [2]string
	programs [2]string
	sums     [2][sha256.Size]byte
}

// builds returns a folder with a clone of the tree, and the program that was built of it.
func builds(t *testing.T) (dir, program string) {
	t.Helper()
	twoBuilds.once.Do(func() {
		top, err := os.MkdirTemp("", "kopshook-release")
		if err != nil {
			t.Fatal(err)
		}
		leftovers = append(leftovers, top)
		a, b := filepath.Join(top, "a"), filepath.Join(top, "quite another folder", "with a longer name")
		if err := os.Mkdir(a, 0o777); err != nil {
			t.Fatal(err)
		}
		clone(t, a)
		if err := os.CopyFS(b, os.DirFS(a)); err != nil {
			t.Fatal(err)
		}
		for i, dir := range []string{a, b} {
			start := time.Now()
			program := filepath.Join(top, fmt.Sprintf("kopshook-%d", i+1))
			twoBuilds.sums[i] = build(t, dir, program)
			twoBuilds.dirs[i], twoBuilds.programs[i] = dir, program
			t.Logf("build %d took %v", i+1, time.Since(start).Round(time.Second))
		}
	})
	if twoBuilds.dirs[1] == "" {
		t.Fatal("a build failed before")
	}
	return twoBuilds.dirs[0], twoBuilds.programs[0]
}

// Two builds of one commit, in different folders, are the same bytes.
func TestReleasesAreReproducible(t *testing.T) {
	builds(t)
	if twoBuilds.sums[0] != twoBuilds.sums[1] {
		t.Errorf("two builds differ: %x, %x", twoBuilds.sums[0], twoBuilds.sums[1])
	}
	data, err := os.ReadFile(twoBuilds.programs[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range twoBuilds.dirs {
		if bytes.Contains(data, []byte(dir)) {
			t.Errorf("the program holds the name of the folder it was built in, %s", dir)
		}
	}
}

// So they are where nothing was compiled before: no file of the build cache is shared with the builds above.
func TestReleasesAreReproducibleFromAnEmptyCache(t *testing.T) {
	dir, _ := builds(t)
	start := time.Now()
	sum := build(t, dir, filepath.Join(t.TempDir(), "kopshook"), "GOCACHE="+t.TempDir())
	t.Logf("building from an empty cache took %v", time.Since(start).Round(time.Second))
	if sum != twoBuilds.sums[0] {
		t.Errorf("from an empty cache: %x, not %x", sum, twoBuilds.sums[0])
	}
}

func TestVersionSaysReleaseCommitAndRuntimes(t *testing.T) {
	dir, program := builds(t)
	commit := strings.TrimSpace(run(t, dir, fixed, "git", "rev-parse", "HEAD"))
	got := run(t, dir, nil, program, "version")
	for _, want := range []string{"kopshook " + tag + "\n", "commit: " + commit + "\n", "runtimes: v1"} {
		if !strings.Contains(got, want) {
			t.Errorf("version prints no %q:\n%s", want, got)
		}
	}
}
