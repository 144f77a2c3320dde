//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/cli"
	"kopshook.dev/kopshook/internal/golden"
)

// explains expects that `kopshook status --console -` says of a console's bytes what kept the node out, and exits 1.
func explains(t *testing.T, console []byte, want ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Run(context.Background(), []string{"kopshook", "status", "--console", "-"}, bytes.NewReader(console), &stdout, &stderr)
	if code != 1 || stderr.Len() > 0 {
		t.Errorf("exit code %d, want 1\n%s", code, &stderr)
	}
	got := strings.Join(strings.Fields(stdout.String()), " ")
	for _, w := range want {
		before, after, ok := strings.Cut(got, w)
		if !ok {
			t.Errorf("the table does not go on with %q: %q is left of\n%s", w, before, &stdout)
		}
		got = after
	}
	if t.Failed() {
		t.Logf("console\n%q", console)
	}
}

// A hook that fails is explained from the bytes that its boots wrote to the console, and so is a gate that could not be set up.
func TestConsoleExplainsANodeThatDidNotJoin(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		data := parts(t, spec("console", "- {name: root-ca, script: \"#!/bin/sh\\ntrue\"}\n"+strings.Replace(license, "name: license\n", "name: license\n  weight: 1\n", 1)))
		n := newNode(t, suite, userData(t, data...))
		first := n.boot(boot.Options{}).blocks().rawConsole()
		explains(t, first, "root-ca pre-nodeup succeeded 1 ", "license pre-nodeup failed 2 ", "script: exit status 7")
		second := n.boot(boot.Options{}).blocks().rawConsole()
		keepConsole(t, suite, append(first, second...))
		explains(t, append(first, second...), "boot 1 of 2:", "root-ca pre-nodeup succeeded", "license pre-nodeup failed",
			"boot 2 of 2:", "license pre-nodeup failed 2 ", "script: exit status 7")

		theirs := boothook("theirs.sh", "mkdir -p /etc/systemd/system\n: > /etc/systemd/system/kubelet.service.d\n")
		closed := newNode(t, suite, userData(t, join([]kops.UserData{theirs}, data)...))
		explains(t, closed.boot(boot.Options{}).blocks().rawConsole(), "gate failed: cloud-init-output.log")
	})
}

// The same of a virtual machine: its kernel writes to the same serial port, into the lines of others. make e2e-vm.
func TestVMConsole(t *testing.T) {
	if os.Getenv("KOPSHOOK_E2E_VM") == "" {
		t.Skip("make e2e-vm boots virtual machines")
	}
	onSuites(t, func(t *testing.T, suite string) {
		if suite == "noble" {
			t.Skip("there is a kernel for Debian only")
		}
		const noise = `
- name: noise
  run: every-boot
  script: |
    #!/bin/sh
    for i in $(seq 200); do echo "<3>usb 1-1: device descriptor read/64, error -71 ($i)" > /dev/kmsg; sleep 0.03; done > /dev/null 2>&1 &
`
		n := newNodeOf(t, boot.Config{Suite: suite, UserData: userData(t, parts(t, spec("console", noise+strings.Replace(license, "name: license\n", "name: license\n  weight: 1\n", 1)))...), VM: true})
		console := n.boot(boot.Options{Limit: 6 * time.Minute}).blocks().rawConsole()
		keepConsole(t, suite+"-vm", console)
		explains(t, console, "noise pre-nodeup succeeded 1 ", "license pre-nodeup failed 2 ", "script: exit status 7")
	})
}

// keepConsole writes what a node wrote anew to where internal/console tests with it: KOPSHOOK_UPDATE_GOLDEN=1.
func keepConsole(t *testing.T, name string, console []byte) {
	t.Helper()
	if golden.Update() {
		if err := os.WriteFile("../internal/console/testdata/"+name+".txt", console, 0o644); err != nil {
			t.Error(err)
		}
	}
}
