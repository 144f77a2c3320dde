//go:build e2e

package e2e

import (
	"context"
	"maps"
	"runtime"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/nodestatus"
)

// modprobe stands for loading a module: it knows those that a package brought to /srv/modules, and remembers for the
// boot which are loaded.
const modprobe = `#!/bin/sh
case $1 in
-r) exit ;;
-a) shift ;;
esac
mkdir -p /run/modules
for m; do
  [ -e "/srv/modules/$m" ] || { echo "modprobe: FATAL: Module $m not found" >&2; exit 1; }
  [ -e "/run/modules/$m" ] || /trial/bin/event "loaded $m"
  cp "/srv/modules/$m" "/run/modules/$m"
done
`

// nvidiaSMI stands for nvidia-smi on a machine with one GPU. The module's file holds the driver's version.
const nvidiaSMI = `#!/bin/sh
[ -e /run/modules/nvidia ] || { echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver." >&2; exit 9; }
[ ! -e /srv/no-gpu ] || { echo "No devices were found" >&2; exit 6; }
case $1 in
-L) echo "GPU 0: stand-in (UUID: GPU-00000000-0000-0000-0000-000000000000)" ;;
*) cat /run/modules/nvidia ;;
esac
`

// kernelHeaders is the package with the running kernel's headers.
func kernelHeaders(t *testing.T) deb {
	t.Helper()
	return deb{name: "linux-headers-" + kernelRelease(t), version: "1"}
}

// driverDeb is a package with the modules of a driver.
func driverDeb(name, version, driver string) deb {
	return deb{name: name, version: version, files: map[string]string{"srv/modules/nvidia": driver, "srv/modules/nvidia_uvm": driver}}
}

// gpuNode has a driver already, as the recipes have it that come behind one.
func gpuNode(s standIns, driver string) standIns {
	if s.files == nil {
		s.files = map[string]string{}
	}
	s.files["/usr/local/sbin/modprobe"] = modprobe
	s.files["/usr/bin/nvidia-smi"] = nvidiaSMI
	if driver != "" {
		s.files["/srv/modules/nvidia"] = driver
		s.files["/etc/tmpfiles.d/stand-in.conf"] = "C /run/modules - - - - /srv/modules\n"
	}
	return s
}

func init() {
	recipeBoots["nvidia-driver"] = func(t *testing.T, suite string) {
		s := standIns{archive: []deb{
			kernelHeaders(t),
			driverDeb("nvidia-headless-580-server-open", "580.1", "580.1"),
			{name: "nvidia-utils-580-server", version: "580.1", files: map[string]string{"usr/bin/nvidia-smi": nvidiaSMI}},
			{name: "linux-headers-6.99", version: "1", postinst: "mkdir -p /srv/modules\ntouch /srv/modules/nvidia /srv/modules/nvidia_uvm"},
		}, files: map[string]string{"/usr/local/sbin/modprobe": modprobe}}
		s.files["/var/lib/dpkg/updates/0000"] = "" // dpkg was interrupted
		n := recipeNode(t, suite, "nvidia-driver", s, "attempts: 3", "attempts: 1")
		bootsDriver(t, n, "nvidia-headless-580-server-open")
		// another kernel has no module until its headers are installed
		if err := n.RemoveAll("/srv/modules"); err != nil {
			t.Fatal(err)
		}
		uname := "#!/bin/sh\n[ \"$1\" != -r ] || exec echo 6.99\nexec /bin/uname \"$@\"\n"
		if err := n.WriteFile(boot.File{Path: "/usr/local/bin/uname", Mode: 0o755, Content: []byte(uname)}); err != nil {
			t.Fatal(err)
		}
		n.boot(boot.Options{}).joins().fails().ordered("installed linux-headers-6.99", "loaded nvidia", "containerd-start", "kubelet-start")
		n = bakes(t, suite, s, recipeText(t, "nvidia-driver", "attempts: 3", "attempts: 1"))
		for range 2 {
			n.boot(boot.Options{}).joins().fails().ordered("loaded nvidia", "containerd-start", "kubelet-start").never("installed nvidia-headless-580-server-open")
			n.hasStatus("nvidia-driver", nodestatus.Succeeded, "was done")
		}
		s.files["/srv/no-gpu"] = ""
		recipeNode(t, suite, "nvidia-driver", s, "attempts: 3", "attempts: 1").boot(boot.Options{}).blocks()
	}

	recipeBoots["nvidia-driver-debian"] = func(t *testing.T, suite string) {
		key, _ := standInKey(t)
		mirror := "https://deb.debian.org/debian"
		s := standIns{
			archive: []deb{kernelHeaders(t)},
			repos: []aptRepo{
				{uri: mirror, suite: codename(t, suite) + "-updates", component: "non-free"},
				{uri: mirror, suite: codename(t, suite), component: "non-free", debs: []deb{
					driverDeb("nvidia-open-kernel-dkms", "550.1-1", "550.1"),
					{name: "nvidia-smi", version: "550.1-1", files: map[string]string{"usr/bin/nvidia-smi": nvidiaSMI}},
					{name: "libcuda1", version: "550.1-1"},
				}},
			},
			files: map[string]string{"/usr/local/sbin/modprobe": modprobe, "/srv/key.asc": key},
		}
		n := recipeNode(t, suite, "nvidia-driver-debian", s, "/usr/share/keyrings/debian-archive-keyring.gpg", "/srv/key.asc")
		bootsDriver(t, n, "nvidia-open-kernel-dkms")
	}

	recipeBoots["nvidia-driver-cuda-repo"] = func(t *testing.T, suite string) {
		key, _ := standInKey(t)
		repo := "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64"
		keyring := deb{name: "cuda-keyring", version: "1.1-1", files: map[string]string{
			"usr/share/keyrings/cuda.asc":         key,
			"etc/apt/sources.list.d/cuda.list":    "deb [signed-by=/usr/share/keyrings/cuda.asc] " + repo + " /\n",
			"etc/apt/preferences.d/cuda-pin-600a": "Package: *\nPin: release o=stand-in\nPin-Priority: 600\n",
		}}.build(t)
		pin := deb{name: "nvidia-driver-pinning-595.71.05", version: "595.71.05-1", files: map[string]string{
			"etc/apt/preferences.d/nvidia-pin": "Package: *nvidia*\nPin: version 595.71.05*\nPin-Priority: 1001\n",
		}}
		smi := map[string]string{"usr/bin/nvidia-smi": nvidiaSMI}
		s := standIns{
			archive: []deb{kernelHeaders(t)},
			repos: []aptRepo{{uri: repo, suite: "/", debs: []deb{
				pin,
				driverDeb("nvidia-dkms-open", "595.71.05-1", "595.71.05"), {name: "libnvidia-compute", version: "595.71.05-1", files: smi},
				driverDeb("nvidia-dkms-open", "610.43.02-1", "610.43.02"), {name: "libnvidia-compute", version: "610.43.02-1", files: smi},
			}}},
			web:   map[string]string{repo + "/cuda-keyring_1.1-1_all.deb": keyring},
			files: map[string]string{"/usr/local/sbin/modprobe": modprobe},
		}
		real := "d2a6b11c096396d868758b86dab1823b25e14d70333f1dfa74da5ddaf6a06dba"
		n := recipeNode(t, suite, "nvidia-driver-cuda-repo", s, real, sha256sum(keyring))
		bootsDriver(t, n, "nvidia-dkms-open")
		if got, err := n.ReadFile("/srv/modules/nvidia"); err != nil || string(got) != "595.71.05" {
			t.Errorf("driver %s is installed, %v; want the pinned 595.71.05", got, err)
		}

		r := recipeNode(t, suite, "nvidia-driver-cuda-repo", s, "attempts: 3", "attempts: 1").boot(boot.Options{}).blocks()
		r.contains("console", r.Console, "is "+sha256sum(keyring)+", not "+real)
	}

	recipeBoots["nvidia-fabricmanager"] = func(t *testing.T, suite string) {
		unit := map[string]string{
			"lib/systemd/system/nvidia-fabricmanager.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/nv-fabricmanager\n[Install]\nWantedBy=multi-user.target\n",
			"usr/bin/nv-fabricmanager":                        "#!/bin/sh\n[ -e /run/modules/nvidia ] || exit 1\n/trial/bin/event fabric-up\n",
		}
		var all []deb
		for _, version := range []string{"580.95.05", "580.105.08"} {
			all = append(all, deb{name: "nvidia-fabricmanager-580", version: version + "-0ubuntu0.24.04.1", files: unit,
				postinst: "/trial/bin/event 'fabric " + version + "'\nsystemctl enable nvidia-fabricmanager.service"})
		}
		s, loaded := gpuNode(standIns{archive: all}, "580.95.05\n"), []string{"/sys/module/nvidia/version", "/run/modules/nvidia"}
		n := recipeNode(t, suite, "nvidia-fabricmanager", s, loaded...)
		n.boot(boot.Options{}).joins().fails().ordered("fabric 580.95.05", "fabric-up", "containerd-start", "kubelet-start")
		n.boot(boot.Options{}).joins().fails().ordered("fabric-up", "kubelet-start").never("fabric 580.95.05")

		// the driver of a new image, and a service that was too early
		late := boot.File{Path: "/etc/systemd/system/nvidia-fabricmanager.service.d/late.conf", Content: []byte("[Service]\nExecStartPre=/usr/bin/test -e /run/late\n")}
		for _, f := range []boot.File{late, {Path: "/srv/modules/nvidia", Content: []byte("580.105.08\n")}} {
			if err := n.WriteFile(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.WriteFile(boot.File{Path: "/usr/local/bin/dpkg-query", Mode: 0o755, Content: []byte("#!/bin/sh\ntouch /run/late\nexec /usr/bin/dpkg-query \"$@\"\n")}); err != nil {
			t.Fatal(err)
		}
		n.boot(boot.Options{}).joins().fails().ordered("fabric 580.105.08", "fabric-up", "containerd-start", "kubelet-start")

		n = bakes(t, suite, s, recipeText(t, "nvidia-fabricmanager", loaded...))
		n.boot(boot.Options{}).joins().fails().ordered("fabric-up", "containerd-start", "kubelet-start").never("fabric 580.95.05")
		n.hasStatus("nvidia-fabricmanager", nodestatus.Succeeded, "was done")
	}

	recipeBoots["nvidia-container-toolkit"] = func(t *testing.T, suite string) {
		key, _ := standInKey(t)
		site := "https://nvidia.github.io/libnvidia-container/"
		s := gpuNode(standIns{
			repos: []aptRepo{{uri: site + "stable/deb/" + runtime.GOARCH, suite: "/", debs: []deb{
				{name: "nvidia-container-toolkit", version: "1.18.0-1", files: map[string]string{"usr/bin/nvidia-container-cli": "#!/bin/sh\nexec nvidia-smi -L\n"}},
			}}},
			web:   map[string]string{site + "gpgkey": key},
			files: map[string]string{"/etc/apt/trusted.gpg.d/nodeup.asc": key},
		}, "580.1\n")
		real := "c880576d6cf75a48e5027a871bac70fd0421ab07d2b55f30877b21f1c87959c9"
		n := recipeNode(t, suite, "nvidia-container-toolkit", s, real, sha256sum(key))
		// what kops' nodeup does for containerd.nvidiaGPU on Ubuntu (upup/pkg/fi/nodeup/nodetasks/aptsource.go)
		nodeup := "echo 'deb " + site + "stable/deb/$(ARCH) /' > /etc/apt/sources.list.d/nvidia-container-toolkit.list\napt-get update"
		if err := n.SetNodeup(boot.Nodeup{Script: nodeup}); err != nil {
			t.Fatal(err)
		}
		n.boot(boot.Options{}).joins().fails().ordered("got nvidia.github.io/libnvidia-container/gpgkey", "installed nvidia-container-toolkit", "nodeup-start", "containerd-start", "kubelet-start")
		n.boot(boot.Options{}).joins().fails().never("got nvidia.github.io/libnvidia-container/gpgkey", "installed nvidia-container-toolkit")

		// as on Amazon Linux and RHEL
		d := gpuNode(standIns{web: s.web, files: map[string]string{"/etc/yum.repos.d/other.repo": "", "/usr/local/bin/dnf": dnfStandIn(
			"grep -Fq 'stable/rpm/$basearch' /etc/yum.repos.d/nvidia-container-toolkit.repo && [ -s \"$(sed -n 's,^gpgkey=file://,,p' /etc/yum.repos.d/nvidia-container-toolkit.repo)\" ]",
			map[string]string{"/usr/local/bin/nvidia-container-cli": "#!/bin/sh\nexec nvidia-smi -L"})}}, "580.1\n")
		n = recipeNode(t, suite, "nvidia-container-toolkit", d, real, sha256sum(key))
		n.boot(boot.Options{}).joins().fails().ordered("dnf -y install nvidia-container-toolkit", "containerd-start", "kubelet-start")

		r := recipeNode(t, suite, "nvidia-container-toolkit", s, "attempts: 3", "attempts: 1").boot(boot.Options{}).blocks()
		r.contains("console", r.Console, "is "+sha256sum(key)+", not "+real)
	}
}

// bootsDriver boots a node with a driver's recipe: it is installed once, and loaded on every boot before containerd.
func bootsDriver(t *testing.T, n *node, name string) {
	t.Helper()
	n.boot(boot.Options{}).joins().fails().ordered("installed "+name, "loaded nvidia", "containerd-start", "kubelet-start")
	second := n.boot(boot.Options{}).joins().fails().ordered("loaded nvidia", "containerd-start", "kubelet-start")
	for _, e := range second.Timeline {
		if strings.HasPrefix(e.Name, "installed ") || strings.HasPrefix(e.Name, "got ") {
			t.Errorf("the second boot: %s", e.Name)
		}
	}
}

// bakes makes an image with a recipe on a machine that has no devices and loads no module, and returns a node of it.
func bakes(t *testing.T, suite string, s standIns, spec string) *node {
	t.Helper()
	image := newNode(t, suite, nil)
	s.files = maps.Clone(s.files)
	s.files["/usr/local/sbin/modinfo"] = "#!/bin/sh\n[ \"$1 $2\" != \"-F version\" ] || exec cat \"/srv/modules/$3\"\n[ -e \"/srv/modules/$1\" ]\n"
	s.files["/trial/bin/event"] = "#!/bin/sh\n" // nobody listens here
	s.install(t, image)
	out, err := image.Chroot(context.Background(), append(bakeScriptOf(t, spec), "rm -r /trial\n"...))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return image.clone(userData(t, parts(t, spec)...), "i-0fedcba9876543210")
}

// `kopshook try` boots containers, where these recipes have no kernel to bring a module to: they say so, and the node
// joins.
func TestAcceleratorsInContainers(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		var specs []string
		for _, name := range []string{"nvidia-driver", "nvidia-fabricmanager", "neuron"} { // the others download a file
			specs = append(specs, recipeText(t, name))
		}
		n := newNode(t, suite, userData(t, parts(t, specs...)...))
		r := n.boot(boot.Options{}).joins().fails()
		r.contains("timeline", r.Timeline.String(), "kopshook try: a container has no kernel of its own")
	})
}
