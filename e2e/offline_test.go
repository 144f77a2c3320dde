//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// withoutRoutes runs the command in a network namespace of its own that leads nowhere, not even to itself, and returns how
// many packets and connections it tried: the kernel counts those that found no route.
func withoutRoutes(t *testing.T, dir string, args ...string) (code, tried int, said string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	counters := filepath.Join(t.TempDir(), "counters")
	const script = `out=$1; shift; timeout 5 "$@"; code=$?; cat /proc/net/snmp /proc/net/snmp6 > "$out"; exit $code`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh", counters, self, "kopshook"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "EDITOR=true", "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	data, err := os.ReadFile(counters)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return cmd.ProcessState.ExitCode(), sentPackets(t, string(data)), string(out)
}

// sentPackets adds up what Linux counts as sent, or not sent for want of a route (Documentation/networking/snmp_counter.rst).
func sentPackets(t *testing.T, counters string) int {
	t.Helper()
	sum, found := 0, 0
	add := func(name, value string) {
		switch name {
		case "OutRequests", "OutNoRoutes", "Ip6OutRequests", "Ip6OutNoRoutes":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
			found++
		}
	}
	var names []string
	for line := range strings.Lines(counters) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2:
			add(f[0], f[1])
		case len(f) > 2 && f[0] == "Ip:" && names == nil:
			names = f
		case len(f) > 2 && f[0] == "Ip:":
			for i := range f[1:] {
				add(names[i+1], f[i+1])
			}
		}
	}
	if found != 4 {
		t.Fatalf("the kernel has other counters than were looked for:\n%s", counters)
	}
	return sum
}

// With --offline no packet is tried, whatever names a source; without it, one is.
func TestOfflineTriesNoPacket(t *testing.T) {
	covered := map[string]bool{}
	defer func() {
		for _, command := range offlineCommands(t) {
			if !covered[command] {
				t.Errorf("%s --offline is not tried", command)
			}
		}
	}()
	for name, source := range map[string]string{
		"an address":     "https://192.0.2.1/x.sh",
		"a name":         "https://hooks.example.com/x.sh",
		"an archive":     "https://192.0.2.1/x.tar.gz//x.sh",
		"a checksum":     "https://192.0.2.1/x.sh?checksum=file:https://192.0.2.2/sums",
		"git":            "git::https://192.0.2.1/x.git//x.sh",
		"git by its hub": "github.com/example/x//x.sh",
		"s3":             "s3::https://s3.eu-central-1.amazonaws.com/bucket/x.sh",
		"gcs":            "gcs::https://www.googleapis.com/storage/v1/bucket/x.sh",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{
				"hooks.yaml": "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: a}\nspec:\n  selector: {}\n  hooks:\n" +
					fmt.Sprintf("  - {name: a, source: %q}\n", source),
				"daemon.yaml": "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: a}\nspec:\n  selector: {}\n  hooks:\n" +
					fmt.Sprintf("  - {name: a, phase: daemon, source: %q}\n", source),
				"around.yaml": "apiVersion: kopshook.dev/v1alpha1\nkind: ClusterHooks\nmetadata: {name: a}\nspec:\n  selector: {}\n  hooks:\n" +
					fmt.Sprintf("  - {name: a, on: [before-upgrade], source: %q}\n", source),
				"kops": "#!/bin/sh\necho '{\"kind\": \"Cluster\", \"metadata\": {\"name\": \"a.example.com\"}}'\n",
				"own.yaml": "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\n  labels: {kops.k8s.io/cluster: a.example.com}\nspec:\n  role: Node\n" +
					"  additionalUserData:\n  - {name: 00-a.sh, type: text/x-shellscript, content: \"#!/bin/sh\\n\"}\n",
				"ig.yaml": "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\n  labels: {kops.k8s.io/cluster: a.example.com}\nspec:\n  role: Node\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range [][]string{
				{"lock", "-f", "hooks.yaml"},
				{"lock", "--update", "-f", "hooks.yaml"},
				{"merge", "-f", "hooks.yaml", "ig.yaml"},
				{"lint", "hooks.yaml", "ig.yaml"},
				{"vendor", "-f", "hooks.yaml", "vendor"},
				{"render", "hooks.yaml", "ig.yaml"}, {"explain", "hooks.yaml", "ig.yaml"}, {"list", "hooks.yaml", "ig.yaml"},
				{"diff", "hooks.yaml", "ig.yaml"}, {"check", "hooks.yaml", "ig.yaml"}, {"fit", "hooks.yaml", "ig.yaml"},
				{"try", "hooks.yaml", "ig.yaml"}, {"bake", "hooks.yaml", "ig.yaml"}, {"push", "hooks.yaml", "ig.yaml"},
				{"edit", "-f", "hooks.yaml", "ig.yaml"}, {"adopt", "-f", "hooks.yaml", "-w", "own.yaml"},
				{"addon", "-o", "-", "--cluster", "a.example.com", "daemon.yaml"},
				{"exec", "around.yaml", "--", "./kops", "upgrade", "cluster", "a.example.com", "--yes"},
			} {
				offline := slices.Insert(slices.Clone(args), 1, "--offline")
				code, tried, said := withoutRoutes(t, dir, offline...)
				covered[args[0]] = true
				if code != 2 || tried != 0 || args[0] == "lock" && !strings.Contains(said, "which --offline forbids") {
					t.Errorf("%s: exit code %d, %d packets were tried: %s", strings.Join(offline, " "), code, tried, said)
				}
			}
			if _, tried, said := withoutRoutes(t, dir, "lock", "-f", "hooks.yaml"); tried == 0 {
				t.Errorf("without --offline nothing was tried, so the counters prove nothing: %s", said)
			}
		})
	}
}

// offlineCommands are the commands that have --offline, by their help.
func offlineCommands(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	help := func(args ...string) string {
		out, err := exec.Command(self, append([]string{"kopshook"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^   ([a-z]+)  `).FindAllStringSubmatch(help("--help"), -1) {
		if strings.Contains(help(m[1], "--help"), "--offline") {
			names = append(names, m[1])
		}
	}
	if len(names) < 10 {
		t.Errorf("only %q have --offline: is the help read rightly?", names)
	}
	return names
}
