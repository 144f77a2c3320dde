//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
)

// layouts are orders in which distributions have cloud-init's network stage, by the suite that has such a version of it.
// Debian and Ubuntu alone have it before sysinit.target, so that no service runs before the gate. Amazon Linux 2023
// (cloud-init 22.2) leaves that out, and the RHEL family starts it as any other service, with NetworkManager
// (cloud-init's systemd/cloud-init.service.tmpl of 22.2 and cloud-init-network.service.tmpl of 25.1).
var layouts = []struct {
	name, suite string
	unit        string
	without     []string
	with        string // in place of the first line that goes
}{
	{name: "amazon", suite: "bookworm", unit: "cloud-init.service",
		without: []string{"Before=sysinit.target", "Before=shutdown.target", "Conflicts=shutdown.target", "After=networking.service"}},
	{name: "rhel", suite: "trixie", unit: "cloud-init-network.service",
		without: []string{"DefaultDependencies=no", "Before=sysinit.target", "After=networking.service"},
		with:    "After=NetworkManager.service NetworkManager-wait-online.service"},
	{name: "debian", suite: "bookworm"},
	{name: "debian", suite: "trixie"},
}

// Whatever the order, no kubelet stays that has not waited for the hooks of this machine. Where an image of a node lets
// its kubelet start before the gate is there, the gate stops it, and it starts once more when the hooks are done.
func TestFailsClosedInEachLayout(t *testing.T) {
	const good = `
- name: driver
  run: every-boot
  script: |
    #!/bin/sh
    systemctl is-active --quiet kubelet && /trial/bin/event too-early
    /trial/bin/event driver
    sleep 2
    systemctl is-active --quiet kubelet && /trial/bin/event too-early
    /trial/bin/event driver-done
`
	bad := `
- {name: fails, weight: 1, attempts: 1, script: "#!/bin/sh\n/trial/bin/event fails\nexit 1"}
` + good
	t.Parallel()
	for _, l := range layouts {
		t.Run(l.name+"-"+l.suite, func(t *testing.T) {
			t.Parallel()
			arrange := func(n *node) *node {
				if l.unit == "" {
					return n
				}
				text, err := n.ReadFile("/usr/lib/systemd/system/" + l.unit)
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.Split(string(text), "\n")
				for i, line := range l.without {
					at := slices.Index(lines, line)
					if at < 0 {
						t.Fatalf("%s has no line %s", l.unit, line)
					}
					if lines[at] = ""; i == 0 {
						lines[at] = l.with
					}
				}
				if err := n.WriteFile(boot.File{Path: "/etc/systemd/system/" + l.unit, Content: []byte(strings.Join(lines, "\n"))}); err != nil {
					t.Fatal(err)
				}
				return n
			}
			waits := func(r *result) {
				t.Helper()
				r.never("too-early").ordered("driver", "driver-done")
				last, done := 0, 0
				for i, e := range r.Timeline {
					switch e.Name {
					case "kubelet-start":
						last = i
					case "driver-done":
						done = i
					}
				}
				if last < done || r.Units["kubelet.service"]["ActiveState"] != "active" || r.Outcome != boot.Settled {
					t.Errorf("boot %d: the kubelet that has waited for the hook is not up: %s, %s", r.Number, r.Units["kubelet.service"]["ActiveState"], r.Outcome)
				}
			}
			stays := func(r *result) {
				t.Helper()
				r.happens("driver", "driver-done", "fails").never("too-early", "nodeup-end")
				if state := r.Units["kubelet.service"]["ActiveState"]; state == "active" || r.Outcome != boot.Settled {
					t.Errorf("boot %d: the kubelet is %s, %s", r.Number, state, r.Outcome)
				}
			}
			hooks, failing := userData(t, parts(t, spec("good", good))...), userData(t, parts(t, spec("bad", bad))...)

			plain := arrange(newNode(t, l.suite, userData(t)))
			plain.boot(boot.Options{}).joins()
			waits(plain.clone(hooks, "i-0000000000000000a").boot(boot.Options{}))
			// nodeup of the image may have run before the gate was there, and to its end
			image := plain.clone(failing, "i-0000000000000000b").boot(boot.Options{})
			if state := image.Units["kubelet.service"]["ActiveState"]; state == "active" || image.Outcome != boot.Settled {
				t.Errorf("the kubelet is %s, %s", state, image.Outcome)
			}
			image.happens("driver", "driver-done", "fails").never("too-early")
			if l.unit == "" {
				return // TestBakedImage and others have the rest
			}
			node := arrange(newNode(t, l.suite, hooks))
			first := node.boot(boot.Options{}).joins()
			waits(first)
			second := node.boot(boot.Options{}).joins()
			waits(second)
			same := node.clone(hooks, "i-0000000000000000c").boot(boot.Options{}).joins()
			waits(same)
			stays(node.clone(failing, "i-0000000000000000d").boot(boot.Options{}))
		})
	}
}
