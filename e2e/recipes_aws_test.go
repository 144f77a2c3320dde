//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/nodestatus"
)

// tarball packs files, all of them programs, for the web server.
func tarball(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func init() {
	recipeBoots["efa"] = func(t *testing.T, suite string) {
		installer := tarball(t, map[string]string{"aws-efa-installer/efa_installer.sh": `#!/bin/sh
/trial/bin/event "efa_installer $*"
apt-config dump DPkg::Lock::Timeout | grep '"600"' && /trial/bin/event waits-for-lock
mkdir -p /srv/modules /srv/infiniband
: > /srv/modules/efa
[ -e /srv/no-efa ] || : > /srv/infiniband/rdmap0s6
`})
		s := standIns{
			archive: []deb{kernelHeaders(t)},
			web:     map[string]string{"https://efa-installer.amazonaws.com/aws-efa-installer-1.41.0.tar.gz": installer},
			files:   map[string]string{"/usr/local/sbin/modprobe": modprobe},
		}
		real := "3506354cdfbe31ff552fe75f5d0d9bb7efd29cf79bd99457347d29c751c38f9f"
		devices := []string{"/sys/class/infiniband", "/srv/infiniband", "attempts: 3", "attempts: 1"}
		n := recipeNode(t, suite, "efa", s, append(devices, real, sha256sum(installer))...)
		n.boot(boot.Options{}).joins().fails().ordered("efa_installer -y --minimal", "waits-for-lock", "loaded efa", "kubelet-start")
		n.boot(boot.Options{}).joins().fails().ordered("loaded efa", "kubelet-start").
			never("efa_installer -y --minimal", "got efa-installer.amazonaws.com/aws-efa-installer-1.41.0.tar.gz")

		// the file is there already: no web server answers where the image is made
		image := s
		image.files = maps.Clone(s.files)
		image.files["/var/cache/kopshook-efa/installer.tar.gz"] = installer
		n = bakes(t, suite, image, recipeText(t, "efa", append(devices, real, sha256sum(installer))...))
		n.boot(boot.Options{}).joins().fails().ordered("loaded efa", "kubelet-start").never("efa_installer -y --minimal")
		n.hasStatus("efa", nodestatus.Succeeded, "was done")

		r := recipeNode(t, suite, "efa", s, devices...).boot(boot.Options{}).blocks().never("efa_installer -y --minimal")
		r.contains("console", r.Console, "is "+sha256sum(installer)+", not "+real)

		s.files["/srv/no-efa"] = ""
		r = recipeNode(t, suite, "efa", s, append(devices, real, sha256sum(installer))...).boot(boot.Options{}).blocks()
		r.contains("console", r.Console, "there is no EFA device")
	}

	recipeBoots["neuron"] = func(t *testing.T, suite string) {
		key, fingerprint := standInKey(t)
		s := standIns{
			archive: []deb{kernelHeaders(t)},
			repos: []aptRepo{{uri: "https://apt.repos.neuron.amazonaws.com", suite: codename(t, suite), debs: []deb{
				{name: "aws-neuronx-dkms", version: "2.26.10.0", files: map[string]string{"srv/modules/neuron": ""}},
				{name: "aws-neuronx-tools", version: "2.29.18.0", files: map[string]string{"opt/aws/neuron/bin/neuron-ls": "#!/bin/sh\nls /run/modules/neuron\n"}},
			}}},
			web:   map[string]string{"https://apt.repos.neuron.amazonaws.com/GPG-PUB-KEY-AMAZON-AWS-NEURON.PUB": key},
			files: map[string]string{"/usr/local/sbin/modprobe": modprobe},
		}
		real := "00FA2C1079260870A76D2C285749CAD8646D9185"
		withGPG := func(replace ...string) *node {
			data := userData(t, parts(t, recipeText(t, "neuron", replace...))...)
			n := newNodeOf(t, boot.Config{Suite: suite, UserData: data, Packages: morePackages})
			s.install(t, n)
			return n
		}
		n := withGPG(real, fingerprint)
		n.boot(boot.Options{}).joins().fails().ordered("installed aws-neuronx-dkms", "loaded neuron", "containerd-start", "kubelet-start")
		n.boot(boot.Options{}).joins().fails().ordered("loaded neuron", "kubelet-start").
			never("installed aws-neuronx-dkms", "got apt.repos.neuron.amazonaws.com/GPG-PUB-KEY-AMAZON-AWS-NEURON.PUB")
		// what a node has done is done for an image of it
		image := n.clone(userData(t, parts(t, recipeText(t, "neuron", real, fingerprint))...), "i-0fedcba9876543210")
		image.boot(boot.Options{}).joins().fails().ordered("loaded neuron", "kubelet-start").never("installed aws-neuronx-dkms")
		image.hasStatus("neuron", nodestatus.Succeeded, "was done")

		r := withGPG("attempts: 3", "attempts: 1").boot(boot.Options{}).blocks().never("installed aws-neuronx-dkms")
		r.contains("console", r.Console, "is "+fingerprint+", not "+real)
	}
}
