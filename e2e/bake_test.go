//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/nodestatus"
)

// baked are hooks of which an image has done two. Their scripts note on the disk that they ran.
const baked = `
- name: driver
  run: once-per-image
  retryDelay: 0s
  env: {VERSION: "it's 580"}
  files:
  - {path: /srv/bytes, contentBase64: AAECZm9v, mode: "0640", owner: "daemon:www-data"}
  dropIns:
  - {unit: baked.service, content: "[Service]\nEnvironment=A=b\n"}
  script: |
    #!/bin/sh
    echo "driver $VERSION $KOPSHOOK_ATTEMPT ${KOPSHOOK_BAKE-} $KOPSHOOK_INSTANCE_GROUP $KOPSHOOK_NODE_NAME" >> /srv/ran
    [ ! -e /trial ] || /trial/bin/event driver
    [ "$KOPSHOOK_ATTEMPT" != 1 ] || exit 7
    echo 580 > /srv/driver
  verify: |
    [ ! -e /trial ] || /trial/bin/event driver-verified
    grep 580 /srv/driver
- name: agent
  phase: pre-kubelet
  run: once-per-image
  script: |
    #!/bin/sh
    echo agent >> /srv/ran
    [ ! -e /trial ] || /trial/bin/event agent
- name: disks
  weight: -1
  script: |
    #!/bin/sh
    /trial/bin/event disks
`

// bakeScript is what kopshook bake prints for the hooks.
func bakeScript(t testing.TB, hooks string) []byte {
	t.Helper()
	return bakeScriptOf(t, spec("baked", hooks))
}

// bakeScriptOf is what kopshook bake prints for a spec.
func bakeScriptOf(t testing.TB, spec string) []byte {
	t.Helper()
	dir := t.TempDir()
	file, ig := filepath.Join(dir, "hooks.yaml"), filepath.Join(dir, "ig.yaml")
	for name, text := range map[string]string{file: spec, ig: manifest} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := kopshook(t, "bake", "-f", file, ig)
	if code != 0 {
		t.Fatalf("bake: exit code %d\n%s", code, stderr)
	}
	return []byte(mutated(t, "bake", stdout))
}

// What an image has done, its nodes only verify. What it has not done, or cannot be verified, or has changed, runs.
func TestBakedHooks(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		image := newNode(t, suite, nil)
		for range 2 { // the second time there is nothing left to do
			if out, err := image.Chroot(context.Background(), bakeScript(t, baked)); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		const ran = "driver it's 580 1 true nodes \ndriver it's 580 2 true nodes \nagent\n"
		image.hasFile("/srv/ran", []byte(ran), 0o644, 0, 0)
		image.hasFile("/srv/bytes", []byte("\x00\x01\x02foo"), 0o640, 1, 33)
		image.hasFile("/etc/systemd/system/baked.service.d/90-kopshook-driver.conf", []byte("[Service]\nEnvironment=A=b\n"), 0o644, 0, 0)
		for _, pattern := range []string{"/opt/kopshook*", "/etc/systemd/system/kopshook-*", "/etc/systemd/system/*.d/kopshook-*", "/var/lib/kopshook/[^@]*", "/run/kopshook"} {
			if left, err := image.Glob(pattern); err != nil || len(left) > 0 {
				t.Errorf("the image has %v, %v", left, err)
			}
		}
		data := userData(t, parts(t, spec("baked", baked))...)

		n := image.clone(data, "i-0fedcba9876543210")
		n.boot(boot.Options{}).joins().fails().happens("disks", "driver-verified", "nodeup-start", "kubelet-start").never("driver", "agent")
		n.hasFile("/srv/ran", []byte(ran), 0o644, 0, 0)
		for _, hook := range []string{"driver", "agent"} {
			n.hasStatus(hook, nodestatus.Succeeded, "was done")
		}
		n.boot(boot.Options{}).joins().fails().happens("driver-verified", "nodeup-start", "kubelet-start").never("disks", "driver", "agent")

		// an image of that node: its own machine has done it
		again := n.clone(data, "i-0fedcba9876543211")
		again.boot(boot.Options{}).joins().fails().happens("disks", "driver-verified", "nodeup-start", "kubelet-start").never("driver", "agent")

		changed := strings.Replace(baked, "it's 580", "it's 595", 1)
		other := image.clone(userData(t, parts(t, spec("baked", changed))...), "i-0fedcba9876543212")
		other.boot(boot.Options{}).joins().fails().happens("disks", "driver", "driver", "driver-verified", "nodeup-start", "kubelet-start").never("agent")
		other.hasStatus("driver", nodestatus.Succeeded, "")

		broken := image.clone(data, "i-0fedcba9876543213")
		if err := broken.RemoveAll("/srv/driver"); err != nil {
			t.Fatal(err)
		}
		r := broken.boot(boot.Options{}).joins().fails()
		r.happens("disks", "driver-verified", "driver", "driver", "driver-verified", "nodeup-start", "kubelet-start").never("agent")
		broken.hasStatus("driver", nodestatus.Succeeded, "")
		broken.boot(boot.Options{}).joins().fails().happens("driver-verified", "nodeup-start", "kubelet-start").never("driver")
	})
}

// A script that asks for a reboot, or fails, ends the making of the image; after a reboot it goes on where it was.
func TestBakeStopsWhereAnImageIsNotDone(t *testing.T) {
	n := newNode(t, "trixie", nil)
	script := bakeScript(t, `
- {name: a, run: once-per-image, script: "#!/bin/sh\necho a >> /srv/ran"}
- {name: b, run: once-per-image, rebootExitCodes: [100], script: "#!/bin/sh\necho b >> /srv/ran\n[ -e /srv/rebooted ] || exit 100"}
- {name: c, run: once-per-image, onFailure: continue, attempts: 1, script: "#!/bin/sh\nexit 3"}
- {name: d, run: once-per-image, attempts: 1, timeout: 5s, script: "#!/bin/sh\n[ -e /srv/rebooted-again ] || sleep 60"}
`)
	for i, step := range []struct{ before, says, ran string }{
		{":", "hook b: exit status 100 asks for a reboot: reboot this machine, then run this script again", "a\nb\n"},
		{"touch /srv/rebooted\n", "hook d: attempt 1 of 1: script: timed out after 5 s", "a\nb\nb\n"},
		{"touch /srv/rebooted-again\n", "hook d: done", "a\nb\nb\n"},
	} {
		out, err := n.Chroot(context.Background(), append([]byte(step.before+"\n"), script...))
		if (err == nil) != (i == 2) || !strings.Contains(string(out), step.says) {
			t.Errorf("run %d ended with %v\n%s", i+1, err, out)
		}
		n.hasFile("/srv/ran", []byte(step.ran), 0o644, 0, 0)
	}
}
