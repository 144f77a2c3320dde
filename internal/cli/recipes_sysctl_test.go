package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLimitsModulesVerifies runs the recipe's verify with a sysctl that prints what kernels do: tabs between numbers.
func TestLimitsModulesVerifies(t *testing.T) {
	const file = "/etc/sysctl.d/90-limits-modules.conf"
	verify := hooksOf(t, filepath.Join(repository(t), "examples", "recipes", "limits-modules.yaml"))["limits-modules"].Verify
	if !strings.Contains(verify, file) {
		t.Fatal("it does not read " + file)
	}
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("systemd-detect-virt", "#!/bin/sh\nexit 1\n")
	write("sysctl", "#!/bin/sh\ncase $2 in\nnet.ipv4.tcp_congestion_control) echo bbr ;;\nnet.ipv4.tcp_rmem) printf '4096\\t131072\\t6291456\\n' ;;\n*) exit 1 ;;\nesac\n")
	for _, c := range []struct {
		name, conf, says string
	}{
		{"values as they are", "net.ipv4.tcp_congestion_control = bbr\n", ""},
		{"no blanks, and many", "net.ipv4.tcp_congestion_control=bbr\n  net.ipv4.tcp_rmem  =  4096 131072   6291456  \n", ""},
		{"tabs in the file", "net.ipv4.tcp_rmem\t=\t4096\t131072 6291456\n", ""},
		{"comments and empty lines", "# it's a comment = x\n\n; another\n   # indented\n", ""},
		{"another value", "# first\nnet.ipv4.tcp_rmem = 4096 131072\n", "net.ipv4.tcp_rmem is 4096 131072 6291456, not 4096 131072\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write("conf", c.conf)
			cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(verify, file, filepath.Join(dir, "conf")))
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if (err != nil) != (c.says != "") || string(out) != c.says {
				t.Errorf("%v: %q, want %q", err, out, c.says)
			}
		})
	}
}
