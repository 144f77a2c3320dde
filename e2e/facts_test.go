//go:build e2e

package e2e

import (
	"runtime"
	"testing"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/boot"
)

// What a node is told by kops, and what becomes of the machine: on the first boot, on a later one, at a reboot and at the
// end of the machine. A hook for the end alone says so in its first line.
func TestHooksKnowWhatTheNodeDoes(t *testing.T) {
	const hooks = `
- name: early
  run: every-boot
  script: |
    #!/bin/sh
    /trial/bin/event "early: $KOPSHOOK_OPERATION, $KOPSHOOK_API_ENDPOINT"
- name: late
  phase: post-kubelet
  run: every-boot
  script: |
    #!/bin/sh
    /trial/bin/event "late: $KOPSHOOK_OPERATION, '$KOPSHOOK_SHUTDOWN'"
- name: drain
  phase: pre-shutdown
  run: every-boot
  script: |
    #!/bin/sh
    /trial/bin/event "drain: $KOPSHOOK_OPERATION, $KOPSHOOK_SHUTDOWN"
- name: leave
  phase: pre-shutdown
  run: every-boot
  script: |
    #!/bin/sh
    [ "$KOPSHOOK_SHUTDOWN" = poweroff ] || exit 0
    /trial/bin/event leave
`
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("facts", hooks))...))
		n.boot(boot.Options{End: boot.Reboot}).joins().fails().
			happens("early: join, https://api.internal.e2e.example.com", "late: join, ''", "drain: shutdown, reboot").never("leave")
		// as nodeup writes it (nodeup/pkg/model/context.go:250 in kops), on a control plane
		if err := n.WriteFile(boot.File{Path: "/var/lib/kubelet/kubeconfig", Mode: 0o400,
			Content: []byte("apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: Zm9v\n    server: https://127.0.0.1\n  name: local\n")}); err != nil {
			t.Fatal(err)
		}
		n.boot(boot.Options{End: boot.PowerOff}).joins().fails().
			happens("early: boot, https://127.0.0.1", "late: boot, ''").happens("drain: shutdown, poweroff").happens("leave")
	})
}

// A hook knows its cluster, group and role, and the machine's name, address and architecture, as eggo tells its hooks.
func TestHooksKnowTheirNode(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		// the machine has a loopback device only
		network := boothook("network.sh", "ip link add kh0 type veth peer name kh1\nip address add 192.0.2.7/24 dev kh0\nip link set kh0 up\n")
		n := newNode(t, suite, userData(t, join([]kops.UserData{network}, parts(t, spec("known", `
- name: known
  script: |
    #!/bin/sh
    /trial/bin/event "$KOPSHOOK_CLUSTER $KOPSHOOK_INSTANCE_GROUP $KOPSHOOK_ROLE"
    /trial/bin/event "at $KOPSHOOK_NODE_IP, $KOPSHOOK_NODE_ARCH"
    [ "$KOPSHOOK_NODE_NAME" = "$(hostname)" ] && /trial/bin/event "has its name"
`)))...))
		n.boot(boot.Options{}).joins().fails().happens("e2e.example.com nodes Node", "at 192.0.2.7, "+runtime.GOARCH, "has its name", "kubelet-start")
	})
}
