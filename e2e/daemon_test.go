//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"kopshook.dev/kopshook/e2e/page"
	"kopshook.dev/kopshook/internal/boot"
)

// verify is asked again while the pod lives; its failure and recovery show in the status file, and not in readiness, which
// is for rollouts. When it cannot be asked, it has failed; when an operator has skipped the hook, it is not asked. The
// ConfigMap may go meanwhile, since kops prunes those of older templates.
func TestDaemonVerifyIsAskedAgain(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		hook := daemon("- name: hook\n  script: |\n    #!/bin/sh\n    : > /root/works\n  verify: test -e /root/works\n")
		n := podNode(t, suite, map[string]string{"one": hook}, "VERIFY_SECONDS=1")
		r, _ := n.podBoot(`
start one; becomes one ready; settles hook succeeded
mkdir /pods/none; update /pods/one/volumes/hook-hook-* /pods/none 2> /dev/null
rm /root/works; settles hook failed; becomes one ready
: > /root/works; settles hook succeeded
systemctl mask --runtime kopshook-daemon@hook.service 2> /dev/null; settles hook failed
sed 's/.*"reason":"\([^"]*\)".*/\1/' /var/lib/kopshook/status/hook.json
systemctl unmask --runtime kopshook-daemon@hook.service 2> /dev/null; settles hook succeeded
rm /root/works; settles hook failed
mkdir -p /var/lib/kopshook/skip; : > /var/lib/kopshook/skip/hook; settles hook skipped; becomes one ready
`, boot.PowerOff)
		r.prints("one is ready", "hook hook succeeded", "hook hook failed", "one is ready", "hook hook succeeded",
			"hook hook failed", "systemd could not run it", "hook hook succeeded",
			"hook hook failed", "hook hook skipped", "one is ready")
	})
}

// A new pod, as after a reboot, is ready at once, since what it has to run ran there once; it asks verify then, and not five
// minutes later.
func TestDaemonVerifyIsAskedFirst(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		hook := daemon("- name: hook\n  script: |\n    #!/bin/sh\n    /trial/bin/event runs\n    : > /run/works\n  verify: test -e /run/works\n")
		n := podNode(t, suite, map[string]string{"one": hook, "two": hook})
		r, _ := n.podBoot("start one; becomes one ready; stop one; rm /run/works; start two; settles hook failed; becomes two ready", boot.PowerOff)
		r.happens("runs").prints("one is ready", "one stopped", "hook hook failed", "two is ready")
	})
}

// onDrift: run. The hook runs again when its node has its turn, within ten times as long as it may take; the log says when.
func TestDaemonHookRunsAgainOnDrift(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		hook := daemon("- name: hook\n  onDrift: run\n  timeout: 1h\n  script: |\n    #!/bin/sh\n    /trial/bin/event runs\n    : > /root/works\n  verify: test -e /root/works\n")
		n := podNode(t, suite, map[string]string{"one": hook}, "VERIFY_SECONDS=1")
		r, _ := n.podBoot(`
start one; becomes one ready; settles hook succeeded
rm /root/works; settles hook failed
status=/var/lib/kopshook/status/hook.json
for _ in $(seq 100); do ! grep -q 'runs again in' $status || break; sleep 0.2; done
sed -n 's/.*\(verify: exit status 1; runs again in\) [0-9]* s.*/\1/p' $status
# its turn is up to ten hours away, and hardly ever at once: make it now
date +%s > /proc/$(cat /pods/one/pid 2> /dev/null || pgrep -of /kopshook/run.sh)/root/state/turn-hook
settles hook succeeded; becomes one ready
sed 's/.*"reason":"\([^"]*\)".*/\1/' $status
`, boot.PowerOff)
		r.happens("runs", "runs").prints("one is ready", "hook hook succeeded", "hook hook failed", "verify: exit status 1; runs again in",
			"hook hook succeeded", "one is ready", "ran again: verify: exit status 1")
	})
}

// What the annotation of the pod template asks for is done once; overrides are those of the node's instance group.
func TestDaemonHookRunsAgainWhenAsked(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		hook := daemon("- name: hook\n  script: \"#!/bin/sh\\n/trial/bin/event runs\\n\"\n")
		n := podNode(t, suite, map[string]string{"one": hook, "two": hook, "three": hook})
		n.addPod("again", addonObjects(t, hook), "AGAIN=hook=1")
		n.addPod("same", addonObjects(t, hook), "AGAIN=hook=1")
		r, _ := n.podBoot("for p in one two again same; do start $p; becomes $p ready; stop $p; done", boot.PowerOff)
		r.happens("runs", "runs").prints("one is ready", "one stopped", "two is ready", "two stopped", "again is ready", "again stopped", "same is ready", "same stopped")
	})
}

// What a spec has no more leaves the node, and runs again when it comes back; hooks of other specs stay.
func TestDaemonHookThatIsGone(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		stays := "- name: stays\n  script: \"#!/bin/sh\\n/trial/bin/event stays\\n\"\n"
		goes := "- name: goes\n  script: \"#!/bin/sh\\n/trial/bin/event goes\\n\"\n"
		other := strings.NewReplacer("agents", "others", "stays", "other").Replace(daemon(stays))
		n := podNode(t, suite, map[string]string{"both": daemon(stays + goes), "less": daemon(stays), "other": other})
		r, logs := n.podBoot(`
start other; becomes other ready
start both; becomes both ready; stop both
start less; becomes less ready; stop less
cd /opt/kopshook/daemon; echo *
cd /var/lib/kopshook/status; echo *
start both; becomes both ready
`, boot.PowerOff)
		r.happens("other", "goes", "stays", "goes").prints("other is ready", "both is ready", "both stopped", "less is ready", "less stopped",
			"other stays", "other.json stays.json", "both is ready").contains("pods' output", logs, "kopshook: goes: is no longer in the spec")
	})
}

// A hook that a spec has no more is taken back by the node's systemd, with the hook's variables, before it leaves the node; where
// that fails, the pod is not ready, and an operator says that it is to be left. One that comes back runs again. While the pod is
// ready, a file on the node says so to those who wait for it.
func TestDaemonHookIsTakenBack(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		const both = `
- name: stays
  script: "#!/bin/sh\n/trial/bin/event stays\n"
- name: goes
  attempts: 1
  env: {WORD: a b}
  script: "#!/bin/sh\n/trial/bin/event goes\n"
  undo: |
    systemctl -q is-system-running --wait || :
    /trial/bin/event "$KOPSHOOK_HOOK undone: $WORD"
    test ! -e /root/stuck
`
		less, _, _ := strings.Cut(both, "- name: goes")
		n := podNode(t, suite, map[string]string{"both": daemon(both), "less": daemon(less)})
		r, _ := n.podBoot(`
start both; becomes both ready; stop both
ls /run/kopshook-daemon
start less; becomes less ready; stop less
cd /opt/kopshook/daemon; echo *
start both; becomes both ready; stop both
: > /root/stuck
start less; settles goes failed; becomes less unready; stop less
sed 's/.*"reason":"\([^"]*\)".*/\1/' /var/lib/kopshook/status/goes.json
mkdir -p /var/lib/kopshook/skip; : > /var/lib/kopshook/skip/goes
systemctl is-failed kopshook-daemon@goes.service
ls /run/kopshook-daemon | wc -l
start less; becomes less ready
systemctl is-failed kopshook-daemon@goes.service
echo *
`, boot.PowerOff)
		r.happens("goes", "stays", "goes undone: a b", "goes", "goes undone: a b").prints("both is ready", "both stopped", "kopshook.agents", "less is ready", "less stopped",
			"stays", "both is ready", "both stopped", "hook goes failed", "less is unready", "less stopped", "undo: exit status 1", "failed", "0", "less is ready", "inactive", "stays")
	})
}

// While a rollout replaces pods there may be two on a node, when the older one is deleted by force. Each runs its own
// files, and never at the same time.
func TestTwoDaemonPodsAtOnce(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		old := daemon(`
- name: hook
  env:
    WHO: old
  script: |
    #!/bin/sh
    mkdir /run/alone || /trial/bin/event overlap
    until [ -e /root/go ]; do sleep 0.1; done
    /trial/bin/event "$WHO"
    rmdir /run/alone
`)
		n := podNode(t, suite, map[string]string{"one": old, "two": strings.Replace(old, "WHO: old", "WHO: new", 1)})
		r, logs := n.podBoot(`
start one; settles hook running; start two; says two 'hook: waits for another pod'; : > /root/go
becomes two ready; becomes one ready
cat /opt/kopshook/daemon/hook/env
`, boot.PowerOff)
		r.happens("old", "new").never("overlap").prints("hook hook running", "two is ready", "one is ready", `set -- "$@" WHO='new'`)
		r.contains("pods' output", logs, "kopshook: hook: waits for another pod")
	})
}

// Container-Optimized OS has a read-only /opt, and runs programs of /var/lib/toolbox.
func TestDaemonHooksWithoutOpt(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := podNode(t, suite, map[string]string{"one": daemon("- name: hook\n  script: \"#!/bin/sh\\n/trial/bin/event $(dirname $0)\\n\"\n")})
		r, _ := n.podBoot(`
mkdir -p /var/lib/toolbox
mount --bind /opt /opt && mount -o remount,bind,ro /opt
start one; becomes one ready
`, boot.PowerOff)
		r.happens("/var/lib/toolbox/kopshook/daemon/hook").prints("one is ready")
	})
}

// How often a hook runs can change without another run of what has not changed.
func TestDaemonRunChanges(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		once := daemon("- name: hook\n  run: once-per-instance\n  script: \"#!/bin/sh\\n/trial/bin/event runs\\n\"\n")
		n := podNode(t, suite, map[string]string{"once": once, "every": strings.Replace(once, "once-per-instance", "every-boot", 1)})
		r, _ := n.podBoot("start once; becomes once ready; stop once; start every; becomes every ready", boot.Reboot)
		r.happens("runs")
		r, _ = n.podBoot("start once; becomes once ready; stop once", boot.Reboot)
		r.never("runs")
		r, _ = n.podBoot("start every; becomes every ready; says every 'Finished kopshook'; sleep 1; stop every; start once; becomes once ready", boot.PowerOff)
		r.happens("runs").prints("every is ready", "every stopped", "once is ready")
	})
}

// docs/addon.md: what it says to look at on the node is there, and a hook that is skipped stays skipped.
func TestAddonPage(t *testing.T) {
	commands := page.Commands(t, "../docs/addon.md")["Troubleshooting"]
	if !strings.Contains(commands, "/skip/write-back") {
		t.Fatalf("docs/addon.md has no commands, or others:\n%s", commands)
	}
	onSuites(t, func(t *testing.T, suite string) {
		hook := daemon("- name: write-back\n  script: \"#!/bin/sh\\n/trial/bin/event one\\necho words of the hook\\n\"\n  verify: exit 3\n  attempts: 1\n")
		n := podNode(t, suite, map[string]string{"one": hook, "two": strings.Replace(hook, "event one", "event two", 1)})
		r, _ := n.podBoot("start one; settles write-back failed; becomes one unready; stop one\n"+commands+"start two; becomes two ready; settles write-back skipped", boot.PowerOff)
		r.happens("one").never("two")
		for _, text := range []string{"kopshook-daemon@write-back.service - kopshook hook write-back", "words of the hook",
			`"reason":"verify: exit status 3"`, "two is ready\nhook write-back skipped"} {
			r.contains("output of the commands", r.Scenario, text)
		}
	})
}
