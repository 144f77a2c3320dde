//go:build e2e

package kops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/localcluster"
)

// network is what a DaemonSet of the cluster's network would write: without it a node stays NotReady.
const network = `
- name: network
  files:
  - path: /etc/cni/net.d/10-net.conflist
    content: |
      {"cniVersion": "1.0.0", "name": "net", "plugins": [
        {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipam": {"type": "host-local", "ranges": [[{"subnet": "100.96.1.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
        {"type": "portmap", "capabilities": {"portMappings": true}}]}
`

// hugePages stands for sysctl vm.nr_hugepages=64: a container has no kernel of its own to set that in.
const hugePages = `
    d=/sys/kernel/mm/hugepages/hugepages-2048kB
    mkdir -p /run/huge && cp $d/* /run/huge/ && echo 64 > /run/huge/nr_hugepages
    mountpoint -q $d || mount --bind /run/huge $d
`

// allPhases has hooks of all phases. That of pre-kubelet takes longer than nodeup, and leaves what the kubelet counts.
const allPhases = network + `
- name: driver
  before: [containerd.service]
  script: |
    #!/bin/sh
    /trial/bin/event driver
    ls /usr/bin/containerd /usr/local/bin/kubelet 2>/dev/null
    mkdir -p /var/lib/driver && echo done > /var/lib/driver/installed
  verify: test -s /var/lib/driver/installed
- name: scratch-disk
  weight: 10
  run: every-boot
  script: |
    #!/bin/sh
    # a disk of 3 GiB that keeps its files
    set -eu
    [ -e /dev/loop-control ] || mknod /dev/loop-control c 10 237
    for i in 0 1 2 3 4 5 6 7; do [ -e "/dev/loop$i" ] || mknod "/dev/loop$i" b 7 "$i"; done
    mkdir -p /var/lib/kubelet
    [ -e /var/scratch ] || { truncate -s 3G /var/scratch && mke2fs -q -t ext4 -m 0 /var/scratch; }
    mountpoint -q /var/lib/kubelet || mount -o loop /var/scratch /var/lib/kubelet
- name: huge-pages
  phase: pre-kubelet
  run: every-boot
  script: |
    #!/bin/sh
    set -eu
    # until nodeup has started the kubelet, which waits for this hook, and then a while
    for i in $(seq 600); do
      if systemctl list-jobs | grep -q kubelet.service || systemctl -q is-active kubelet; then break; fi
      sleep 0.1
    done
    sleep 4
` + hugePages + `
- name: register
  phase: post-nodeup
  run: every-boot
  script: |
    #!/bin/sh
    test -e /var/lib/kubelet/kubelet.conf
- name: knows
  phase: pre-nodeup
  weight: 20
  run: every-boot
  script: |
    #!/bin/sh
    /trial/bin/event "$KOPSHOOK_OPERATION before nodeup: $KOPSHOOK_API_ENDPOINT"
- name: joined
  phase: post-kubelet
  run: every-boot
  attempts: 1
  script: |
    #!/bin/sh
    /trial/bin/event "$KOPSHOOK_OPERATION with a kubelet: $KOPSHOOK_API_ENDPOINT"
    curl -s http://127.0.0.1:10248/healthz
- name: drain
  phase: pre-shutdown
  run: every-boot
  script: |
    #!/bin/sh
    curl -s http://127.0.0.1:10248/healthz && /trial/bin/event drained
`

var allPhasesGroup = group("phases", nil, spec(allPhases))

// counted lists what the API does not know of what hooks left for the kubelet to count.
func counted(n *corev1.Node) []string {
	if n == nil {
		return []string{"the node was not Ready in time"}
	}
	var wrong []string
	if pages := n.Status.Capacity["hugepages-2Mi"]; pages.Cmp(resource.MustParse("128Mi")) != 0 {
		wrong = append(wrong, fmt.Sprintf("the node has hugepages-2Mi: %s, want 128Mi", pages.String()))
	}
	if disk := n.Status.Capacity[corev1.ResourceEphemeralStorage]; disk.Cmp(resource.MustParse("2Gi")) < 0 || disk.Cmp(resource.MustParse("3Gi")) > 0 {
		wrong = append(wrong, fmt.Sprintf("the node has ephemeral-storage: %s, want that of a disk of 3Gi", disk.String()))
	}
	return wrong
}

// firstBoot lists what is wrong with the order of the first boot of a node of allPhases.
func firstBoot(r *boot.Result) []string {
	return slices.Concat(settles(r), inOrder(r,
		"driver", "started kopshook-driver.service", "started kopshook-scratch-disk.service", "starting kops-configuration.service",
		"started kopshook-huge-pages.service", "started kubelet.service", "started kopshook-joined.service"),
		inOrder(r, "starting kops-configuration.service", "starting containerd.service", "started kubelet.service"),
		inOrder(r, "started kops-configuration.service", "started kopshook-register.service"))
}

// knows lists what is wrong with what hooks know of the API: before nodeup's first run the name that kops gives it, then what
// nodeup told the kubelet.
func knows(r *boot.Result, server string) []string {
	operation, before := "boot", server
	if r.Number == 1 {
		operation, before = "join", "https://api.internal."+localcluster.Name
	}
	return inOrder(r, operation+" before nodeup: "+before, operation+" with a kubelet: "+server)
}

// TestPhases: hooks of all phases have their moments on a real node, on the first boot, after a power cut and after a
// reboot; and what they left for the kubelet to count is there when the node registers.
func TestPhases(t *testing.T) {
	for _, s := range suites {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, allPhasesGroup, s.Name)
			var seen *corev1.Node
			until := func(ctx context.Context) { seen = n.ready(ctx) }

			first := n.boot(boot.Options{Until: until, End: boot.Cut})
			report(t, firstBoot(first), counted(seen), knows(first, "https://api.internal."+localcluster.Name))
			if log := first.Journal("kopshook-driver.service"); strings.Contains(log, "/usr/bin/containerd") || strings.Contains(log, "/usr/local/bin/kubelet") {
				t.Errorf("nodeup was there before the driver: %s", log)
			}
			second := n.boot(boot.Options{Until: until, End: boot.PowerOff})
			report(t, settles(second), counted(seen), inOrder(second, "started kopshook-driver.service", "starting containerd.service"),
				inOrder(second, "started kopshook-driver.service", "started kopshook-scratch-disk.service", "started kopshook-huge-pages.service",
					"started kubelet.service", "started kopshook-joined.service", "drained"))
			if second.Timeline.Count("driver") != 0 {
				t.Error("boot 2: the driver was installed again")
			}
			if log := second.Journal("kops-configuration.service"); !strings.Contains(log, "409") {
				t.Error("boot 2: kops-controller gave a node that is Ready new credentials")
			}
		})
	}
}

// openGate is a gate that holds nodeup back, but not the kubelet.
func openGate(manifest string) string {
	return strings.Replace(manifest, "for u; do add", `for u; do [ "$u" != kubelet.service ] || continue; add`, 1)
}

var openGateGroup = group("open-gate", openGate, spec(allPhases))

// TestOpenGateIsSeen: what TestPhases looks at is wrong when the gate does not hold the kubelet.
func TestOpenGateIsSeen(t *testing.T) {
	t.Parallel()
	n := newNode(t, openGateGroup, suites[0].Name)
	var seen *corev1.Node
	r := n.boot(boot.Options{Until: func(ctx context.Context) { seen = n.ready(ctx) }, End: boot.Cut})
	wrong := firstBoot(r)
	if want := "boot 1: started kopshook-huge-pages.service did not come before started kubelet.service"; !slices.Contains(wrong, want) {
		t.Errorf("nobody saw that the kubelet did not wait: %q", wrong)
	}
	if want := "the node has hugepages-2Mi: 0, want 128Mi"; !slices.Contains(counted(seen), want) {
		t.Errorf("the kubelet did not wait, and yet: %q", counted(seen))
	}
}
