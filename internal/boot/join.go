package boot

import (
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
)

// Join makes a machine a node of a cluster: it runs the nodeup that its user data names, and what that installs, in
// place of the stand-ins. See package cluster.
type Join struct {
	Name    string // of the node
	Network string // the path of its network namespace
	Hosts   string // its /etc/hosts
}

// joinPackages are what nodeup would install, for which it needs a network: nodeup/pkg/model/packages.go:39,
// ntp.go:48, logrotate.go:40. And mount, for the kubelet.
var joinPackages = []string{"chrony", "iptables", "libapparmor1", "libseccomp2", "logrotate", "mount", "util-linux"}

// JoinPackages are the packages of a node that joins: RootFS with them is its root file system.
func JoinPackages() []string { return slices.Clone(joinPackages) }

//go:embed standin/trial-kernel.service
var trialKernelService []byte

// hostname is the node's own.
func (m *Machine) hostname() string {
	if m.config.Join != nil {
		return m.config.Join.Name
	}
	return "kops-node"
}

// installJoin prepares the disk of a node that joins a cluster. /var is no overlay there: containerd makes overlays
// below it, and one overlay cannot write to another.
func (m *Machine) installJoin() error {
	for _, layer := range m.layers[1:] {
		if !exists(filepath.Join(layer, "var/lib")) {
			continue
		}
		if out, err := exec.Command("cp", "-a", "--reflink=auto", filepath.Join(layer, "var"), m.layers[0]).CombinedOutput(); err != nil {
			return fmt.Errorf("copying /var: %w: %s", err, out)
		}
		break
	}
	for _, f := range []File{
		{Path: "/etc/hosts", Content: []byte(m.config.Join.Hosts)},
		// nobody answers for names: then it is said at once
		{Path: "/etc/resolv.conf", Content: []byte("# names are in /etc/hosts\n")},
		{Path: "/etc/hostname", Content: []byte(m.hostname() + "\n")},
		// a container has no kernel of its own: what nodeup and the kubelet set of it goes to copies
		{Path: "/etc/systemd/system/trial-kernel.service", Content: trialKernelService},
	} {
		if err := m.WriteFile(f); err != nil {
			return err
		}
	}
	return m.symlink("../trial-kernel.service", "/etc/systemd/system/sysinit.target.wants/trial-kernel.service")
}

// joinArguments are systemd-nspawn's for a container that runs containers.
func (m *Machine) joinArguments() []string {
	return []string{
		"--resolv-conf=off", "--network-namespace-path=" + m.config.Join.Network,
		"--capability=all", "--system-call-filter=add_key keyctl bpf", "--bind=/dev/kmsg",
		"--bind=" + filepath.Join(m.layers[0], "var") + ":/var",
	}
}
