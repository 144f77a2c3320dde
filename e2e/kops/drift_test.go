//go:build e2e

package kops

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/golden"
)

var plainGroup = group("plain", nil, spec(network))

// nodeupFiles is the golden file: what nodeup leaves on a node, a path each. The kubelet's own files are not in it.
const nodeupFiles = "testdata/nodeup-files.txt"

// written are the places that nodeup writes to. What is in them when it has run, and was not before, is nodeup's.
var written = []string{
	"/etc/containerd/*", "/etc/cni/*", "/etc/kubernetes/*", "/etc/sysconfig/*", "/etc/sysctl.d/*", "/etc/logrotate.d/*", "/etc/crictl.yaml",
	"/etc/environment", "/etc/profile.d/*", "/opt/cni/bin/*", "/opt/kops/*/*", "/srv/kubernetes/*", "/usr/bin/*", "/usr/sbin/*", "/usr/local/bin/*",
	"/usr/lib/systemd/system/*", "/etc/systemd/system/*", "/etc/systemd/system/*.wants/*", "/var/lib/kubelet/kube*", "/var/lib/kube-proxy/*",
}

// units are the texts that the stand-in has of its own.
var units = []string{"kops-configuration.service", "containerd.service", "kubelet.service"}

// left lists what a boot left in the places, but for what is kopshook's or of the trial, and reads the units.
func left(t *testing.T, m *boot.Machine) (files []string, texts map[string]string) {
	t.Helper()
	for _, pattern := range written {
		found, err := m.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if !strings.Contains(path, "kopshook") && !strings.Contains(path, "/trial") && !strings.HasPrefix(path, "/etc/systemd/system/sysinit") {
				files = append(files, path)
			}
		}
	}
	slices.Sort(files)
	texts = map[string]string{}
	for _, unit := range units {
		text, err := m.ReadFile("/usr/lib/systemd/system/" + unit)
		if err != nil {
			t.Error(err)
		}
		texts[unit] = strings.TrimSpace(string(text))
	}
	return slices.Compact(files), texts
}

// TestStandInIsLikeNodeup: the stand-in of nodeup writes the units that the real one writes, and no file that it does not
// write; and what the real one leaves is what it left when somebody last looked.
func TestStandInIsLikeNodeup(t *testing.T) {
	t.Parallel()
	real := newNode(t, plainGroup, suites[0].Name)
	first := real.boot(boot.Options{Until: func(ctx context.Context) { real.ready(ctx) }})
	report(t, settles(first))
	realFiles, realUnits := left(t, real.Machine)

	data, err := theCluster.UserData(plainGroup)
	if err != nil {
		t.Fatal(err)
	}
	standIn, err := boot.New(context.Background(), boot.Config{Suite: suites[0].Name, UserData: data, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { standIn.Close() })
	other := (&node{Machine: standIn, name: "the stand-in", t: t}).boot(boot.Options{})
	report(t, settles(other))
	standInFiles, standInUnits := left(t, standIn)

	if diff := cmp.Diff(realUnits, standInUnits); diff != "" {
		t.Errorf("units of internal/boot/standin/nodeup differ from nodeup's (-nodeup +stand-in)\n%s", diff)
	}
	for _, path := range standInFiles {
		if !slices.Contains(realFiles, path) {
			t.Errorf("the stand-in leaves %s, which nodeup does not", path)
		}
	}
	// other files than nodeup left before: the recipes and the stand-in may want a change
	golden.Check(t, nodeupFiles, []byte(strings.Join(realFiles, "\n")+"\n"))
}
