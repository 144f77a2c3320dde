//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/boot"
)

// All phases in one spec. The first boot ends in a reboot, the second in a poweroff.
const allPhases = `
- name: early
  phase: boot
  script: |
    #!/bin/sh
    /trial/bin/event early
- name: driver
  script: |
    #!/bin/sh
    /trial/bin/event driver
- name: tuning
  weight: 10
  run: every-boot
  script: |
    #!/bin/sh
    /trial/bin/event tuning
- name: agent
  phase: pre-kubelet
  run: every-boot
  script: |
    #!/bin/sh
    /trial/bin/event agent
    # until nodeup runs beside it
    for i in $(seq 100); do
      [ "$(systemctl is-active kops-configuration)" != activating ] || break
      sleep 0.1
    done
    sleep 0.5
    /trial/bin/event agent-done
- name: register
  phase: post-nodeup
  script: |
    #!/bin/sh
    /trial/bin/event register
- name: label
  phase: post-kubelet
  run: every-boot
  script: |
    #!/bin/sh
    /trial/bin/event label
- name: drain
  phase: pre-shutdown
  run: every-boot
  script: |
    #!/bin/sh
    /trial/bin/event drain
`

// Issue case 1 and 14: every phase has its moment, on the first boot and after a reboot; pre-shutdown hooks run when
// the node reboots and when it powers off.
func TestPhasesHaveTheirMoments(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("all", allPhases))...))
		first := n.boot(boot.Options{End: boot.Reboot}).joins().fails()
		first.happens("early", "driver", "tuning", "nodeup-start", "agent-done", "kubelet-start", "label", "settled", "drain", "kubelet-stop")
		first.happens("tuning", "agent", "agent-done")
		first.happens("nodeup-end", "register")
		first.ordered("nodeup-start", "agent-done") // beside each other
		second := n.boot(boot.Options{End: boot.PowerOff}).joins().fails()
		second.happens("early", "tuning", "nodeup-start", "agent-done", "kubelet-start", "label", "settled", "drain", "kubelet-stop")
		second.never("driver", "register")

		// the drop-ins are the same after every boot: nothing is added to them, so systemd need not be reloaded
		before := n.dropIns()
		if len(before) == 0 {
			t.Error("the node has no drop-ins")
		}
		n.boot(boot.Options{}).joins()
		if diff := cmp.Diff(before, n.dropIns()); diff != "" {
			t.Errorf("drop-ins after another boot (-before +after)\n%s", diff)
		}
	})
}

// Issue case 14: what is to be done after nodeup is not done while nodeup fails, which tries again for ever.
func TestPostNodeupDoesNotRunAfterNodeupFailed(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("all", allPhases))...))
		if err := n.SetNodeup(boot.Nodeup{Script: "(sleep 5; /trial/bin/event waited) &\nexit 1"}); err != nil {
			t.Fatal(err)
		}
		r := n.boot(boot.Options{CutAt: "waited"}).happens("driver", "tuning", "nodeup-start", "nodeup-failed", "waited").
			never("register", "label", "kubelet-start", "failed kops-configuration.service")
		if r.Outcome != boot.CutOff {
			t.Errorf("%s, want a nodeup that still tries", r.Outcome)
		}
		if err := n.SetNodeup(boot.Nodeup{}); err != nil {
			t.Fatal(err)
		}
		n.boot(boot.Options{}).joins().fails()
		// a node that is Ready, as after a fast reboot, gets nothing new: its kubelet starts by itself, after the hooks
		if err := n.SetNodeup(boot.Nodeup{Known: true}); err != nil {
			t.Fatal(err)
		}
		n.boot(boot.Options{}).joins().fails().ordered("tuning", "kubelet-start").happens("nodeup-start", "nodeup-known").never("nodeup-end")
	})
}

// Issue case 2: weights over two specs, names where weights are equal, a list of phases.
func TestHooksRunByPhaseWeightAndName(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		one := spec("one", `
- {name: zulu, weight: -5, script: "#!/bin/sh\n/trial/bin/event zulu"}
- {name: mike, weight: 5, script: "#!/bin/sh\n/trial/bin/event mike"}
- {name: bravo, script: "#!/bin/sh\n/trial/bin/event bravo"}
- {name: both, phase: [pre-nodeup, post-kubelet], weight: 7, script: "#!/bin/sh\n/trial/bin/event both-$KOPSHOOK_PHASE"}
`)
		two := spec("two", `
- {name: alpha, script: "#!/bin/sh\n/trial/bin/event alpha"}
- {name: yankee, weight: -5, script: "#!/bin/sh\n/trial/bin/event yankee"}
- {name: lima, weight: 5, script: "#!/bin/sh\n/trial/bin/event lima"}
- {name: kilo, phase: pre-kubelet, weight: -400, script: "#!/bin/sh\n/trial/bin/event kilo"}
`)
		n := newNode(t, suite, userData(t, parts(t, one, two)...))
		n.boot(boot.Options{}).joins().fails().
			happens("yankee", "zulu", "alpha", "bravo", "lima", "mike", "both-pre-nodeup", "kilo", "kubelet-start", "both-post-kubelet").
			ordered("both-pre-nodeup", "nodeup-start")
	})
}

// Issue case 2: a hook that fails for good stops those behind it, and not those before it. A hook knows the system.
func TestChainStopsAtABlockingFailure(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("chain", `
- {name: first, weight: 1, script: "#!/bin/sh\n/trial/bin/event \"first on $KOPSHOOK_NODE_OS\""}
- {name: second, weight: 2, attempts: 1, script: "#!/bin/sh\n/trial/bin/event second\nexit 1"}
- {name: third, weight: 3, script: "#!/bin/sh\n/trial/bin/event third"}
- {name: fourth, phase: pre-kubelet, script: "#!/bin/sh\n/trial/bin/event fourth"}
`))...))
		system := "debian"
		if version := osRelease(t, suite, "VERSION_ID"); version != "" {
			system += "-" + version
		}
		n.boot(boot.Options{}).blocks().happens("first on "+system, "second").never("third", "fourth", "nodeup-start")
	})
}

// Issue case 12: containerd waits for a hook that names it, also after a reboot.
func TestBeforeHoldsOtherUnitsBack(t *testing.T) {
	// the hook waits for containerd, and gives up
	const hooks = `
- name: storage
  phase: pre-kubelet
  run: every-boot
  before: [containerd.service]
  script: |
    #!/bin/sh
    for i in $(seq 30); do
      systemctl is-active --quiet containerd && break
      sleep 0.1
    done
    /trial/bin/event "storage, containerd is $(systemctl is-active containerd)"
`
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("before", hooks))...))
		for range 2 {
			n.boot(boot.Options{}).joins().fails().
				happens("nodeup-start", "storage, containerd is inactive", "containerd-start", "kubelet-start")
		}
		alone := strings.NewReplacer("  before: [containerd.service]\n", "", "seq 30", "seq 300").Replace(hooks)
		control := newNode(t, suite, userData(t, parts(t, spec("before", alone))...))
		control.boot(boot.Options{}).joins().fails().
			happens("nodeup-start", "containerd-start", "storage, containerd is active", "kubelet-start")
	})
}
