// Command release makes what a release consists of: for each platform an archive and a list of what its program is made
// of (SPDX), and the checksums of them all. The same commit makes the same bytes, in any folder and at any time.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// platforms are those that kops' own program is released for.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// flags and ldflags decide the program's bytes. docs/releases.md and .ko.yaml have the same.
const flags = "-buildvcs=true -trimpath"

func ldflags(tag string) string {
	return "-s -w -X kopshook.dev/kopshook/internal/cli.version=" + tag
}

// beside are the files that an archive has besides the program: where they are in the tree, and their names in it.
var beside = []struct{ from, name string }{
	{"CHANGELOG.md", "CHANGELOG.md"},
	{"LICENSE", "LICENSE"},
	{"README.md", "README.md"},
	{"docs/schema/v1alpha1.json", "hooks.schema.json"},
	{"docs/man/kopshook.1", "kopshook.1"},
}

func main() {
	dir := flag.String("dir", "dist/release", "an empty folder, or a new one, for what is made")
	list := flag.String("platforms", platforms, "what to make archives for: OS/ARCHITECTURE, separated by commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, *dir, strings.Split(*list, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// commit is what a release is made of.
type commit struct {
	tag  string
	time time.Time
}

// release is started in the top folder of the tree.
func release(ctx context.Context, dir string, platforms []string) error {
	if err := rightGo(); err != nil {
		return err
	}
	c, err := head(ctx)
	if err != nil {
		return err
	}
	if there, err := os.ReadDir(dir); len(there) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s: is not empty: remove it first", dir))
	}
	made := map[string][]byte{}
	for _, platform := range platforms {
		name := "kopshook_" + strings.TrimPrefix(c.tag, "v") + "_" + strings.ReplaceAll(platform, "/", "_")
		program, err := build(ctx, c, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		info, err := buildinfo.Read(bytes.NewReader(program))
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		files, err := contents(program, strings.HasPrefix(platform, "windows/"))
		if err != nil {
			return err
		}
		pack, extension := tarGz, ".tar.gz"
		if strings.HasPrefix(platform, "windows/") {
			pack, extension = zipped, ".zip"
		}
		if made[name+extension], err = pack(files, c.time); err != nil {
			return err
		}
		if made[name+extension+".spdx.json"], err = contentsList(name, c, info, program); err != nil {
			return err
		}
	}
	made["checksums.txt"] = checksums(made)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, data := range made {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// rightGo refuses another Go than go.mod names: other compilers make other bytes.
func rightGo() error {
	data, err := os.ReadFile("go.mod")
	if err != nil {
		return fmt.Errorf("%w: run it in the top folder of the tree", err)
	}
	for line := range strings.Lines(string(data)) {
		if want, ok := strings.CutPrefix(strings.TrimSpace(line), "go "); ok {
			if runtime.Version() != "go"+want {
				return fmt.Errorf("go.mod names Go %s, this is %s: set GOTOOLCHAIN=go%s", want, runtime.Version(), want)
			}
			return nil
		}
	}
	return errors.New("go.mod names no version of Go")
}

// head is the commit that is checked out. It has a tag, and no file differs from it.
func head(ctx context.Context) (commit, error) {
	changed, err := output(ctx, nil, "git", "status", "--porcelain")
	if err != nil {
		return commit{}, err
	}
	if len(changed) > 0 {
		return commit{}, fmt.Errorf("these files differ from the commit: commit or remove them\n%s", changed)
	}
	tag, err := output(ctx, nil, "git", "describe", "--tags", "--exact-match")
	if err != nil {
		return commit{}, fmt.Errorf("%w: the commit has no tag: check out a release's, or give it one", err)
	}
	when, err := output(ctx, nil, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return commit{}, err
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(when)))
	return commit{tag: strings.TrimSpace(string(tag)), time: at.UTC()}, err
}

// build builds the program outside of the tree: a file of no commit would make the next build "+dirty".
func build(ctx context.Context, c commit, platform string) ([]byte, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("is no OS/ARCHITECTURE")
	}
	dir, err := os.MkdirTemp("", "kopshook-release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "kopshook")
	args := append([]string{"build"}, strings.Fields(flags)...)
	// what people set for themselves does not reach a release
	env := []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + goarch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off"}
	if _, err := output(ctx, env, "go", append(args, "-ldflags", ldflags(c.tag), "-o", program, ".")...); err != nil {
		return nil, err
	}
	return os.ReadFile(program)
}

// contents are the files of an archive, the program first.
func contents(program []byte, windows bool) ([]packed, error) {
	name := "kopshook"
	if windows {
		name += ".exe"
	}
	files := []packed{{name: name, data: program, mode: 0o755}}
	for _, b := range beside {
		data, err := os.ReadFile(b.from)
		if err != nil {
			return nil, err
		}
		files = append(files, packed{name: b.name, data: data, mode: 0o644})
	}
	return files, nil
}

// checksums are what sha256sum --check reads.
func checksums(made map[string][]byte) []byte {
	var lines []string
	for name, data := range made {
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	return []byte(strings.Join(lines, ""))
}

func output(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}
