//go:build e2e

package e2e

import (
	"testing"

	"kopshook.dev/kopshook/e2e/page"
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
// when the cause is fixed, one command lets the node join.
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
		n.hasStatus("cert", "failed", "script: exit status 7")
		n.boot(boot.Options{Scenario: `
echo license > /etc/license
` + page.Commands(t, "../docs/troubleshooting.md")["Retry"] + untilJoined}).happens("cert", "cert", "settled", "cert", "nodeup-start", "kubelet-start", "joined")
		n.hasStatus("cert", "succeeded", "")
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

// Issue case 3: a failure that is to be gone on from is recorded, and the node joins. A kubelet that crashes comes back
// and repeats no hook.
func TestAlwaysFailsContinues(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("continue", `
- {name: nice, attempts: 2, retryDelay: 1s, onFailure: continue, script: "#!/bin/sh\n/trial/bin/event nice\nexit 1"}
- {name: next, weight: 1, run: every-boot, script: "#!/bin/sh\n/trial/bin/event next"}
`))...))
		r := n.boot(boot.Options{Scenario: killsKubelet})
		r.happens("nice", "nice", "next", "nodeup-start", "kubelet-start", "settled", "kubelet-start")
		n.hasStatus("nice", "failed", "script: exit status 1")
	})
}

// Issue case 4: what a hook leaves behind when its time is over is ended, whatever it did to get away.
func TestTimeoutEndsTheWholeAttempt(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("hang", `
- name: hang
  attempts: 2
  retryDelay: 1s
  timeout: 6s
  onFailure: continue
  script: |
    #!/bin/bash
    ps -e -o args= | grep '^sleep 100' && /trial/bin/event overlaps
    trap '' TERM INT HUP
    setsid sleep 1001 &
    setsid bash -c 'trap "" TERM; setsid sleep 1002 & sleep 1003' &
    nohup sleep 1004 &
    /trial/bin/event hang
    sleep 1005
- name: slow
  weight: 1
  attempts: 1
  timeout: 1s
  onFailure: continue
  script: |
    #!/bin/sh
    sleep 1006
`))...))
		r := n.boot(boot.Options{Scenario: "ps -e -o args= | grep '^sleep 100'; true"}).joins().happens("hang", "hang", "kubelet-start").never("overlaps")
		n.hasStatus("slow", "failed", "script: timed out after 1 s")
		n.hasStatus("hang", "failed", "script: exit status 137") // as of a script that was killed for want of memory
		r.contains("journal of the hook", r.Timeline.Log("kopshook-hang.service"), "sending signal KILL")
		if r.Scenario != "" {
			t.Errorf("these outlived the attempt:\n%s", r.Scenario)
		}
	})
}

// Issue case 4: a daemon that a hook leaves behind lives on, in the hook's unit, and ends with it: docs/troubleshooting.md.
func TestDaemonOfAHookLivesInItsUnit(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("daemon", `
- name: leaves
  script: |
    #!/bin/sh
    setsid sleep 2001 > /dev/null 2>&1 &
    /trial/bin/event leaves
`))...))
		r := n.boot(boot.Options{Scenario: `
ps -e -o args= | grep -c '^sleep 2001'
systemctl status kopshook-leaves | grep -c 'sleep 2001$'
systemctl stop kopshook-leaves
ps -e -o args= | grep -c '^sleep 2001'
systemctl is-active kubelet
`}).joins().fails().happens("leaves", "nodeup-start", "kubelet-start")
		if want := "1\n1\n0\nactive\n"; r.Scenario != want {
			t.Errorf("scenario is %q, want %q", r.Scenario, want)
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
