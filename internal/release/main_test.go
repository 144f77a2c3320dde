package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// The commands that people copy, and the image, build with the flags of a release.
func TestEverybodyBuildsWithTheSameFlags(t *testing.T) {
	page, err := os.ReadFile("../../docs/releases.md")
	if err != nil {
		t.Fatal(err)
	}
	want := `CGO_ENABLED=0 go build ` + flags + ` -ldflags "` + ldflags("$(git describe --tags)") + `" -o kopshook .`
	if !bytes.Contains(page, []byte(want)) {
		t.Errorf("docs/releases.md does not say: %s", want)
	}
	data, err := os.ReadFile("../../.ko.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ko struct {
		Builds []struct{ Env, Flags, Ldflags []string }
	}
	if err := yaml.Unmarshal(data, &ko); err != nil {
		t.Fatal(err)
	}
	b := ko.Builds[0]
	if got := strings.Join(b.Flags, " "); got != flags {
		t.Errorf("ko builds with %q, a release with %q", got, flags)
	}
	if got, want := strings.Join(b.Ldflags, " "), ldflags("{{ .Git.Tag }}"); got != want {
		t.Errorf("ko links with %q, a release with %q", got, want)
	}
	if got := strings.Join(b.Env, " "); got != "CGO_ENABLED=0" {
		t.Errorf("ko builds with %q", got)
	}
}

// Programs that unpack archives agree with what packed them.
func TestArchives(t *testing.T) {
	t.Chdir("../..")
	when := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	for name, unpack := range map[string][]string{"a.tar.gz": {"tar", "-xzf", "a.tar.gz"}, "a.zip": {"python3", "-m", "zipfile", "-e", "a.zip", "."}} {
		t.Run(name, func(t *testing.T) {
			windows := name == "a.zip"
			files, err := contents([]byte("program"), windows)
			if err != nil {
				t.Fatal(err)
			}
			pack := tarGz
			if windows {
				pack = zipped
			}
			data, err := pack(files, when)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := pack(files, when); !bytes.Equal(data, again) {
				t.Error("the second time it has other bytes")
			}
			if _, err := exec.LookPath(unpack[0]); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(unpack[0], unpack[1:]...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, f := range files {
				got, err := os.ReadFile(filepath.Join(dir, f.name))
				if err != nil || !bytes.Equal(got, f.data) {
					t.Errorf("%s: %v, %d bytes of %d", f.name, err, len(got), len(f.data))
				}
				info, err := os.Stat(filepath.Join(dir, f.name))
				if err == nil && !windows && (info.Mode().Perm() != f.mode || !info.ModTime().Equal(when)) {
					t.Errorf("%s: mode %v, time %v", f.name, info.Mode(), info.ModTime())
				}
			}
		})
	}
}

func TestGzipHasNoNameAndNoTime(t *testing.T) {
	data, err := tarGz(nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(z); err != nil || z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("%v, name %q, time %v", err, z.Name, z.ModTime)
	}
}

func TestContentsListNamesWhatIsLinked(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "kopshook.dev/kopshook"}, Deps: []*debug.Module{
		{Path: "example.com/A", Version: "v1.0.0+incompatible"},
		{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"}},
	}}
	c := commit{tag: "v0.1.0", time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	data, err := contentsList("kopshook_0.1.0_linux_amd64", c, info, []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"pkg:golang/kopshook.dev/kopshook@v0.1.0"`, `"pkg:golang/example.com/a@v1.0.0%2Bincompatible"`, `"pkg:golang/example.com/c@v2.0.0"`,
		`"pkg:golang/stdlib@1.26.8"`, `"created": "2026-01-02T03:04:05Z"`, `"relatedSpdxElement": "SPDXRef-Package-3"`,
		`"1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8"`,
	} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("no %s in\n%s", want, data)
		}
	}
	if bytes.Contains(data, []byte("example.com/b")) {
		t.Error("a module that was replaced is in the list")
	}
}

// A release is what a commit with a tag holds: nothing is made of anything else, and nothing that is there is overwritten.
func TestRefusals(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	t.Chdir(dir)
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	refused := func(why string) {
		t.Helper()
		if err := release(ctx, "dist", []string{"linux/amd64"}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, not %q", err, why)
		}
	}
	refused("run it in the top folder of the tree")
	write := func(name, data string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module x\n\ngo 1.2.3\n")
	refused("set GOTOOLCHAIN=go1.2.3")
	want, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write("go.mod", string(want))
	git("init", "-q")
	refused("these files differ from the commit")
	git("add", "-A")
	git("commit", "-q", "-m", "x")
	refused("the commit has no tag")
	git("tag", "v0.1.0")
	write(".git/info/exclude", "dist\n")
	if err := os.Mkdir("dist", 0o777); err != nil {
		t.Fatal(err)
	}
	write("dist/old", "")
	refused("is not empty")
	if err := os.Remove("dist/old"); err != nil {
		t.Fatal(err)
	}
	refused("go build")
	if left, err := os.ReadDir("dist"); len(left) > 0 || err != nil {
		t.Errorf("a build failed, and dist holds %v, %v", left, err)
	}
}

var repository, _ = filepath.Abs("../..")
