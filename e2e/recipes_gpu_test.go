//go:build e2e

package e2e

import (
	"testing"

	"kopshook.dev/kopshook/internal/boot"
)

// modprobe stands for loading a module: it knows those that a package brought to /srv/modules, and remembers for the
// boot which are loaded.
const modprobe = `#!/bin/sh
case $1 in
-r) rm -f "/run/modules/$2"; exit ;;
-a) shift ;;
esac
mkdir -p /run/modules
for m; do
  [ -e "/srv/modules/$m" ] || { echo "modprobe: FATAL: Module $m not found" >&2; exit 1; }
  [ -e "/run/modules/$m" ] || /trial/bin/event "loaded $m"
  : > "/run/modules/$m"
done
`

// nvidiaSMI stands for nvidia-smi on a machine with one GPU.
const nvidiaSMI = `#!/bin/sh
[ -e /run/modules/nvidia ] || { echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver." >&2; exit 9; }
[ ! -e /srv/no-gpu ] || { echo "No devices were found" >&2; exit 6; }
echo "GPU 0: stand-in (UUID: GPU-00000000-0000-0000-0000-000000000000)"
`

// kernelHeaders is the package with the running kernel's headers.
func kernelHeaders(t *testing.T) deb {
	t.Helper()
	return deb{name: "linux-headers-" + kernelRelease(t), version: "1"}
}

func init() {
	recipeBoots["nvidia-driver"] = func(t *testing.T, suite string) {
		archive := []deb{
			kernelHeaders(t),
			{name: "nvidia-headless-580-server-open", version: "580.1", files: map[string]string{"srv/modules/nvidia": "", "srv/modules/nvidia_uvm": ""}},
			{name: "nvidia-utils-580-server", version: "580.1", files: map[string]string{"usr/bin/nvidia-smi": nvidiaSMI}},
		}
		s := standIns{archive: archive, files: map[string]string{"/usr/local/sbin/modprobe": modprobe}}
		n := recipeNode(t, suite, "nvidia-driver", s)
		n.boot(boot.Options{}).joins().fails().ordered("installed nvidia-headless-580-server-open", "loaded nvidia", "containerd-start", "kubelet-start")
		n.boot(boot.Options{}).joins().fails().ordered("loaded nvidia", "containerd-start", "kubelet-start").
			never("installed nvidia-headless-580-server-open", "installed "+kernelHeaders(t).name)

		s.files["/srv/no-gpu"] = ""
		recipeNode(t, suite, "nvidia-driver", s, "attempts: 3", "attempts: 1").boot(boot.Options{}).blocks()
	}
}
