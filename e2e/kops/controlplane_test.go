//go:build e2e

package kops

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/localcluster"
	"kopshook.dev/kopshook/internal/nodestatus"
)

var controlPlaneGroup = group(localcluster.ControlPlane, nil, spec(allPhases))

// staticPods are those of a control plane, as the kubelet calls them.
var staticPods = []string{"etcd-manager-events", "etcd-manager-main", "kops-channels", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// asksPods has the kubelet say which pods it found, and leaves a minute for it.
const asksPods = `
for i in $(seq 300); do
  journalctl -b --no-pager -u kubelet | sed -n 's/.*"SyncLoop ADD" source="file" pods=\[\(.*\)\]/\1/p' | tr -d '"' | tr ',' '\n' | sed 's#kube-system/\(.*\)-control-plane-[0-9]*$#pod \1#' | sort -u > /run/pods
  [ "$(wc -l < /run/pods)" -lt 6 ] || break
  sleep 0.2
done
cat /run/pods
systemctl list-unit-files --no-legend 'protokube*'
`

// TestControlPlane: on a machine of the control plane hooks have their moments, too: before nodeup, which reads the state
// store itself there and writes the manifests of static pods, and before the kubelet, which finds these pods. Their images
// are not here, so that no pod of them starts, and nothing registers. protokube is not there: nodeup installs it in clusters
// with gossip alone (nodeup/pkg/model/protokube.go:44 of kops 1.36.2).
func TestControlPlane(t *testing.T) {
	t.Parallel()
	n := newNode(t, controlPlaneGroup, suites[0].Name)
	for i, end := range []boot.Ending{boot.Reboot, boot.Cut} {
		r := n.boot(boot.Options{End: end, Scenario: asksPods})
		report(t, settles(r), inOrder(r, "started kopshook-driver.service", "starting kops-configuration.service"),
			inOrder(r, "started kopshook-driver.service", "starting containerd.service"),
			inOrder(r, "started kopshook-huge-pages.service", "started kubelet.service"), knows(r, "https://127.0.0.1"))
		if i == 0 {
			report(t, firstBoot(r))
		}
		// what docs/once-per-cluster.md uses
		if info, err := n.Stat("/var/lib/kubectl/kubeconfig"); err != nil || info.Mode().Perm() != 0o400 {
			t.Errorf("boot %d: the kubeconfig of an administrator: %v, %v", i+1, info, err)
		}
		// what the kubelet found, and what there is of protokube
		var pods, other []string
		for line := range strings.Lines(r.Scenario) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "pod "); ok {
				pods = append(pods, name)
			} else {
				other = append(other, line)
			}
		}
		slices.Sort(pods)
		if diff := cmp.Diff(staticPods, pods); diff != "" || len(other) > 0 {
			t.Errorf("boot %d: static pods that the kubelet found (-want +got), and besides %q\n%s", i+1, other, diff)
		}
		for _, hook := range []string{"driver", "scratch-disk", "huge-pages", "register", "joined"} {
			if got := n.state(hook); got != nodestatus.Succeeded {
				t.Errorf("boot %d: hook %s is %s", i+1, hook, got)
			}
		}
	}
}
