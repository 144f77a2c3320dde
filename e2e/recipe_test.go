//go:build e2e

package e2e

import (
	"testing"

	"kopshook.dev/kopshook/internal/boot"
)

// olderRecipe is the way that kops' documentation once proposed, with its mistakes mended (tabs, "systemd
// daemon-reload"): docs/older-recipe.md.
const olderRecipe = `write_files:
- path: /var/cache/custom-install/driver.sh
  permissions: "0755"
  content: |
    #!/bin/bash
    /trial/bin/event driver
    sleep 1
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
    sleep 1
    /trial/bin/event driver-done
`))...))
		for range 2 {
			ours.boot(boot.Options{}).joins().happens("driver", "driver-done", "nodeup-start", "kubelet-start")
		}
	})
}
