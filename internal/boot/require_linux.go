package boot

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Requirements says what this machine lacks for booting nodes, one item a line, each with its remedy; empty means
// nothing.
func Requirements(suite Suite) []string {
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "root: containers need it; run it with sudo")
	}
	var debs []string
	for _, p := range []struct{ program, deb string }{{"mmdebstrap", "mmdebstrap"}, {"systemd-nspawn", "systemd-container"}} {
		if _, err := exec.LookPath(p.program); err != nil {
			debs = append(debs, p.deb)
		}
	}
	if len(debs) > 0 {
		list := strings.Join(debs, " ")
		missing = append(missing, fmt.Sprintf("%s: install it with apt-get install %s (elsewhere: dnf, zypper, pacman)", strings.Join(debs, ", "), list))
	}
	if text := suite.Missing(); text != "" {
		missing = append(missing, text)
	}
	if _, err := cgroupRoot(); err != nil {
		missing = append(missing, "cgroup v2: mount it, or boot with systemd.unified_cgroup_hierarchy=1")
	}
	if data, err := os.ReadFile("/proc/filesystems"); err == nil && !strings.Contains(string(data), "\toverlay\n") {
		if exec.Command("modprobe", "overlay").Run() != nil {
			missing = append(missing, "overlayfs: this kernel has none; use another")
		}
	}
	return missing
}
