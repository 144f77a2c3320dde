//go:build e2e

package pipelines

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
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
	run(t, dir, fixed, "git", "tag", "--no-sign", tag)
}

// release makes a release of the tree in dir, for one platform, and returns all files of it.
func release(t *testing.T, dir string, env ...string) map[string]string {
	t.Helper()
	run(t, dir, env, "go", "run", "./internal/release", "-platforms", "linux/"+runtime.GOARCH)
	made := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(dir, "dist", "release"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, "dist", "release", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		made[e.Name()] = string(data)
	}
	if len(made) != 3 {
		t.Fatalf("not archive, contents and checksums: %q", slices.Sorted(maps.Keys(made)))
	}
	return made
}

// twoReleases are those of two folders, made once for all tests.
var twoReleases struct {
	once sync.Once
	dirs [2]string
	made [2]map[string]string
}

// releases returns a folder with a clone of the tree and its release, and the program that was in the archive.
func releases(t *testing.T) (dir, program string) {
	t.Helper()
	two := &twoReleases
	two.once.Do(func() {
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
			two.made[i] = release(t, dir)
			two.dirs[i] = dir
			t.Logf("release %d took %v", i+1, time.Since(start).Round(time.Second))
			run(t, filepath.Join(dir, "dist", "release"), nil, "sha256sum", "--check", "checksums.txt")
			run(t, filepath.Join(dir, "dist", "release"), nil, "sh", "-c", "tar -xzf kopshook_*.tar.gz")
		}
	})
	if two.dirs[1] == "" {
		t.Fatal("a release failed before")
	}
	return two.dirs[0], filepath.Join(two.dirs[0], "dist", "release", "kopshook")
}

// Two releases of one commit, made in different folders, are the same bytes.
func TestReleasesAreReproducible(t *testing.T) {
	_, program := releases(t)
	if !maps.Equal(twoReleases.made[0], twoReleases.made[1]) {
		t.Errorf("two releases differ:\n%s%s", twoReleases.made[0]["checksums.txt"], twoReleases.made[1]["checksums.txt"])
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte(twoReleases.dirs[0])) {
		t.Errorf("the program holds the name of the folder it was built in, %s", twoReleases.dirs[0])
	}
}

// So they are where nothing was compiled before, and whatever else people set for their own builds.
func TestReleasesAreReproducibleFromAnEmptyCache(t *testing.T) {
	releases(t)
	dir := twoReleases.dirs[1]
	if err := os.RemoveAll(filepath.Join(dir, "dist", "release")); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	made := release(t, dir, "GOCACHE="+t.TempDir(), "GOFLAGS=-buildvcs=false", "GOAMD64=v3", "TZ=Asia/Tokyo")
	t.Logf("a release from an empty cache took %v", time.Since(start).Round(time.Second))
	if !maps.Equal(made, twoReleases.made[0]) {
		t.Errorf("from an empty cache:\n%snot\n%s", made["checksums.txt"], twoReleases.made[0]["checksums.txt"])
	}
}

// The command of docs/releases.md makes the program of the archive.
func TestProgramOfAReleaseBuiltByHand(t *testing.T) {
	dir, program := releases(t)
	page, err := os.ReadFile(filepath.Join(repository(t), "docs", "releases.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^CGO_ENABLED=0 go build .*$`).Find(page)
	if command == nil {
		t.Fatal("docs/releases.md has no command that builds")
	}
	run(t, dir, []string{"GOFLAGS="}, "sh", "-c", string(command))
	run(t, dir, nil, "cmp", "kopshook", program)
}

func TestVersionSaysReleaseCommitAndRuntimes(t *testing.T) {
	dir, program := releases(t)
	commit := strings.TrimSpace(run(t, dir, fixed, "git", "rev-parse", "HEAD"))
	got := run(t, dir, nil, program, "version")
	for _, want := range []string{"kopshook " + tag + "\n", "commit: " + commit + "\n", "runtimes: v1"} {
		if !strings.Contains(got, want) {
			t.Errorf("version prints no %q:\n%s", want, got)
		}
	}
}
