//go:build e2e

package kops

import (
	"context"
	"testing"
	"time"

	"kopshook.dev/kopshook/e2e/page"
	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/nodestatus"
)

// license is a hook that fails for good where its file is missing.
const license = `
- name: license
  phase: PHASE
  run: every-boot
  attempts: 2
  retryDelay: 0s
  script: |
    #!/bin/sh
    test -e /etc/license
`

// scratchHidden mounts over what nodeup has written: what rule KH054 warns of.
const scratchHidden = `
- name: scratch-disk
  phase: pre-kubelet
  run: every-boot
  script: |
    #!/bin/sh
    set -eu
    for i in $(seq 600); do [ ! -e /var/lib/kubelet/kubelet.conf ] || break; sleep 0.1; done
    mount -t tmpfs -o size=1g none /var/lib/kubelet
`

var (
	preNodeupFails  = group("pre-nodeup-fails", nil, spec(network+replace(license, "PHASE", "pre-nodeup")))
	preKubeletFails = group("pre-kubelet-fails", nil, spec(network+replace(license, "PHASE", "pre-kubelet")))
	mountHides      = group("mount-hides", nil, spec(network+scratchHidden))
)

// running waits in the node until its kubelet has registered it.
const running = "\nfor i in $(seq 300); do journalctl -b --no-pager -u kubelet | grep -Eq 'Successfully registered node|was previously registered' && break; sleep 0.2; done\n"

// TestFailsClosed: with a hook that failed the API server never hears of the node; and the ways out of the page on
// troubleshooting let it join.
func TestFailsClosed(t *testing.T) {
	ways := page.Commands(t, "../../docs/troubleshooting.md")
	const mended = "touch /etc/license\n"
	for _, c := range []struct {
		name, group, before, way string
		state                    nodestatus.State
	}{
		{"pre-nodeup, then retry", preNodeupFails, mended, "Retry", nodestatus.Succeeded},
		{"pre-kubelet, then retry", preKubeletFails, mended, "Retry", nodestatus.Succeeded},
		{"pre-nodeup, then skip", preNodeupFails, "", "Skip a hook", nodestatus.Skipped},
		{"pre-kubelet, then skip", preKubeletFails, "", "Skip a hook", nodestatus.Skipped},
		{"pre-nodeup, then join once", preNodeupFails, "", "Let the node join once", nodestatus.Failed},
		{"pre-nodeup, then enable", preNodeupFails, mended + "systemctl disable kops-configuration\n", "Enable kops-configuration", nodestatus.Succeeded},
		{"pre-nodeup, then cloud-init again", preNodeupFails, mended + "rm -f /etc/systemd/system/kopshook-* /opt/kopshook/bin/*\n", "Run cloud-init again", nodestatus.Succeeded},
	} {
		out := c.before + ways[c.way]
		if ways[c.way] == "" {
			t.Fatalf("the page has no commands under %q", c.way)
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, c.group, suites[0].Name)
			r := n.boot(boot.Options{End: boot.Cut, Scenario: out + running, Until: func(ctx context.Context) {
				time.Sleep(5 * time.Second)
				if n.known() {
					t.Error("the API has the node, though its hook failed")
				}
			}})
			if r.Outcome != boot.Settled {
				t.Errorf("%s, want settled; jobs left: %v", r.Outcome, r.Jobs)
			}
			report(t, inOrder(r, "failed kopshook-license.service", "settled", "started kubelet.service"))
			if !n.known() {
				t.Error("the way out did not let the node join")
			}
			if got := n.state("license"); got != c.state {
				t.Errorf("the hook is %s, want %s", got, c.state)
			}
		})
	}
}

// TestMountHides: why disks are mounted before nodeup. The kubelet does not find what nodeup wrote, and starts for ever.
func TestMountHides(t *testing.T) {
	t.Parallel()
	n := newNode(t, mountHides, suites[0].Name)
	r := n.boot(boot.Options{End: boot.Cut, Scenario: "for i in $(seq 300); do [ \"$(systemctl show -P NRestarts kubelet)\" -lt 2 ] || break; sleep 0.2; done"})
	if n.known() {
		t.Error("the kubelet found its configuration below a mount: rule KH054 has no reason any more")
	}
	if r.Timeline.Count("started kubelet.service") < 2 {
		t.Errorf("the kubelet started %d times, want again and again", r.Timeline.Count("started kubelet.service"))
	}
}
