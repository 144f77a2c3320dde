package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
)

// nodeupFiles are files that nodeup writes on every boot, and where kops takes what is to stand in them
// (nodeup/pkg/model of kops 1.36.2).
var nodeupFiles = map[string]string{
	"/etc/containerd/config.toml":         "spec.containerd.configAdditions", // containerd.go:348
	"/etc/sysconfig/containerd":           "spec.containerd",                 // containerd.go:326
	"/etc/sysconfig/kubelet":              "spec.kubelet",                    // kubelet.go:494
	"/var/lib/kubelet/kubelet.conf":       "spec.kubelet",                    // kubelet.go:60
	"/etc/sysctl.d/99-k8s-general.conf":   "spec.sysctlParameters",           // sysctls.go:178
	"/etc/apt/apt.conf.d/20auto-upgrades": "spec.updatePolicy",               // update_service.go
}

// checkNodeupFiles looks for what has no effect, since nodeup writes the file itself or the kubelet does not read it.
func checkNodeupFiles(p adder, files []*file, shells []*shellText) {
	eachFile(files, shells, func(file string, pos report.Position) {
		if field := nodeupFiles[file]; field != "" {
			p.add("KH089", pos, fmt.Sprintf("nodeup writes %s on every boot: what you write there is lost", file), remedy("use %s", field))
		}
	})
	for _, f := range files {
		kubelet := f.path == "/etc/default/kubelet" || strings.Contains(f.path, "/kubelet.service.d/")
		for n, line := range strings.Split(f.text, "\n") {
			if kubelet && strings.Contains(line, "KUBELET_EXTRA_ARGS=") {
				p.add("KH089", f.place(n+1, 1), "the kubelet of kops does not read KUBELET_EXTRA_ARGS", remedy("use spec.kubelet, spec.nodeLabels and spec.taints"))
			}
		}
	}
}

// eachFile calls f for each file that is written or edited, with the place where that is said.
func eachFile(files []*file, shells []*shellText, f func(file string, pos report.Position)) {
	for _, written := range files {
		f(written.path, written.place(1, 1))
	}
	for _, s := range shells {
		for i := range s.Commands {
			c := &s.Commands[i]
			f(changes(c), s.place(c.Line, c.Col))
		}
	}
}

// changes names the file that a command makes or edits in place, "" when it is none that one can tell.
func changes(c *command) string {
	options, arguments := c.Options()
	switch {
	case len(c.Writes) > 0, c.Is("tee") && len(c.Input) > 0: // the text is a file of its own; the other end of the pipe says it
		return ""
	case c.Into != "" || len(arguments) == 0:
		return c.Into
	}
	inPlace := slices.ContainsFunc(options, func(o string) bool {
		return strings.HasPrefix(o, "--in-place") || !strings.HasPrefix(o, "--") && strings.Contains(o, "i")
	})
	if c.Is("sed", "perl") && inPlace || c.Is("cp", "mv", "install", "ln") {
		return arguments[len(arguments)-1]
	}
	return ""
}

// ends says whether a command takes the machine down now (systemctl(1), shutdown(8)).
func ends(c *command) bool {
	switch {
	case c.Is("shutdown"):
		return !c.Has("-c", "--show") && !slices.ContainsFunc(c.Words[1:], func(w string) bool { return strings.ContainsAny(w, "+:") && w != "+0" })
	case c.Is("init", "telinit"):
		return c.Has("0", "6")
	case c.Is("systemctl"):
		return slices.Contains([]string{"reboot", "poweroff", "halt", "kexec", "soft-reboot"}, c.Verb()) // not --when=
	}
	return c.Is("reboot", "poweroff", "halt") && !c.Has("--help", "-w", "--wtmp-only")
}

// checkReboots looks for scripts that take the machine down before nodeup has run. cloud-init runs scripts once per
// instance and notes that before it does (cc_scripts_user.py, helpers.py: FileSemaphores): on the next boot it runs none.
func (p *pass) checkReboots() {
	if p.g.Role == "Bastion" {
		return
	}
	for _, s := range p.shells {
		before := slices.ContainsFunc(p.result.Runs, func(r cloudinit.Run) bool {
			return r.What == "script" && s.what == "script" && r.Part == s.part && r.Name < cloudinit.NodeupName
		})
		for i := range s.Commands {
			c := &s.Commands[i]
			if !ends(c) {
				continue
			}
			effects := effect(NoEffect)
			if !c.Guarded && !c.Fn {
				effects = effect(Ends)
			}
			switch {
			case before:
				p.add("KH017", s.place(c.Line, c.Col), fmt.Sprintf("%s before nodeup.sh: cloud-init runs no script a second time, so nodeup never runs, and the node never joins", firstOf(c)), effects)
			case s.everyBoot() && !c.Guarded && !c.Once && !c.Fn:
				p.add("KH017", s.place(c.Line, c.Col), fmt.Sprintf("%s in %s, which runs on every boot: the machine never comes further", firstOf(c), s.what), effects)
			}
		}
	}
}

// checkReboots looks for a script that takes the machine down each time it runs: the hook is not done by then.
func (p *hookPass) checkReboots(scripts []*shellText) {
	if p.h.Phase == hookspec.Daemon || p.h.Phase == hookspec.PreShutdown {
		return
	}
	for _, s := range scripts {
		for i := range s.Commands {
			c := &s.Commands[i]
			if ends(c) && !c.Guarded && !c.Fn {
				p.add("KH017", s.place(c.Line, c.Col), fmt.Sprintf("%s ends the boot before the hook is done, so that it runs again on the next one", firstOf(c)),
					remedy("end the script with an exit code that rebootExitCodes names; it runs again after the reboot, so let it look first what is done"))
			}
		}
	}
}

// swapOff says whether the group's kubelet refuses to start while swap is on, which is its default
// (KubeletConfiguration, failSwapOn). The instance group's settings go over the cluster's.
func (p *pass) swapOff() bool {
	refuses := true
	if c := p.g.ClusterObject; c != nil && c.Object.Spec.Kubelet != nil && c.Object.Spec.Kubelet.FailSwapOn != nil {
		refuses = *c.Object.Spec.Kubelet.FailSwapOn
	}
	if k := p.g.Object.Spec.Kubelet; k != nil && k.FailSwapOn != nil {
		refuses = *k.FailSwapOn
	}
	return refuses && p.g.Role != "Bastion"
}

// checkSwap looks for swap that is switched on.
func (p *pass) checkSwap() {
	if !p.swapOff() {
		return
	}
	const message = "the kubelet does not start while swap is on"
	for _, s := range p.shells {
		if c, what := swapsOn(s.Commands); c != nil {
			p.add("KH090", s.place(c.Line, c.Col), firstOf(c)+": "+message, effect(what))
		}
	}
	p.checkSwapConfig(message)
	pos := report.Position{File: p.g.File, Line: p.g.Line}
	before := map[string]bool{} // the kubelet starts
	for _, h := range p.hooks() {
		before[h.Name] = before[h.Name] || h.Holds()
	}
	for _, h := range p.hookScripts() {
		c, what := swapsOn(shell.Parse(h.text).Commands)
		if !before[h.name] {
			what = NoEffect
		}
		if c != nil {
			p.add("KH090", pos, fmt.Sprintf("hook %q switches swap on: %s", h.name, message), effect(what))
		}
	}
}

// swapsOn finds the first command that switches swap on, now or on the next boot, and what the commands mean for the node.
func swapsOn(commands []command) (first *command, e Effect) {
	for i := range commands {
		c := &commands[i]
		if c.Is("swapon") && len(c.Words) > 1 && !c.Has("-s", "--show", "--summary", "--noheadings") {
			first = cmp.Or(first, c)
			if !c.Guarded && !c.Fn {
				e = KubeletFails
			}
		}
		for _, w := range c.Writes {
			if path.Clean(w.Path) == "/etc/fstab" && slices.ContainsFunc(strings.Split(w.Text, "\n"), func(l string) bool {
				f := strings.Fields(l)
				return len(f) > 2 && f[2] == "swap" && !strings.HasPrefix(f[0], "#")
			}) {
				first = cmp.Or(first, c)
			}
		}
	}
	return first, e
}

// checkSwapConfig looks for swap in cloud-config (cc_mounts.py: handle_swapcfg, and entries of mounts).
func (p *pass) checkSwapConfig(message string) {
	p.configs(func(_ int, config *pyyaml.Value) {
		if e, ok := config.GetEntry("swap"); ok && e.Value.IsDict() && e.Value.Get("filename").Truth() && e.Value.Get("size").Truth() {
			p.add("KH090", p.place(p.result.At(e.Key)), "swap: "+message, effect(KubeletFails))
		}
		mounts := config.Get("mounts")
		if !mounts.IsSequence() {
			return
		}
		for _, m := range mounts.Items {
			if m.IsSequence() && len(m.Items) > 2 && (m.Items[1].Str == "swap" || m.Items[2].Str == "swap") {
				what := KubeletFails
				if len(m.Items) > 3 && slices.Contains(strings.Split(m.Items[3].Str, ","), "noauto") {
					what = NoEffect
				}
				p.add("KH090", p.place(p.result.At(m)), "mounts: "+message, effect(what))
			}
		}
	})
}

// checkTime looks for clocks that are set otherwise than by nodeup, which installs chrony and writes its configuration on
// AWS and Google Cloud (nodeup/pkg/model/ntp.go), unless the cluster says that kops is not to manage it.
func (p *pass) checkTime() {
	opts := []option{remedy("leave it to kops, or set spec.ntp.managed: false in the cluster")}
	switch c := p.g.ClusterObject; {
	case c == nil:
		opts = append(opts, severity(report.Info))
	case c.Object.Spec.NTP != nil && c.Object.Spec.NTP.Managed != nil && !*c.Object.Spec.NTP.Managed:
		return
	}
	eachFile(p.files, p.shells, func(file string, pos report.Position) {
		if file == "/etc/chrony/chrony.conf" || file == "/etc/chrony.conf" {
			p.add("KH089", pos, fmt.Sprintf("nodeup writes %s: what you write there is lost", file), opts...)
		}
	})
	p.configs(func(_ int, config *pyyaml.Value) {
		if e, ok := config.GetEntry("ntp"); ok && e.Value.IsDict() {
			if on := e.Value.Get("enabled"); on == nil || on.Truth() {
				p.add("KH089", p.place(p.result.At(e.Key)), "nodeup installs chrony after cloud-init has set up a client of its own", opts...)
			}
		}
	})
}
