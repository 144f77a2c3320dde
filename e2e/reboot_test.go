//go:build e2e

package e2e

import (
	"testing"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/boot"
)

// Issue case 13: a hook asks for a reboot: there is one, the hook runs again, the node joins, and the scripts of the
// user's that cloud-init runs after nodeup.sh are not lost.
func TestHookAsksForAReboot(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		theirs := []kops.UserData{script("zz-last.sh", "sleep 1\n/trial/bin/event theirs-last\n")}
		n := newNode(t, suite, userData(t, join(theirs, parts(t, spec("reboot", `
- name: kernel
  rebootExitCodes: [100]
  script: |
    #!/bin/sh
    /trial/bin/event kernel
    [ -e /var/lib/kernel-is-new ] && exit 0
    touch /var/lib/kernel-is-new
    exit 100
- name: module
  weight: 1
  script: |
    #!/bin/sh
    /trial/bin/event module
`)))...))
		first := n.boot(boot.Options{})
		if first.Outcome != boot.Rebooted {
			t.Errorf("the first boot: %s, want rebooted", first.Outcome)
		}
		first.happens("kernel", "theirs-last").never("kubelet-start", "nodeup-start", "module")
		n.boot(boot.Options{}).joins().fails().happens("kernel", "module", "kubelet-start")
	})
}

// Issue case 13: a hook that asks for a reboot for ever blocks after three.
func TestHookAsksForRebootsForEver(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("reboot", `
- name: kernel
  rebootExitCodes: [100]
  attempts: 1
  script: |
    #!/bin/sh
    /trial/bin/event kernel
    exit 100
`))...))
		for range 3 {
			if r := n.boot(boot.Options{}); r.Outcome != boot.Rebooted {
				t.Errorf("boot %d: %s, want rebooted", r.Number, r.Outcome)
			} else {
				r.happens("kernel").never("kubelet-start")
			}
		}
		n.boot(boot.Options{}).blocks().happens("kernel").fails("kopshook-kernel.service")
	})
}

// Rule KH017: cloud-init runs scripts once, whatever became of them. A script before nodeup.sh that reboots takes nodeup away.
func TestARebootBeforeNodeupLosesTheNode(t *testing.T) {
	t.Parallel()
	n := newNode(t, "trixie", userData(t, script("00-kernel.sh", "/trial/bin/event kernel\nreboot\nsleep 60\n")))
	first := n.boot(boot.Options{})
	if first.Outcome != boot.Rebooted {
		t.Errorf("the first boot: %s, want rebooted", first.Outcome)
	}
	first.happens("kernel").never("nodeup-start", "kubelet-start")
	n.boot(boot.Options{}).never("kernel", "nodeup-start", "kubelet-start")
}
