package lint

import (
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/report"
)

// checkNative looks for what a field of kops does better: kops does it on every boot, in the right order, outside of the
// size limit, and knows when it fails.
func (p *pass) checkNative() {
	say := func(pos report.Position, what, field string) {
		p.add("KH080", pos, what+" is what kops does with "+field)
	}
	p.configs(func(_ int, config *pyyaml.Value) {
		if v := config.Get("packages"); v.Truth() {
			say(p.place(p.result.At(v)), "installing packages", "spec.packages")
		}
		for _, key := range []string{"fs_setup", "disk_setup"} {
			if e, ok := config.GetEntry(key); ok && e.Value.Truth() {
				say(p.place(p.result.At(e.Key)), "making file systems on extra disks", "spec.volumeMounts")
			}
		}
		if v := config.Get("apt"); v.IsDict() && (v.Get("http_proxy").Truth() || v.Get("proxy").Truth()) {
			say(p.place(p.result.At(v)), "setting a proxy", "spec.networking.egressProxy of the cluster")
		}
		if conf := config.Get("apt").Get("conf"); conf.IsString() && stopsUpgrades(conf.Str) {
			say(p.place(p.result.At(conf)), upgradesOff, "spec.updatePolicy: external")
		}
	})
	for _, f := range p.files {
		switch {
		case strings.HasPrefix(f.path, "/etc/sysctl.d/"), f.path == "/etc/sysctl.conf":
			say(f.place(1, 1), "setting sysctls", "spec.sysctlParameters")
		case strings.HasPrefix(f.path, "/etc/containerd/certs.d/"), strings.Contains(f.path, "/containerd/") && strings.Contains(f.text, "registry.mirrors"):
			say(f.place(1, 1), "configuring registry mirrors", "spec.containerd.registryMirrors")
		case f.path == "/etc/environment" && strings.Contains(strings.ToLower(f.text), "_proxy="), strings.HasPrefix(f.path, "/etc/apt/apt.conf.d/") && strings.Contains(f.text, "Proxy"):
			say(f.place(1, 1), "setting a proxy", "spec.networking.egressProxy of the cluster")
		case strings.HasPrefix(f.path, "/etc/apt/apt.conf.d/") && stopsUpgrades(f.text):
			say(f.place(1, 1), upgradesOff, "spec.updatePolicy: external")
		case f.entry != nil && len(f.text) > 2048:
			say(f.place(1, 1), fmt.Sprintf("a file of %s bytes", report.Thousands(len(f.text))), "spec.fileAssets, outside of the limit on user data,")
		}
	}
	for _, s := range p.shells {
		for i := range s.Commands {
			c := &s.Commands[i]
			line := strings.Join(c.Words, " ")
			pos := s.place(c.Line, c.Col)
			switch {
			case c.Is("sysctl") && c.Has("-w"), c.Is("sed") && c.Has("/etc/sysctl.conf"):
				say(pos, "setting sysctls", "spec.sysctlParameters")
			case c.Appends == "/etc/environment" && strings.Contains(strings.ToLower(line), "_proxy="):
				say(pos, "setting a proxy", "spec.networking.egressProxy of the cluster")
			case strings.HasPrefix(c.Name(), "mkfs") || c.Is("mkfs"):
				say(pos, "making file systems on extra disks", "spec.volumeMounts")
			case c.Is("systemctl") && c.Has("mask", "disable", "stop") && strings.Contains(line, "unattended-upgrades"),
				c.Is("apt-get", "apt") && c.Has("remove", "purge") && c.Has("unattended-upgrades"):
				say(pos, upgradesOff, "spec.updatePolicy: external")
			case c.Is("apt-get", "apt") && c.Has("install") && strings.Contains(line, "nvidia"): // kops installs it on Ubuntu alone
				say(pos, "installing the NVIDIA driver and runtime", "spec.containerd.nvidiaGPU")
			}
		}
	}
}

const upgradesOff = "switching unattended upgrades off"

// stopsUpgrades says whether a configuration of apt switches them off (apt.conf(5), apt.systemd.daily).
func stopsUpgrades(conf string) bool {
	return strings.Contains(conf, `APT::Periodic::Enable "0"`) || strings.Contains(conf, `APT::Periodic::Unattended-Upgrade "0"`)
}
