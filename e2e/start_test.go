//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// startPage returns what docs/start.md has its reader do on a cluster: the commands before kopshook try, and those after it.
func startPage(t *testing.T) (before, after string) {
	t.Helper()
	page, err := os.ReadFile("../docs/start.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := [2]string{}
	tries, info := 0, ""
	for line := range strings.Lines(string(page)) {
		switch fence, ok := strings.CutPrefix(line, "```"); {
		case ok:
			info = strings.TrimSpace(fence)
		case strings.HasPrefix(line, "sudo kopshook try "):
			tries++
		case info == "sh" || info == "sh next":
			parts[min(tries, 1)] += line
		}
	}
	if tries != 1 || !strings.Contains(parts[0], "kopshook merge -w ") || !strings.Contains(parts[1], "kops rolling-update ") {
		t.Fatalf("docs/start.md has another order: %q, %d times try, %q", parts[0], tries, parts[1])
	}
	return parts[0], parts[1]
}

// docs/start.md from end to end, on two clusters: what it does for one instance group is done for all, and each group that has
// hooks then is booted, as the page says.
func TestStart(t *testing.T) {
	t.Parallel()
	before, after := startPage(t)
	read := func(name string) string {
		data, err := os.ReadFile("../examples/" + name + "/cluster.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mixed := read("mixed")
	for cluster, manifest := range map[string]string{
		"main.example.com": mixed,
		"prod.example.com": mixed + "---\n" + read("adopt"),
	} {
		t.Run(cluster, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string) {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write("kops.yaml", strings.ReplaceAll(manifest, "main.example.com", cluster))
			write("bin/kopshook", "#!/bin/sh\nexec "+program+" kopshook \"$@\"\n")
			write("bin/kops", `#!/bin/sh
case "$1 $2" in
"get ig") cat kops.yaml ;;
"replace -f") cp "$3" kops.yaml ;;
esac
`)
			run := func(commands string) {
				t.Helper()
				// findings of lint and explain, and differences, are exit code 1
				script := `kopshook() { command kopshook "$@" || case $?$1 in 1lint | 1explain | 1diff) ;; *) return 1 ;; esac; }` + "\n" +
					regexp.MustCompile(` -g [a-z-]+`).ReplaceAllString(strings.ReplaceAll(commands, "main.example.com", cluster), "")
				cmd := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", script)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			run(before)
			merged := filepath.Join(dir, "cluster.yaml")
			code, out, _ := kopshook(t, "render", "-o", "json", "-f", filepath.Join(dir, "adopted.yaml"), "-f", filepath.Join(dir, "nvidia-driver.yaml"), merged)
			var groups []struct {
				InstanceGroup      string
				AdditionalUserData []struct{ Name string }
			}
			if err := json.Unmarshal([]byte(out), &groups); err != nil || code != 0 {
				t.Fatal(code, err)
			}
			booted := 0
			t.Run("try", func(t *testing.T) {
				for _, g := range groups {
					if len(g.AdditionalUserData) == 0 {
						continue
					}
					booted++
					t.Run(g.InstanceGroup, func(t *testing.T) {
						t.Parallel()
						if code, _, _ := kopshook(t, "try", "--group", g.InstanceGroup, merged); code != 0 {
							t.Errorf("exit code %d, want 0", code)
						}
					})
				}
			})
			if booted < 2 {
				t.Errorf("%d instance groups have hooks, want more", booted)
			}
			run(after)
			if now, err := os.ReadFile(filepath.Join(dir, "kops.yaml")); err != nil || !strings.Contains(string(now), "name: kopshook-000-gate.sh") {
				t.Errorf("kops has no hooks then: %v", err)
			}
		})
	}
}
