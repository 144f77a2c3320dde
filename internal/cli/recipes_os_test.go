package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kopshook.dev/kopshook/examples"
)

// TestRecipesRefuseOtherSystems runs each script that installs packages on a system with neither apt nor dnf: it ends at
// once, before it has done anything, and names the system.
func TestRecipesRefuseOtherSystems(t *testing.T) {
	path := t.TempDir() // no other command is there
	if err := os.WriteFile(filepath.Join(path, "systemd-detect-virt"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, name := range examples.Names() {
		for hook, h := range hooksOf(t, filepath.Join(repository(t), "examples", "recipes", name+".yaml")) {
			if !strings.Contains(h.Script, "apt-get") {
				continue
			}
			tried++
			t.Run(name+", "+hook, func(t *testing.T) {
				cmd := exec.Command("/bin/sh", "-c", h.Script)
				cmd.Env = []string{"PATH=" + path, "KOPSHOOK_NODE_OS=gentoo-2.17"}
				for k, v := range h.Env {
					cmd.Env = append(cmd.Env, k+"="+v)
				}
				out, err := cmd.CombinedOutput()
				if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); err == nil || len(lines) != 1 || !strings.HasSuffix(lines[0], "dpkg on gentoo-2.17") {
					t.Errorf("%v, and it says %q", err, out)
				}
			})
		}
	}
	if tried < 10 {
		t.Errorf("only %d scripts install packages", tried)
	}
}
