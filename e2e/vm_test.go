//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"

	"kopshook.dev/kopshook/internal/boot"
)

// On virtual machines, with kernels and disks of their own: make e2e-vm. A power cut loses what was not synced, so what
// the gate and the runner sync shows here.
func TestVM(t *testing.T) {
	if os.Getenv("KOPSHOOK_E2E_VM") == "" {
		t.Skip("make e2e-vm boots virtual machines")
	}
	onSuites(t, func(t *testing.T, suite string) {
		if suite == "noble" {
			t.Skip("there is a kernel for Debian only")
		}
		const hooks = `
- name: done
  script: |
    #!/bin/sh
    /trial/bin/event done
- name: cut
  weight: 1
  attempts: 1
  script: |
    #!/bin/sh
    /trial/bin/event cut-start
    sleep 5
    /trial/bin/event cut-end
- name: agent
  phase: pre-kubelet
  run: every-boot
  script: |
    #!/bin/sh
    /trial/bin/event agent
- name: drain
  phase: pre-shutdown
  run: every-boot
  script: |
    #!/bin/sh
    /trial/bin/event drain
`
		n := newNodeOf(t, boot.Config{Suite: suite, UserData: userData(t, parts(t, spec("vm", hooks))...), VM: true})
		limit := 6 * time.Minute
		cut := n.boot(boot.Options{CutAt: "cut-start", Limit: limit})
		if cut.Outcome != boot.CutOff {
			t.Fatalf("the power was not cut: %s", cut.Outcome)
		}
		cut.happens("done", "cut-start")
		// cloud-init had not come to its end, nor was anything synced but what needs to be
		again := n.boot(boot.Options{Limit: limit}).joins().fails()
		again.happens("cut-start", "cut-end", "kubelet-start", "drain", "kubelet-stop").never("done")
		n.boot(boot.Options{Limit: limit}).joins().fails().happens("agent", "kubelet-start", "drain", "kubelet-stop").never("done", "cut-start")
	})
}
