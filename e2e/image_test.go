//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
)

// once waits until kops-configuration.service is enabled: kops starts it before it enables it, and a power cut between
// the two leaves a node that no boot brings up, whatever its hooks do
// (kops v1.36.2 upup/pkg/fi/nodeup/nodetasks/service.go:394-406). The first time there is a minute for the cut.
const once = `
- name: once
  attempts: 1
  script: |
    #!/bin/sh
    until [ -e /etc/systemd/system/multi-user.target.wants/kops-configuration.service ]; do sleep 0.1; done
    /trial/bin/event once-start
    [ -e /srv/once ] || { : > /srv/once; sleep 60; }
    /trial/bin/event once-end
`

// Issue case 6: a hook that was cut off by a power failure runs again; one that was done does not.
func TestPowerCutRunsTheHookAgain(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("once", once))...))
		cut := n.boot(boot.Options{CutAt: "once-start"})
		if cut.Outcome != boot.CutOff {
			t.Fatalf("the power was not cut: %s", cut.Outcome)
		}
		cut.happens("once-start").never("once-end")
		n.boot(boot.Options{}).joins().fails().happens("once-start", "once-end", "kubelet-start")
		n.boot(boot.Options{}).joins().fails().happens("kubelet-start").never("once-start")
	})
}

// Issue case 6: on an image that was baked from a node, the new node's hooks gate it and the old node's do not run.
func TestBakedImage(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		old := newNode(t, suite, userData(t, parts(t, spec("old", `
- {name: same, script: "#!/bin/sh\n/trial/bin/event same-old"}
- {name: gone, weight: 1, run: every-boot, script: "#!/bin/sh\n/trial/bin/event gone"}
- {name: gone-late, phase: pre-kubelet, run: every-boot, script: "#!/bin/sh\n/trial/bin/event gone-late"}
- {name: gone-down, phase: pre-shutdown, run: every-boot, script: "#!/bin/sh\n/trial/bin/event gone-down"}
`))...))
		old.boot(boot.Options{}).joins().happens("same-old", "gone", "gone-late", "kubelet-start")

		fresh := spec("new", `
- {name: same, script: "#!/bin/sh\n/trial/bin/event same-new\nsleep 1"}
- {name: more, weight: 1, script: "#!/bin/sh\n/trial/bin/event more\nsleep 1"}
`)
		next := old.clone(userData(t, parts(t, fresh)...), "i-0fedcba9876543210")
		next.boot(boot.Options{}).joins().fails().happens("same-new", "more", "nodeup-start", "kubelet-start").
			never("same-old", "gone", "gone-late", "gone-down")

		// hooks that differ in nothing that a drop-in says
		other := next.clone(userData(t, parts(t, strings.NewReplacer("name: more,", "name: more, env: {WORD: other},", "event more", "event more-$WORD").Replace(fresh))...), "i-0fedcba9876543213")
		other.boot(boot.Options{}).joins().fails().happens("same-new", "more-other", "nodeup-start", "kubelet-start")

		failing := strings.Replace(fresh, "event more", "event more; exit 1", 1)
		blocked := old.clone(userData(t, parts(t, failing)...), "i-0fedcba9876543211")
		blocked.boot(boot.Options{}).blocks().happens("same-new").never("gone", "nodeup-start")

		// cloud-init found no data source: nobody knows whether this is the instance that the stamps are of
		lost := old.clone(nil, "i-0fedcba9876543212")
		if err := lost.RemoveSeed(); err != nil {
			t.Fatal(err)
		}
		lost.boot(boot.Options{}).blocks().never("same-old", "gone")
	})
}
