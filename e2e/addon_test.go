//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/nodestatus"
)

// daemon is a spec with these hooks, all of phase daemon.
func daemon(hooks string) string {
	return spec("agents", regexp.MustCompile(`(?m)^- name: (.*)$`).ReplaceAllString(strings.Trim(hooks, "\n"), "- name: $1\n  phase: daemon"))
}

// podNode is a node that runs the scenario with pods.
func podNode(t *testing.T, suite string, pods map[string]string, env ...string) *node {
	t.Helper()
	n := newNodeOf(t, boot.Config{Suite: suite, UserData: userData(t), Packages: morePackages})
	for name, spec := range pods {
		n.addPod(name, addonObjects(t, spec), env...)
	}
	return n
}

// podBoot boots the node and returns what the scenario printed, and the output of its pods.
func (n *node) podBoot(scenario string, end boot.Ending) (*result, string) {
	n.t.Helper()
	r := n.boot(boot.Options{Scenario: podScript + scenario, End: end, Limit: 8 * time.Minute}) // it waits often
	logs, err := filepath.Glob(filepath.Join(n.Dir(), fmt.Sprintf("boot-%d", r.Number), "*.log"))
	if err != nil {
		n.t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			n.t.Fatal(err)
		}
		fmt.Fprintf(&all, "-- %s --\n%s", filepath.Base(name), text)
	}
	n.t.Cleanup(func() {
		if n.t.Failed() || os.Getenv("KOPSHOOK_E2E_SHOW") != "" {
			n.t.Logf("pods of boot %d:\n%s", r.Number, all.String())
		}
	})
	return r, all.String()
}

// prints expects that the scenario printed exactly these lines.
func (r *result) prints(want ...string) *result {
	r.t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.TrimSpace(r.Scenario)); diff != "" {
		r.t.Errorf("boot %d: scenario (-want +got)\n%s", r.Number, diff)
	}
	return r
}

// The pod of a DaemonSet, with the capabilities of its manifest, has the node's systemd run hooks: as root with all
// rights, with their own bytes and environment, in order; and not again, but for what has to.
func TestDaemonHooksRunOnTheNode(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		first := daemon(`
- name: second
  script: |
    #!/bin/bash
    /trial/bin/event second
    { id -u; grep CapEff /proc/self/status /proc/1/status; cat /proc/self/cgroup; sha256sum "$0"; env -0 | sort -z | tr '\0' '\n'; } > /root/second
    echo 'words in the journal'
  env:
    HOSTILE: "it's $(touch /root/hostile) ` + "`touch /root/hostile`" + ` %n \"\\"
    LINES: "a\nb"
    UID: readonly in some shells
    file: f
    dir: /d
    name: n
    sum: s
    do: d
- name: first
  weight: -1
  run: every-boot
  script: "#!/bin/sh\n/trial/bin/event first\n"
  verify: test -e /proc/1/exe && test $KOPSHOOK_ATTEMPT = 1
`)
		second := strings.Replace(first, "/trial/bin/event second", "/trial/bin/event second-changed", 1)
		n := podNode(t, suite, map[string]string{"one": first, "two": first, "three": second})
		r, logs := n.podBoot(`
start one; becomes one ready; stop one
start two; becomes two ready; stop two
start three; becomes three ready
journalctl -u kopshook-daemon@second.service -o cat | grep -c 'words in the journal'
systemctl list-units --all --no-legend 'kopshook-daemon@*'
`, boot.Reboot)
		r.joins().happens("first", "second", "second-changed").prints(
			"one is ready", "one stopped", "two is ready", "two stopped", "three is ready", "2")
		for _, want := range []string{"words in the journal", "kopshook: first: was done before", "kopshook hook second."} {
			r.contains("pods' output", logs, want)
		}
		status := n.status("second")
		delete(status, "startedAt")
		delete(status, "updatedAt")
		delete(status, "hash")
		want := map[string]any{"hook": "second", "phase": "daemon", "state": "succeeded", "reason": "", "attempts": 1.0, "exitCode": 0.0,
			"instanceID": "i-0123456789abcdef0"}
		if diff := cmp.Diff(want, status); diff != "" {
			t.Errorf("status (-want +got)\n%s", diff)
		}
		n.checkRun(second)

		r, _ = n.podBoot("start three; becomes three ready; says three 'second: was done before'", boot.PowerOff)
		r.happens("first").never("second", "second-changed").prints("three is ready")
	})
}

// checkRun looks at what the hook "second" saw.
func (n *node) checkRun(spec string) {
	n.t.Helper()
	data, err := n.ReadFile("/root/second")
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.Stat("/root/hostile"); err == nil {
		n.t.Error("a value of env was taken for a command")
	}
	text := string(data)
	lines := strings.Split(text, "\n")
	if lines[0] != "0" {
		n.t.Errorf("the hook runs as %s, want root", lines[0])
	}
	caps := regexp.MustCompile(`CapEff:\s*([0-9a-f]+)`).FindAllStringSubmatch(text, -1)
	if len(caps) != 2 || caps[0][1] != caps[1][1] {
		n.t.Errorf("the hook has not all rights of the node's first process: %v", caps)
	}
	for _, want := range []string{
		"kopshook-daemon@second.service", "/opt/kopshook/daemon/second/script",
		"KOPSHOOK_HOOK=second", "KOPSHOOK_PHASE=daemon", "KOPSHOOK_ATTEMPT=1", "KOPSHOOK_CLUSTER=e2e.example.com",
		"KOPSHOOK_INSTANCE_GROUP=nodes", "KOPSHOOK_ROLE=Node", "KOPSHOOK_NODE_NAME=e2e-node", "KOPSHOOK_NODE_IP=192.0.2.7",
		"KOPSHOOK_NODE_ARCH=", "KOPSHOOK_FIRST_BOOT=", "HOSTILE=it's $(touch /root/hostile) `touch /root/hostile` %n \"\\\n", "LINES=a\nb\n",
		"\nfile=f\n", "\ndir=/d\n", "\nname=n\n", "\nsum=s\n", "\ndo=d\n",
	} {
		if !strings.Contains(text, want) {
			n.t.Errorf("the hook does not see %q:\n%s", want, text)
		}
	}
	for _, o := range addonObjects(n.t, spec) {
		m, err := json.Marshal(o)
		if err != nil {
			n.t.Fatal(err)
		}
		var object struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
		if err := json.Unmarshal(m, &object); err != nil {
			n.t.Fatal(err)
		}
		if strings.HasPrefix(object.Metadata.Name, "kopshook.agents.second-") {
			script, err := n.ReadFile("/opt/kopshook/daemon/second/script")
			if err != nil || string(script) != object.Data["script"] {
				n.t.Errorf("the script on the node is not the spec's: %v\n%s", err, script)
			}
		}
	}
}

// Attempts, timeouts, verify and failures: recorded, and the pod is not ready, so that a rollout stops. Other hooks run.
func TestDaemonHooksFail(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := podNode(t, suite, map[string]string{"one": daemon(`
- name: a-fails-once
  retryDelay: 1s
  script: |
    #!/bin/sh
    /trial/bin/event a-attempt
    [ "$KOPSHOOK_ATTEMPT" = 2 ] || exit 7
- name: b-hangs
  attempts: 1
  timeout: 5s
  script: |
    #!/bin/sh
    /trial/bin/event b-attempt
    setsid sleep 1234 &
    sleep 4321
- name: c-is-not-true
  attempts: 2
  retryDelay: 1s
  script: "#!/bin/sh\n/trial/bin/event c-attempt\n"
  verify: exit 3
- name: d-survives-systemd
  script: |
    #!/bin/sh
    /trial/bin/event d-attempt
    systemctl daemon-reload
    systemctl daemon-reexec
    sleep 2
- name: e-is-skipped
  script: "#!/bin/sh\n/trial/bin/event e-attempt\n"
`)})
		r, logs := n.podBoot(`
mkdir -p /var/lib/kopshook/skip; : > /var/lib/kopshook/skip/e-is-skipped
start one
settles a-fails-once succeeded; settles b-hangs failed; settles c-is-not-true failed; settles d-survives-systemd succeeded
settles e-is-skipped skipped
pgrep -fa 'sleep (1234|4321)'
sleep 1
if ready one; then echo ready; else echo unready; fi
`, boot.PowerOff)
		r.joins().happens("a-attempt", "a-attempt", "b-attempt", "c-attempt", "c-attempt", "d-attempt").never("e-attempt")
		r.prints("hook a-fails-once succeeded", "hook b-hangs failed", "hook c-is-not-true failed",
			"hook d-survives-systemd succeeded", "hook e-is-skipped skipped", "unready")
		for hook, want := range map[string]string{
			"a-fails-once": " 2 0", "b-hangs": "timed out after 5 s 1 15", "c-is-not-true": "verify: exit status 3 2 3",
		} {
			s := n.status(hook)
			if got := fmt.Sprint(s["reason"], " ", s["attempts"], " ", s["exitCode"]); got != want {
				t.Errorf("status of %s is %q, want %q", hook, got, want)
			}
		}
		n.hasStatus("b-hangs", nodestatus.Failed, "timed out after 5 s") // as kopshook status reads it
		r.contains("pods' output", logs, "kopshook: a-fails-once: attempt 1 of 3: script: exit status 7")
	})
}

// A pod that goes does not take the hook with it, and the next one waits for it.
func TestDaemonHookOutlivesItsPod(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		slow := daemon("- name: slow\n  script: |\n    #!/bin/sh\n    /trial/bin/event begins\n    until [ -e /root/go ]; do sleep 0.1; done\n    /trial/bin/event ends\n")
		n := podNode(t, suite, map[string]string{"one": slow, "two": slow})
		r, _ := n.podBoot(`
start one; settles slow running
while ! systemctl is-active -q kopshook-daemon@slow && [ "$(systemctl show -p ActiveState --value kopshook-daemon@slow)" != activating ]; do sleep 0.2; done
stop one
start two; sleep 2; : > /root/go; becomes two ready
settles slow succeeded
`, boot.PowerOff)
		r.happens("begins", "ends").prints("hook slow running", "one stopped", "two is ready", "hook slow succeeded")
	})
}

// A pod runs what its own template speaks of: until the kubelet brings it, the pod waits.
func TestDaemonPodWaitsForItsConfigMap(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		old := daemon("- name: hook\n  script: |\n    #!/bin/sh\n    /trial/bin/event old\n")
		changed := strings.Replace(old, "event old", "event new", 1)
		n := podNode(t, suite, map[string]string{"one": old, "two": changed})
		r, logs := n.podBoot(`
two=$(echo /pods/two/volumes/hook-hook-*)
update $two /pods/one/volumes/hook-hook-*/..first
start two; says two 'waits for the ConfigMap'
if ready two; then echo ready; else echo unready; fi
update $two $two/..first
becomes two ready
`, boot.PowerOff)
		r.happens("new").never("old").prints("unready", "two is ready").contains("pods' output", logs, "waits for the ConfigMap")
	})
}
