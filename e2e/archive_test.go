//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/boot"
)

// scriptOf is a script of about size bytes, as varied as scripts of people are, that adds an event and ends well.
func scriptOf(name string, size int, r *rand.Rand) string {
	words := strings.Fields("systemctl enable disable apt-get install curl modprobe sysctl mkdir chmod grep awk containerd kubelet /etc /var/lib /usr/local/bin driver version config mirror --quiet --no-install-recommends $HOME ${BRANCH:-580}")
	b := strings.Builder{}
	fmt.Fprintf(&b, "#!/bin/sh\n/trial/bin/event %s\nexit 0\n", name)
	for b.Len() < size {
		b.WriteString("#")
		for range 4 + r.IntN(6) {
			fmt.Fprintf(&b, " %s", words[r.IntN(len(words))])
		}
		fmt.Fprintf(&b, " %x\n", r.Uint32N(1<<12))
	}
	return b.String()
}

// Issue 4: a spec with 20 KB of scripts is brought by kopshook fit into what AWS takes, and arrives bit for bit.
func TestTwentyKilobytesFitAndArrive(t *testing.T) {
	const worker = 16384
	r := rand.New(rand.NewPCG(1, 2))
	scripts := map[string]string{}
	var names []string
	var hooks strings.Builder
	for i := range 8 {
		name := fmt.Sprintf("hook%d", i)
		scripts[name] = scriptOf(name, 2560, r)
		names = append(names, name)
		fmt.Fprintf(&hooks, "- name: %s # a comment\n  script: |\n", name)
		for line := range strings.Lines(scripts[name]) {
			hooks.WriteString("    " + line)
		}
	}
	dir := t.TempDir()
	file, ig := filepath.Join(dir, "hooks.yaml"), filepath.Join(dir, "ig.yaml")
	base := filepath.Join(dir, "user_data")
	for name, data := range map[string][]byte{file: []byte(spec("big", hooks.String())), ig: []byte(manifest), base: userData(t)} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, stdout, stderr := kopshook(t, "fit", "-w", "-f", file, "--base", base, ig); code != 0 {
		t.Fatalf("fit: exit code %d\n%s%s", code, stdout, stderr)
	}
	fitted, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(fitted), "\n  archive: true\n") || strings.Count(string(fitted), " # a comment\n") != len(names) {
		t.Fatalf("fit wrote\n%s", fitted)
	}
	data := userData(t, parts(t, string(fitted))...)
	if len(data) > worker {
		t.Fatalf("%d bytes of user data", len(data))
	}
	t.Logf("%d bytes of scripts are %d bytes of user data", 8*2560, len(data))
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, data)
		n.boot(boot.Options{}).joins().fails().happens(append(names, "nodeup-start", "kubelet-start")...)
		for name, script := range scripts {
			n.hasFile("/opt/kopshook/hooks/"+name+"/script", []byte(script), 0o700, 0, 0)
		}
		n.boot(boot.Options{}).joins().fails().never(names...)
	})
}

// archived is a spec with these hooks, in an archive.
func archived(hooks string) string {
	text := spec("archived", hooks)
	if !strings.Contains(text, "archive: true") {
		text = strings.Replace(text, "selector: {}\n", "selector: {}\n  archive: true\n", 1)
	}
	return text
}

// An archive that does not arrive whole keeps the node from joining.
func TestDamagedArchiveFailsClosed(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		for name, damage := range map[string]func(string) string{
			"cut off":    func(s string) string { return s[:strings.Index(s, "<< .\n")+200] + s[strings.Index(s, "\n.\n"):] },
			"no script":  func(s string) string { return strings.TrimPrefix(s, "#!") },
			"not whole":  func(s string) string { return s[:strings.Index(s, "gzip -dc")] },
			"left alone": nil,
		} {
			t.Run(name, func(t *testing.T) {
				list := parts(t, archived(quick))
				for i, p := range list {
					if strings.Contains(p.Name, "-archive") && damage != nil {
						list[i] = kops.UserData{Name: p.Name, Type: p.Type, Content: damage(p.Content)}
					}
				}
				n := newNode(t, suite, userData(t, list...))
				r := n.boot(boot.Options{})
				if damage == nil {
					r.joins().happens("pre", "early")
					return
				}
				r.blocks().never("pre", "early", "nodeup-start")
				if name == "cut off" { // in the other cases nothing runs that could say so
					r.contains("console", r.Console, `kopshook: {"part":"archive","state":"failed","reason":"cloud-init-output.log"}`)
				}
			})
		}
	})
}
