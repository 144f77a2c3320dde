package generator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// archived returns the hooks, all to be packed.
func archived(hooks []Hook) []Hook {
	out := append([]Hook(nil), hooks...)
	for i := range out {
		out[i].Archive = true
	}
	return out
}

func TestArchiveGolden(t *testing.T) {
	var parts, plain txtar.Archive
	for _, p := range mustGenerate(t, gpuGroup, archived(allKinds(t))...) {
		parts.Files = append(parts.Files, txtar.File{Name: p.Name + " " + p.Type, Data: []byte(p.Content)})
		plain.Files = append(plain.Files, txtar.File{Name: p.Name + " " + p.Type, Data: []byte(Plain(p))})
	}
	checkGolden(t, "archive.parts", txtar.Format(&parts))
	checkGolden(t, "archive.plain", txtar.Format(&plain))
}

func TestArchiveLeavesTheRestAsItIs(t *testing.T) {
	a, b, boot := newHook("a", PreNodeup, "#!/bin/sh\necho a\n"), newHook("b", PreNodeup, "#!/bin/sh\necho b\n"), newHook("c", Boot, "#!/bin/sh\n")
	plain := mustGenerate(t, gpuGroup, a, b, boot)
	a.Archive, boot.Archive = true, true
	packed := mustGenerate(t, gpuGroup, a, b, boot)
	var names []string
	for _, p := range packed {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"kopshook-000-gate.sh", archiveName, "kopshook-500-c.yaml", "kopshook-500-b.yaml"}, names); diff != "" {
		t.Fatal(diff)
	}
	// the gate, the bootcmd and the hook that stays are what they were
	byName := map[string]string{}
	for _, p := range plain {
		byName[p.Name] = p.Content
	}
	for _, p := range packed {
		if p.Name != archiveName && p.Content != byName[p.Name] {
			t.Errorf("%s changed", p.Name)
		}
	}
}

func TestArchiveOfAnotherHookIsAnother(t *testing.T) {
	a := newHook("a", PreNodeup, "#!/bin/sh\necho a\n")
	a.Archive = true
	first := mustGenerate(t, gpuGroup, a)[1].Content
	a.Scripts = []Script{{"script", []byte("#!/bin/sh\necho b\n")}}
	second := mustGenerate(t, gpuGroup, a)[1].Content
	hash := func(s string) string {
		_, rest, _ := strings.Cut(s, "\necho ")
		h, _, _ := strings.Cut(rest, " ")
		return h
	}
	if len(hash(first)) != 12 || hash(first) == hash(second) {
		t.Errorf("hashes %q and %q", hash(first), hash(second))
	}
}

// unpack runs the archive on the node, below its root.
func (n *node) unpack(content string) (string, int) {
	n.t.Helper()
	return n.sh("archive.sh", strings.Replace(content, "IFS= read -r path; do\n", "IFS= read -r path; do\n  path="+n.root+"$path\n", 1))
}

func TestArchiveOnTheNode(t *testing.T) {
	hooks := archived(allKinds(t))
	parts := mustGenerate(t, gpuGroup, hooks...)
	start := func(t *testing.T) *node {
		n := newNode(t)
		if out, status := n.gate(hooks...); status != 0 {
			t.Fatal(out)
		}
		return n
	}
	// what write_files would have written
	want := map[string]string{}
	for _, p := range mustGenerate(t, gpuGroup, allKinds(t)...) {
		if p.Type == cloudConfig {
			for path, content := range written(t, p) {
				if path != "/etc/theirs" {
					want[path] = string(content)
				}
			}
		} else if name, ok := installed[p.Name]; ok {
			want["/opt/kopshook/bin/"+name] = p.Content
		}
	}
	found := func(n *node) map[string]string {
		got := map[string]string{}
		for _, dir := range []string{"opt/kopshook", "etc/systemd/system"} {
			filepath.Walk(n.path(dir), func(path string, info os.FileInfo, err error) error {
				if err == nil && info.Mode().IsRegular() && !strings.Contains(path, ".d/") {
					b, _ := os.ReadFile(path)
					got[strings.TrimPrefix(path, n.root)] = string(b)
				}
				return nil
			})
		}
		return got
	}

	t.Run("puts in place what write_files would", func(t *testing.T) {
		n := start(t)
		if out, status := n.unpack(parts[1].Content); status != 0 {
			t.Fatalf("status %d: %s", status, out)
		}
		if got := n.read("dev/console"); got != "" {
			t.Errorf("on the console: %q", got)
		}
		if diff := cmp.Diff(want, found(n)); diff != "" {
			t.Error(diff)
		}
		for path, mode := range map[string]os.FileMode{"opt/kopshook/hooks/folder/20 second": 0o700, "opt/kopshook/bin/run": 0o755,
			"etc/systemd/system/kopshook-light.service": 0o644, "opt/kopshook/hooks/nvidia-driver/files/0": 0o600} {
			info, err := os.Stat(n.path(path))
			if err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	})
	t.Run("once per machine", func(t *testing.T) {
		n := start(t)
		n.unpack(parts[1].Content)
		if err := os.RemoveAll(n.path("opt/kopshook/hooks/light")); err != nil { // as cleanup: on-success does
			t.Fatal(err)
		}
		n.gate(hooks...)
		if out, status := n.unpack(parts[1].Content); status != 0 || n.exists("opt/kopshook/hooks/light") {
			t.Errorf("a second boot: status %d: %s", status, out)
		}
		n.mkdir("var/lib/cloud/instances/i-2")
		n.instance("i-2")
		n.gate(hooks...)
		if out, status := n.unpack(parts[1].Content); status != 0 || !n.exists("opt/kopshook/hooks/light/script") {
			t.Errorf("another machine: status %d: %s", status, out)
		}
	})
	t.Run("again, when the user data has another", func(t *testing.T) {
		n := start(t)
		n.write("var/lib/kopshook/i-1/.archive", "0123456789ab\n", 0o644)
		if out, status := n.unpack(parts[1].Content); status != 0 || len(found(n)) != len(want) {
			t.Errorf("status %d: %s", status, out)
		}
	})
	t.Run("nothing, when it is damaged", func(t *testing.T) {
		content := parts[1].Content
		_, encoded, _ := strings.Cut(content, "<< .\n")
		middle := strings.Index(content, encoded[:40]) + 2000
		for name, bad := range map[string]string{
			"a character": content[:middle] + map[bool]string{true: "B", false: "A"}[content[middle] == 'A'] + content[middle+1:],
			"cut off":     content[:middle] + content[strings.Index(content, "\n.\n"):],
			"no base64":   content[:middle] + "!" + content[middle+1:],
		} {
			n := start(t)
			if _, status := n.unpack(bad); status == 0 {
				t.Errorf("%s: it was taken", name)
			}
			if want := "kopshook: {\"part\":\"archive\",\"state\":\"failed\",\"reason\":\"cloud-init-output.log\"}\n"; n.read("dev/console") != want {
				t.Errorf("%s: on the console: %q", name, n.read("dev/console"))
			}
			if diff := cmp.Diff(map[string]string{}, found(n)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if out, status := n.unpack(content); status != 0 || len(found(n)) != len(want) {
				t.Errorf("%s, then a good one: status %d: %s", name, status, out)
			}
		}
	})
	t.Run("no unit without its scripts, when the disk fills up", func(t *testing.T) {
		n := start(t)
		n.write("bin/head", "#!/bin/sh\nc=$(cat "+n.root+"/count 2> /dev/null || echo 0)\necho $((c + 1)) > "+n.root+"/count\n[ \"$c\" -lt 9 ] || exit 1\nexec /usr/bin/head \"$@\"\n", 0o755)
		if _, status := n.unpack(parts[1].Content); status == 0 {
			t.Error("it went on")
		}
		for path := range found(n) {
			if strings.HasSuffix(path, ".service") {
				t.Errorf("%s is there", path)
			}
		}
	})
	t.Run("is not done before it is on the disk", func(t *testing.T) {
		n := start(t)
		n.write("bin/sync", "#!/bin/sh\n[ -e "+n.path("opt/kopshook/hooks/light/script")+" ] || echo too early >&2\nexit 1\n", 0o755)
		if out, status := n.unpack(parts[1].Content); status == 0 || out != "" || n.exists("var/lib/kopshook/i-1/.archive") {
			t.Errorf("status %d: %s", status, out)
		}
	})
	t.Run("nothing, when the gate is not there", func(t *testing.T) {
		n := newNode(t)
		if _, status := n.unpack(parts[1].Content); status == 0 || len(found(n)) > 0 {
			t.Errorf("status %d, %v", status, found(n))
		}
	})
}

func TestIdenticalContentIsEmbeddedOnce(t *testing.T) {
	h := newHook("x", PreNodeup, "")
	same := []byte("the same bytes, many of them\n")
	h.Files = []File{
		{Path: "/a", Mode: 0o600, Owner: "root:root", Content: same},
		{Path: "/b", Mode: 0o644, Owner: "daemon:daemon", Content: []byte("others\n")},
		{Path: "/c", Mode: 0o644, Owner: "root:root", Content: same},
	}
	content := mustGenerate(t, gpuGroup, h)[2].Content
	if n := strings.Count(content, string(same)); n != 1 {
		t.Errorf("it is there %d times:\n%s", n, content)
	}
	for _, want := range []string{"0600 -o root -g root files/0 ", "0644 -o daemon -g daemon files/1 ", "0644 -o root -g root files/0 "} {
		if !strings.Contains(content, want) {
			t.Errorf("%q is missing in\n%s", want, content)
		}
	}
}

// A file without content has no bytes, like one that is downloaded: it is staged all the same.
func TestAnEmptyFileIsStagedBesideADownload(t *testing.T) {
	h := newHook("x", PreNodeup, "")
	h.Files = []File{
		{Path: "/a", Mode: 0o644, Owner: "root:root", URLs: []string{"https://example.com/a"}, SHA256: strings.Repeat("a", 64)},
		{Path: "/b", Mode: 0o644, Owner: "root:adm"},
	}
	parts := mustGenerate(t, gpuGroup, h)
	var all strings.Builder
	for _, p := range parts {
		all.WriteString(p.Content)
	}
	for _, want := range []string{"path: /opt/kopshook/hooks/x/files/1\n", "install -DT -m 0644 -o root -g adm files/1 "} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is missing in\n%s", want, all.String())
		}
	}
}
