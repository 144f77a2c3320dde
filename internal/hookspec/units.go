package hookspec

import (
	"path"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/report"
)

// unitTypes are systemd's (systemd.unit(5)).
var unitTypes = []string{"service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope"}

// unitError says what is wrong with the name of a systemd unit: "" when nothing is. The rules are those of
// unit_name_is_valid (systemd, src/basic/unit-name.c).
func unitError(name string) (wrong, remedy string) {
	prefix, suffix := strings.TrimSuffix(name, path.Ext(name)), strings.TrimPrefix(path.Ext(name), ".")
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(`:-_.\@`, r))
	}
	switch {
	case !slices.Contains(unitTypes, suffix) && name != "" && !strings.ContainsFunc(name, odd):
		if near := report.Nearest(suffix, unitTypes); suffix != "" && near != "" {
			return "has no unit type", "did you mean `" + prefix + "." + near + "`?"
		}
		return "has no unit type", "write `" + name + ".service`"
	case prefix == "" || len(name) > 255 || prefix[0] == '@' || strings.ContainsFunc(name, odd):
		return "is not the name of a systemd unit", ""
	}
	return "", ""
}

// refusedUnits cannot wait for hooks. Hooks start when the system is up as far as basic.target and the network; what
// systemd starts before that, or what that waits for, would wait for itself. systemd breaks such a cycle by dropping
// any job of it, and no failed unit shows that it did.
var refusedUnits = []struct {
	why, remedy string
	globs       []string
}{
	{"already waits for every pre-nodeup and pre-kubelet hook", "leave it out",
		[]string{"kubelet.service"}},
	{"already waits for every pre-nodeup hook", "leave it out, with phase: pre-nodeup",
		[]string{"kops-configuration.service"}},
	{"is a hook's own unit", "order hooks by phase and weight",
		[]string{"kopshook-*"}},
	{"is how people get onto a node whose hooks failed", "leave it out",
		[]string{"ssh.service", "sshd.service", "ssh@*", "sshd@*", "getty@*", "serial-getty@*", "console-getty.service", "amazon-ssm-agent.service", "google-guest-agent.service"}},
	{"belongs to cloud-init and starts before the hooks do", "name the unit itself that needs the hook",
		[]string{"cloud-*"}},
	{"starts early in the boot, before the hooks can: it would wait for itself", "name the unit itself that needs the hook, or choose phase: boot",
		[]string{
			"systemd-*", "dbus*", "kmod*", "udev*", "apparmor.service", "keyboard-setup.service", "lvm2-*", "multipathd*", "procps*", "iscsi*", "open-iscsi.service",
			"network*", "NetworkManager*", "ifup*", "dhcpcd*", "dhclient*", "wpa_supplicant*", "netplan*", "resolvconf*", "ufw.service", "nftables.service", "iptables*", "netfilter-persistent.service", "firewalld.service",
			"sysinit.target", "basic.target", "local-fs*", "remote-fs*", "swap.target", "cryptsetup*", "veritysetup*", "integritysetup*", "sockets.target", "timers.target", "paths.target", "slices.target",
			"nss-lookup.target", "nss-user-lookup.target", "time-set.target", "time-sync.target", "sysinit.*", "initrd*", "first-boot-complete.target",
		}},
	{"is reached only when what waits for it has started: it would wait for itself", "name the unit itself that needs the hook",
		[]string{"multi-user.target", "graphical.target", "default.target", "runlevel*", "getty.target", "rescue.*", "emergency.*"}},
	{"is part of the shutdown", "choose phase: pre-shutdown",
		[]string{"shutdown.target", "umount.target", "final.target", "reboot.target", "poweroff.target", "halt.target", "kexec.target", "exit.target", "suspend*", "hibernate*", "sleep.target"}},
}

// beforeError says why a unit cannot wait for a hook, "" when it can.
func beforeError(unit string) (wrong, remedy string) {
	wrong, remedy = unitError(unit)
	if wrong != "" && path.Ext(unit) == "" {
		unit += ".service"
	} else if wrong != "" {
		return wrong, remedy
	}
	for _, refused := range refusedUnits {
		for _, glob := range refused.globs {
			if ok, err := path.Match(glob, unit); ok && err == nil {
				return refused.why, refused.remedy
			}
		}
	}
	switch kind := path.Ext(unit); kind {
	case ".service", ".timer", ".target":
		return wrong, remedy
	default:
		// sockets, paths and mounts are ordered before basic.target, by default; devices, slices and scopes wait for nothing
		return "is a " + kind[1:] + " unit, and those do not wait for hooks", "name the service that belongs to it"
	}
}
