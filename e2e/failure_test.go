//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
)

// Issue case 3: a hook that fails once and then succeeds delays the node and no more.
func TestFailsOnceThenSucceeds(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("retry", `
- name: flaky
  attempts: 3
  retryDelay: 1s
  script: |
    #!/bin/sh
    /trial/bin/event "flaky $KOPSHOOK_ATTEMPT"
    [ "$KOPSHOOK_ATTEMPT" -ge 2 ]
`))...))
		n.boot(boot.Options{}).joins().fails().happens("flaky 1", "flaky 2", "nodeup-start", "kubelet-start").never("flaky 3")
	})
}

// Issue case 3: a hook that always fails keeps the kubelet away, on the first boot and after a reboot, and says why;
// when the cause is mended, one command lets the node join.
func TestAlwaysFailsBlocks(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("block", `
- name: cert
  attempts: 2
  retryDelay: 1s
  script: |
    #!/bin/sh
    /trial/bin/event cert
    [ -e /etc/license ] || { echo "no license in /etc/license" >&2; exit 7; }
`))...))
		const why = "no license in /etc/license"
		r := n.boot(boot.Options{}).blocks().happens("cert", "cert").never("nodeup-start")
		r.contains("journal of the hook", r.Timeline.Log("kopshook-cert.service"), why)
		r.contains("console", r.Console, why)
		r = n.boot(boot.Options{Scenario: `
echo license > /etc/license
` + retryCommand + `
for i in $(seq 100); do systemctl is-active --quiet kubelet && break; sleep 0.1; done
systemctl is-active kubelet
`}).happens("cert", "cert", "settled", "cert", "nodeup-start", "kubelet-start")
		if !strings.Contains(r.Scenario, "active") {
			t.Errorf("the kubelet is not active: %s", r.Scenario)
		}
	})
}

// A hook that has to run on every boot and fails on a later one keeps the kubelet away then, though systemd would start
// it by itself; so does one that only the kubelet waits for.
func TestFailsAfterReboot(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		for _, phase := range []string{"pre-nodeup", "pre-kubelet"} {
			n := newNode(t, suite, userData(t, parts(t, spec("later", `
- name: later
  phase: `+phase+`
  run: every-boot
  attempts: 1
  script: |
    #!/bin/sh
    sleep 1
    /trial/bin/event later
    "$KOPSHOOK_FIRST_BOOT"
`))...))
			n.boot(boot.Options{}).joins().fails().happens("later", "kubelet-start")
			n.boot(boot.Options{}).blocks().happens("later").fails("kopshook-later.service")
		}
	})
}

// retryCommand is what docs/troubleshooting.md says to do when the cause is mended.
const retryCommand = "systemctl restart kops-configuration"

// An operator lets a blocked node join without the hook: docs/troubleshooting.md.
func TestOperatorReleasesABlockedNode(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("block", `
- {name: cert, attempts: 1, script: "#!/bin/sh\n/trial/bin/event cert\nexit 1"}
- {name: next, weight: 1, script: "#!/bin/sh\n/trial/bin/event next"}
`))...))
		n.boot(boot.Options{Scenario: `
mkdir -p /var/lib/kopshook/skip
touch /var/lib/kopshook/skip/cert
` + retryCommand + `
for i in $(seq 100); do systemctl is-active --quiet kubelet && break; sleep 0.1; done
`}).happens("cert", "settled", "next", "nodeup-start", "kubelet-start")
	})
}

// Issue case 3: a failure that is to be gone on from is recorded, and the node joins. A kubelet that crashes comes back
// and repeats no hook.
func TestAlwaysFailsContinues(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("continue", `
- {name: nice, attempts: 2, retryDelay: 1s, onFailure: continue, script: "#!/bin/sh\n/trial/bin/event nice\nexit 1"}
- {name: next, weight: 1, run: every-boot, script: "#!/bin/sh\n/trial/bin/event next"}
`))...))
		r := n.boot(boot.Options{Scenario: `
kill -9 "$(systemctl show --property=MainPID --value kubelet)"
for i in $(seq 100); do [ "$(systemctl show --property=NRestarts --value kubelet)" = 1 ] && systemctl is-active --quiet kubelet && break; sleep 0.1; done
sleep 1
`})
		r.happens("nice", "nice", "next", "nodeup-start", "kubelet-start", "settled", "kubelet-start")
		if got := n.status("nice")["state"]; got != "failed" {
			t.Errorf("the status of the hook that failed is %v", got)
		}
	})
}

// Issue case 4: what a hook leaves behind when its time is over is ended, whatever it did to get away.
func TestTimeoutEndsTheWholeAttempt(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("hang", `
- name: hang
  attempts: 1
  timeout: 2s
  onFailure: continue
  script: |
    #!/bin/bash
    trap '' TERM INT HUP
    setsid sleep 1001 &
    setsid bash -c 'trap "" TERM; setsid sleep 1002 & sleep 1003' &
    nohup sleep 1004 &
    /trial/bin/event hang
    sleep 1005
`))...))
		r := n.boot(boot.Options{Scenario: "ps -e -o args= | grep '^sleep 100'; true"}).joins().happens("hang", "kubelet-start")
		if r.Scenario != "" {
			t.Errorf("these outlived the attempt:\n%s", r.Scenario)
		}
	})
}

// Issue case 5: a script that succeeds and whose effect cannot be verified has failed.
func TestVerifyFails(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("verify", `
- name: module
  attempts: 3
  retryDelay: 1s
  script: |
    #!/bin/sh
    /trial/bin/event "script $KOPSHOOK_ATTEMPT"
  verify: |
    #!/bin/sh
    /trial/bin/event "verify $KOPSHOOK_ATTEMPT"
    [ "$KOPSHOOK_ATTEMPT" -ge 2 ]
`))...))
		n.boot(boot.Options{}).joins().happens("script 1", "verify 1", "script 2", "verify 2", "nodeup-start", "kubelet-start").never("script 3")
	})
}
