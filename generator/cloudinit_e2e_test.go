//go:build e2e

package generator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/cloudinit"
)

// onEachSuite runs a test with the cloud-init of each Debian release.
func onEachSuite(t *testing.T, test func(*testing.T, string)) {
	for _, suite := range []string{"bookworm", "trixie"} {
		t.Run(suite, func(t *testing.T) { test(t, suite) })
	}
}

// receive gives the parts, framed by kops, to cloud-init's own code and returns the folder where it left what it made.
func receive(t *testing.T, release string, parts []UserData) string {
	t.Helper()
	list := []cloudinit.Part{{Name: "theirs.yaml", Type: cloudConfig, Content: "#cloud-config\nwrite_files:\n- {path: /theirs, content: theirs}\n"}}
	for _, p := range parts {
		list = append(list, cloudinit.Part(p))
	}
	root := t.TempDir()
	driver, err := os.ReadFile("testdata/node.py")
	if err != nil {
		t.Fatal(err)
	}
	message := cloudinit.Message([]byte("#!/bin/bash\necho nodeup\n"), "Node", list)
	for name, data := range map[string][]byte{"node.py": driver, "user-data": message} {
		if err := os.WriteFile(filepath.Join(root, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	suite, err := boot.FindSuite(release)
	if err != nil {
		t.Fatal(err)
	}
	debian, err := boot.RootFS(t.Context(), suite, nil, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	// the mount is seen by this process alone and ends with it
	const script = `mount --bind "$2" "$1/mnt" && exec env PYTHONDONTWRITEBYTECODE=1 chroot "$1" /usr/bin/python3 /mnt/node.py /mnt/user-data /mnt`
	if out, err := exec.Command("unshare", "--mount", "sh", "-c", script, "sh", debian, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: this needs root\n%s", err, out)
	}
	if got, err := os.ReadFile(root + "/fs/theirs"); err != nil || string(got) != "theirs" {
		t.Fatalf("the user's own file: %q, %v", got, err)
	}
	return root
}

// randomContents are made of what is awkward in YAML, in mail and in scripts.
func randomContents(n int) [][]byte {
	pieces := []string{"\n", "\n\n", " ", "  ", "\t", "\r", "\r\n", "a", "word ", "#", "- ", ": ", "|", "\"", "'", "\\", "\\n", "{", "}", "%", "@", "&", "*", "!", "---\n", "...\n",
		"--MIMEBOUNDARY\n", "#cloud-config\n", "yes", "0755", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "é", "中", "😀", "\x00", "\x1b", "\x7f", "\xff", "\ufffe", "\x0b", "\x0c"}
	r := rand.New(rand.NewPCG(7, 8))
	all := make([][]byte, n)
	for i := range all {
		all[i] = []byte{}
		kinds := r.IntN(len(pieces)) + 1
		for range r.IntN(40) {
			all[i] = append(all[i], pieces[r.IntN(kinds)]...)
		}
		if i%3 == 0 {
			r.Shuffle(len(pieces), func(a, b int) { pieces[a], pieces[b] = pieces[b], pieces[a] })
		}
	}
	return all
}

func TestCloudInitWritesEveryByte(t *testing.T) { onEachSuite(t, cloudInitWritesEveryByte) }

func cloudInitWritesEveryByte(t *testing.T, suite string) {
	all := randomContents(300)
	for _, c := range contents() {
		all = append(all, c)
	}
	var hooks []Hook
	for i, content := range all {
		h := newHook(fmt.Sprintf("h%d", i), PreNodeup, "")
		h.Scripts = []Script{{"script", content}}
		h.Verify = content
		h.Files = []File{{Path: "/etc/x", Mode: 0o644, Owner: "root:root", Content: content}}
		h.Compress = i%2 == 1
		if s := strings.ToValidUTF8(strings.ReplaceAll(string(content), "\x00", ""), ""); len(s) < 2000 {
			h.Env = map[string]string{"X": s}
		}
		hooks = append(hooks, h)
	}
	parts := mustGenerate(t, gpuGroup, hooks...)
	root := receive(t, suite, parts)
	for i, want := range all {
		dir := fmt.Sprintf("%s/fs/opt/kopshook/hooks/h%d/", root, i)
		for _, file := range []string{"script", "verify", "files/0"} {
			got, err := os.ReadFile(dir + file)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s of hook %d: got %q, want %q, %v", file, i, got, want, err)
			}
		}
	}
	files, err := Files(gpuGroup, "v1", hooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Path, "/etc/systemd/system/kopshook-") || strings.Contains(f.Path, ".d/") {
			continue
		}
		if got, err := os.ReadFile(root + "/fs" + f.Path); err != nil || !bytes.Equal(got, f.Content) {
			t.Errorf("%s: got %q, want %q, %v", f.Path, got, f.Content, err)
		}
	}
	for _, p := range parts {
		if p.Type != boothook {
			continue
		}
		if got, err := os.ReadFile(root + "/boothooks/" + p.Name); err != nil || string(got) != p.Content {
			t.Errorf("%s: got %q, %v", p.Name, got, err)
		}
	}
	if info, err := os.Stat(root + "/fs/opt/kopshook/hooks/h0/files/0"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("staged file: %v, %v", info, err)
	}
}

func TestCloudInitStartsBootHooksWithTheirArguments(t *testing.T) {
	onEachSuite(t, cloudInitStartsBootHooksWithTheirArguments)
}

func cloudInitStartsBootHooksWithTheirArguments(t *testing.T, suite string) {
	var hooks []Hook
	want := ""
	for i, content := range append(randomContents(200), []byte("#!/bin/bash -eu\nexit 1\n"), []byte("if (((\n"), []byte("it's '\\''\n")) {
		if strings.ContainsRune(string(content), 0) || strings.ToValidUTF8(string(content), "") != string(content) {
			continue
		}
		h := newHook(fmt.Sprintf("h%03d", i), Boot, "")
		h.Scripts = []Script{{"script", content}}
		h.Env = map[string]string{"X": string(content)}
		hooks = append(hooks, h)
		hash := (&hook{Hook: h}).hash()
		args := []string{"KOPSHOOK_HOOK=" + h.Name, "KOPSHOOK_PHASE=boot", "KOPSHOOK_HASH=" + hash, "X=" + string(content)}
		command := execute("", content)
		args = append(append(args, command[:len(command)-1]...), "-c", string(content), "kopshook-"+h.Name)
		want += strings.Join(args, "\x00") + "\x00\x00"
	}
	root := receive(t, suite, mustGenerate(t, gpuGroup, hooks...))
	record := "#!/bin/sh\nprintf '%s\\0' \"$@\" \"\" >> \"$RECORD\"\n"
	if err := os.WriteFile(root+"/env", []byte(record), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", root+"/bootcmd")
	cmd.Env = []string{"PATH=" + root + ":/usr/bin:/bin", "RECORD=" + root + "/record"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(root + "/record")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(want, "\x00\x00"), strings.Split(string(got), "\x00\x00")); diff != "" {
		t.Error(diff)
	}
}

// The user's cloud-config means in our part what it means in a part of their own.
func TestCloudInitReadsCloudConfigAsItStands(t *testing.T) {
	onEachSuite(t, cloudInitReadsCloudConfigAsItStands)
}

func cloudInitReadsCloudConfigAsItStands(t *testing.T, suite string) {
	theirs := `apt: {preserve_sources_list: yes, x: [0755, 1:30, 1_000, .5, 0x1F, ~, 2001-01-01, "yes", '0755']}
on: off
12e03: 1e3
text: |
  tab	é
    indented

folded: >-
  a
  b
plain: a
  b
quoted: "\u2028\x85\0\t'"
nested: [[1, [2, {a: b, c: [d]}]], {}, [], null, {e: }]
anchor: &a {k: v, l: &b [x, y]}
alias: *a
list: [*b, *b]
merged:
  <<: *a
  k: w
tagged: [!!str 0755, !!int "7", !!binary YQ==, !!set {x, y}]
"no": 'it''s'
url: http://example.com/#x
spaces: "  a  "
`
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(theirs), &n); err != nil {
		t.Fatal(err)
	}
	h := newHook("x", PreNodeup, "#!/bin/sh\n")
	h.CloudConfig = n.Content[0]
	ours := receive(t, suite, mustGenerate(t, gpuGroup, h))
	// what they would have got, were the way to the node not one for ASCII only
	ascii := strings.NewReplacer("  tab\té\n    indented\n\n", "", "text: |\n", `text: "tab\t\u00e9\n  indented\n"`+"\n").Replace(theirs)
	own := receive(t, suite, []UserData{{"own.yaml", cloudConfig, "#cloud-config\n" + mergeHow + ascii}})
	read := func(root string) (m map[string]any) {
		b, err := os.ReadFile(root + "/config.json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	if diff := cmp.Diff(read(own), read(ours)); diff != "" {
		t.Error(diff)
	}
}

func TestShellIsClean(t *testing.T) {
	dir := t.TempDir()
	var scripts []string
	for _, p := range mustGenerate(t, gpuGroup, allKinds(t)...) {
		if p.Type != boothook {
			continue
		}
		path := filepath.Join(dir, p.Name)
		if err := os.WriteFile(path, []byte(p.Content), 0o600); err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, path)
		for _, shell := range []string{"dash", "bash"} {
			if out, err := exec.Command(shell, "-n", path).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", shell, err, out)
			}
		}
	}
	// as they are kept, with what shellcheck is to pass over, which nodes do not get; then as they are generated
	kept, err := filepath.Glob("../templates/v1/*.sh")
	if err != nil || len(kept) == 0 {
		t.Fatal(kept, err)
	}
	if out, err := exec.Command("shellcheck", append([]string{"-s", "sh"}, kept...)...).CombinedOutput(); err != nil {
		t.Errorf("%v: this needs shellcheck (apt-get install shellcheck)\n%s", err, out)
	}
	if out, err := exec.Command("shellcheck", append([]string{"-s", "sh", "-e", "SC1091,SC2046,SC2086,SC2238"}, scripts...)...).CombinedOutput(); err != nil {
		t.Errorf("%v: this needs shellcheck (apt-get install shellcheck)\n%s", err, out)
	}
}
