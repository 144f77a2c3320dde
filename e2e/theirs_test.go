//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/boot"
)

// Issue case 8: the user's own parts do what they did before the merge, on the first boot and after a reboot.
func TestTheirPartsDoWhatTheyDid(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		theirs := []kops.UserData{
			script("00-first.sh", "/trial/bin/event theirs-first $(cat /etc/theirs)\n"),
			cloudConfig("config.yaml", `bootcmd:
- /trial/bin/event theirs-bootcmd
write_files:
- path: /etc/theirs
  content: hello
runcmd:
- /trial/bin/event theirs-runcmd
`),
			boothook("hook.sh", "/trial/bin/event theirs-boothook\n"),
			script("zz-last.sh", "/trial/bin/event theirs-last\n"),
		}
		own := func(r *result) []string {
			var names []string
			for _, e := range r.Timeline {
				if strings.HasPrefix(e.Name, "theirs") || e.Name == "nodeup-installed" {
					names = append(names, e.Name)
				}
			}
			return names
		}
		before := newNode(t, suite, userData(t, theirs...))
		after := newNode(t, suite, userData(t, join(theirs, parts(t, spec("all", allPhases)))...))
		for _, want := range [][]string{
			{"theirs-boothook", "theirs-bootcmd", "theirs-first hello", "nodeup-installed", "theirs-runcmd", "theirs-last"},
			{"theirs-boothook", "theirs-bootcmd"},
		} {
			if diff := cmp.Diff(want, own(before.boot(boot.Options{}).joins())); diff != "" {
				t.Errorf("before the merge (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(want, own(after.boot(boot.Options{}).joins())); diff != "" {
				t.Errorf("after the merge (-want +got)\n%s", diff)
			}
		}
	})
}

// Issue case 10: what nodeup and operators do to units while hooks run, and after.
func TestUnitsAreRestartedMeanwhile(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("meanwhile", `
- name: pre
  script: |
    #!/bin/sh
    /trial/bin/event pre-start
    systemctl daemon-reload
    systemctl restart --no-block kops-configuration.service
    sleep 1.5
    /trial/bin/event pre-end
- name: late
  phase: pre-kubelet
  script: |
    #!/bin/sh
    /trial/bin/event late-start
    sleep 2.5
    /trial/bin/event late-end
`))...))
		// as nodeup does where it changes containerd's configuration: it restarts itself, and the kubelet that waits
		if err := n.SetNodeup(boot.Nodeup{Script: `
if [ -e /lib/systemd/system/kubelet.service ] && [ ! -e /run/again ]; then
  touch /run/again
  systemctl daemon-reload
  systemctl restart --no-block kubelet.service
fi
if [ ! -e /run/twice ]; then
  touch /run/twice
  (sleep 0.5; systemctl daemon-reload; systemctl restart --no-block kops-configuration.service) &
fi
`}); err != nil {
			t.Fatal(err)
		}
		r := n.boot(boot.Options{Scenario: `
pid() { systemctl show --property=MainPID --value kubelet; }
first=$(pid)
systemctl restart kopshook-pre.service kopshook-late.service
systemctl stop kopshook-pre.service kopshook-late.service
sleep 0.5
[ "$(pid)" = "$first" ] && /trial/bin/event kubelet-lives` + killsKubelet + `[ "$(pid)" != "$first" ] && systemctl is-active --quiet kubelet && /trial/bin/event kubelet-is-back
`})
		r.happens("pre-start", "pre-end", "late-start", "late-end", "kubelet-start", "settled", "kubelet-lives", "kubelet-start", "kubelet-is-back")
	})
}
