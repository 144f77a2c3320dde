//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
)

// work is what the script has to do: it takes eight seconds, or until the kubelet is up.
const work = "for i in $(seq 80); do grep -q kubelet-start /trial/out/events && break; sleep 0.1; done"

// olderRecipe is the way that kops' documentation once proposed, with its mistakes fixed (tabs, "systemd
// daemon-reload"): docs/older-recipe.md.
const olderRecipe = `write_files:
- path: /var/cache/custom-install/driver.sh
  permissions: "0755"
  content: |
    #!/bin/bash
    /trial/bin/event driver
    for i in $(seq 80); do grep -q kubelet-start /trial/out/events && break; sleep 0.1; done
    /trial/bin/event driver-done
bootcmd:
- mkdir -p /etc/systemd/system/kops-configuration.service.d
- echo '[Service]' >> /etc/systemd/system/kops-configuration.service.d/custom.conf
- echo 'ExecStartPre=/bin/bash /var/cache/custom-install/driver.sh' >> /etc/systemd/system/kops-configuration.service.d/custom.conf
- systemctl daemon-reload
`

// Issue case 15: what the older recipe does on the first and on the second boot, and what ours does.
func TestOlderRecipe(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		old := newNode(t, suite, userData(t, cloudConfig("custom-install-sequence.txt", olderRecipe)))
		old.boot(boot.Options{}).joins().happens("driver", "driver-done", "nodeup-start", "kubelet-start")
		second := old.boot(boot.Options{}).joins()
		second.happens("driver", "driver-done", "driver", "driver-done", "nodeup-start") // once more for each boot
		second.ordered("kubelet-start", "driver-done")                                   // the kubelet does not wait

		ours := newNode(t, suite, userData(t, parts(t, spec("driver", `
- name: driver
  run: every-boot
  script: |
    #!/bin/bash
    /trial/bin/event driver
    for i in $(seq 80); do grep -q kubelet-start /trial/out/events && break; sleep 0.1; done
    /trial/bin/event driver-done
`))...))
		for range 2 {
			ours.boot(boot.Options{}).joins().happens("driver", "driver-done", "nodeup-start", "kubelet-start")
		}
	})
}

// What docs/older-recipe.md says besides.
func TestOlderRecipeLetsNodesJoin(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		t.Run("after a reboot, when the script fails", func(t *testing.T) {
			fails := strings.Replace(olderRecipe, work+"\n", "[ ! -e /etc/systemd/system/multi-user.target.wants/kubelet.service ] || exit 1\n", 1)
			n := newNode(t, suite, userData(t, cloudConfig("custom.txt", fails)))
			n.boot(boot.Options{}).joins().happens("driver", "driver-done", "nodeup-start", "kubelet-start")
			n.boot(boot.Options{}).joins().fails("kops-configuration.service").never("driver-done", "nodeup-start")
		})
		t.Run("with a script that was killed", func(t *testing.T) {
			slow := strings.Replace(olderRecipe, work+"\n", "sleep 3\n", 1)
			again := script("zz-again.sh", "sleep 1\nsystemctl restart --no-block kops-configuration.service\n")
			n := newNode(t, suite, userData(t, cloudConfig("custom.txt", slow), again))
			n.boot(boot.Options{}).joins().happens("driver", "driver", "driver-done", "nodeup-start")
		})
		t.Run("without the script, when a bootcmd exits", func(t *testing.T) {
			n := newNode(t, suite, userData(t, cloudConfig("theirs.txt", "bootcmd:\n- exit 0\n"), cloudConfig("custom.txt", merging+olderRecipe)))
			n.boot(boot.Options{}).joins().never("driver")
		})
		t.Run("without the script, when a later part has a bootcmd", func(t *testing.T) {
			n := newNode(t, suite, userData(t, cloudConfig("custom.txt", olderRecipe), cloudConfig("theirs.txt", "bootcmd:\n- /trial/bin/event theirs\n")))
			n.boot(boot.Options{}).joins().happens("theirs").never("driver")
		})
	})
}
