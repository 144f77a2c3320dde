package lint

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
)

// adder takes what rules find.
type adder interface {
	add(code string, pos report.Position, message string, options ...option)
}

func (p *pass) checkShell() { checkShells(p, p.shells, []string{p.g.Object.Spec.Image}) }

// checkShells looks at pieces of shell in the order in which they run on nodes of some images.
func checkShells(p adder, shells []*shellText, images []string) {
	begun := map[string]bool{} // files that are written anew on each boot
	for _, s := range shells {
		s.images = images
		checkShell(p, s)
		if !s.everyBoot() {
			continue
		}
		for i := range s.Commands {
			c := &s.Commands[i]
			if c.Appends != "" && !begun[c.Appends] {
				checkAppends(p, s, c)
			}
			for _, w := range c.Writes {
				begun[w.Path] = begun[w.Path] || !w.Append
			}
		}
	}
}

// checkAppends looks at what grows with each boot.
func checkAppends(p adder, s *shellText, c *command) {
	for _, gone := range []string{"/run/", "/dev/", "/tmp/"} {
		if strings.HasPrefix(c.Appends, gone) {
			return
		}
	}
	if !c.Guarded && !c.Once && !strings.Contains(c.Appends, "/log/") {
		p.add("KH033", s.place(c.Line, c.Col), fmt.Sprintf("%s runs on every boot, and appends to %s each time", s.what, c.Appends))
	}
}

// checkShell looks at one piece of shell.
func checkShell(p adder, s *shellText) {
	if line, col, msg := s.SyntaxError(); msg != "" {
		p.add("KH060", s.place(line, col), "the shell cannot read this: "+msg)
		return
	}
	early := s.what == "bootcmd" || s.what == "boothook"
	for i := range s.Commands {
		c := &s.Commands[i]
		pos := s.place(c.Line, c.Col)
		if s.what == "bootcmd" || s.what == "runcmd" {
			checkShared(p, s, c, pos)
		}
		if early {
			checkEarly(p, s, c, pos)
		}
		checkWaits(p, s, c, pos)
		checkSystemd(p, c, pos)
		checkApt(p, s, c, pos)
		checkDownload(p, s, i, pos)
	}
}

// checkShared looks for what takes the lines of others with it: all of bootcmd is one script, and so is all of runcmd.
func checkShared(p adder, s *shellText, c *command, pos report.Position) {
	if c.Sub || c.Fn || s.Words != nil {
		return
	}
	switch {
	case c.Is("exit"), c.Execs:
		name := c.Name()
		if c.Execs {
			name = "exec"
		}
		p.add("KH035", pos, fmt.Sprintf("%s ends all of %s: the items of all parts are one script", name, s.what))
	case c.Is("set") && len(c.Words) > 1 && strings.HasPrefix(c.Words[1], "-") && strings.ContainsAny(c.Words[1], "eu"):
		p.add("KH035", pos, fmt.Sprintf("set %s holds for all items of %s behind it, those of other parts too", c.Words[1], s.what), severity(report.Warning))
	}
}

// checkEarly looks at what runs before systemd has reached sysinit.target, on every boot.
func checkEarly(p adder, s *shellText, c *command, pos report.Position) {
	if !waitsForInit(s.images) || startsEarly(c) {
		return
	}
	if c.Is("systemctl") && c.Has("start", "restart", "reload", "reload-or-restart", "isolate") && !c.Has("--no-block") {
		p.add("KH034", pos, fmt.Sprintf("systemctl %s waits for a unit that waits until cloud-init is done with %s: the boot hangs", c.Verb(), s.what))
	}
	if c.Is("service", "invoke-rc.d") && len(c.Words) > 2 && slices.Contains([]string{"start", "restart", "reload", "force-reload"}, c.Words[2]) {
		p.add("KH034", pos, fmt.Sprintf("%s %s %s waits for a unit that waits until cloud-init is done with %s: the boot hangs", c.Name(), c.Words[1], c.Words[2], s.what))
	}
	if c.Is("systemctl") && c.Has("enable") && c.Has("--now") && !c.Has("--no-block") {
		p.add("KH034", pos, fmt.Sprintf("systemctl enable --now waits for a unit that waits until cloud-init is done with %s: the boot hangs", s.what))
	}
	if c.Is("apt-get", "apt") && c.Has("install", "upgrade", "dist-upgrade", "full-upgrade") {
		p.add("KH037", pos, fmt.Sprintf("%s in %s: packages start their services, which wait until cloud-init is done with %s: the boot hangs", c.Name(), s.what, s.what))
	}
}

// earlyUnits are units of systemd's that do not wait for sysinit.target, and so not for cloud-init either.
var earlyUnits = []string{"systemd-networkd", "systemd-resolved", "systemd-timesyncd", "systemd-udevd", "systemd-journald", "systemd-sysctl", "systemd-modules-load", "systemd-tmpfiles-setup"}

// startsEarly says whether systemctl starts units of systemd's alone.
func startsEarly(c *command) bool {
	units := c.Starts()
	return len(units) > 0 && !slices.ContainsFunc(units, func(u string) bool { return !slices.Contains(earlyUnits, strings.TrimSuffix(u, ".service")) })
}

// waitsForInit says whether sysinit.target waits for cloud-init on nodes of one of the images: it does on Debian and Ubuntu,
// and on images that are not known; on others cloud-init's units do not say so (cloud-init systemd/*.tmpl).
func waitsForInit(images []string) bool {
	return len(images) == 0 || slices.ContainsFunc(images, func(image string) bool {
		name := knownImage(image)
		return name == "" || name == "Debian" || name == "Ubuntu"
	})
}

// checkWaits looks for waiting for cloud-init from within it.
func checkWaits(p adder, s *shellText, c *command, pos report.Position) {
	if c.Is("cloud-init") && c.Has("status") && c.Has("--wait", "-w") {
		var opts []option
		if s.everyBoot() {
			opts = append(opts, effect(Ends)) // nodeup.sh comes after it
		}
		p.add("KH063", pos, "cloud-init status --wait waits for cloud-init, which waits for this: a deadlock, on a reboot at the latest", opts...)
	}
}

// checkSystemd looks for systemd in the place of systemctl. It is in no PATH, and would not understand.
func checkSystemd(p adder, c *command, pos report.Position) {
	if c.Is("systemd") && slices.Contains([]string{"daemon-reload", "daemon-reexec", "start", "stop", "restart", "enable", "disable", "reload", "mask", "unmask"}, c.Verb()) {
		p.add("KH066", pos, fmt.Sprintf("systemd %s: no command has that name, it is systemctl %s", c.Verb(), c.Verb()))
	}
}

// checkApt looks at package installations.
func checkApt(p adder, s *shellText, c *command, pos report.Position) {
	if !c.Is("apt-get", "apt") || !c.Has("install", "upgrade", "dist-upgrade", "full-upgrade", "remove", "purge", "autoremove", "update") {
		return
	}
	line := strings.Join(c.Words, " ")
	if !strings.Contains(line, "Lock::Timeout") && !mentions(s, "Lock::Timeout") {
		p.add("KH061", pos, fmt.Sprintf("%s %s fails at once when another process holds the lock, as unattended upgrades and nodeup do on a new node", c.Name(), c.Verb()))
	}
	options, _ := c.Options()
	asks := c.Has("install", "upgrade", "dist-upgrade", "full-upgrade", "remove", "purge", "autoremove")
	yes := strings.Contains(line, "APT::Get::Assume-Yes") || slices.ContainsFunc(options, func(w string) bool {
		short := !strings.HasPrefix(w, "--")
		return slices.Contains([]string{"--yes", "--assume-yes", "-q=2"}, w) || short && (strings.Contains(w, "y") || strings.Contains(w, "qq"))
	})
	switch {
	case asks && !yes && !answered(c):
		p.add("KH062", pos, fmt.Sprintf("%s %s without -y asks, and nobody answers", c.Name(), c.Verb()))
	case asks && !strings.Contains(line, "DEBIAN_FRONTEND=") && !mentions(s, "DEBIAN_FRONTEND"):
		p.add("KH062", pos, fmt.Sprintf("%s %s without DEBIAN_FRONTEND=noninteractive: packages may ask, and nobody answers", c.Name(), c.Verb()), severity(report.Warning))
	}
}

// answered says whether something answers the questions of a command: yes | apt install, echo y | apt install.
func answered(c *command) bool {
	return len(c.Input) > 0 && (c.Input[0] == "yes" || c.Input[0] == "echo" && len(c.Input) > 1 && strings.EqualFold(c.Input[1][:min(1, len(c.Input[1]))], "y"))
}

// mentions says whether a word stands anywhere in the script.
func mentions(s *shellText, word string) bool { return strings.Contains(s.Text, word) }

// checkDownload looks at what is fetched and run without being checked.
func checkDownload(p adder, s *shellText, i int, pos report.Position) {
	c := &s.Commands[i]
	if !c.Is("curl", "wget") || len(c.Words) < 2 {
		return
	}
	if len(c.PipedTo) > 0 && slices.Contains(shell.Interpreters, c.PipedTo[0]) {
		p.add("KH064", pos, fmt.Sprintf("what %s fetches is run unchecked, as root: also a changed file, or half of one after a cut connection", c.Name()))
		return
	}
	if !savesFile(c) || strings.Contains(strings.Join(c.Words, " "), "169.254.169.254") || mentions(s, "metadata.google.internal") {
		return
	}
	for _, check := range []string{"sha256sum", "sha512sum", "sha1sum", "shasum", "gpg", "cosign", "minisign", "openssl dgst", "md5sum"} {
		if mentions(s, check) {
			return
		}
	}
	var opts []option
	if s.what == "hook" {
		opts = append(opts, severity(report.Warning), remedy("place it with files: url and sha256, or compare it with sha256sum -c"))
	}
	p.add("KH065", pos, fmt.Sprintf("what %s fetches is not checked: nodes that boot tomorrow may get something else", c.Name()), opts...)
}

// savesFile says whether what curl or wget gets is kept: nothing is, where a script only asks whether somebody answers.
func savesFile(c *command) bool {
	if c.Has("/dev/null", "-o/dev/null", "--output=/dev/null", "-O/dev/null") {
		return false
	}
	if c.Is("wget") {
		if !c.Has("-O-", "-qO-", "--spider") && !strings.Contains(strings.Join(c.Words, " "), "O -") {
			return true
		}
	}
	if c.Into != "" && !strings.HasPrefix(c.Into, "/dev/") {
		return true
	}
	if c.Is("wget") {
		return false
	}
	return c.Has("-o", "-O", "--output", "--remote-name", "-OJ") || slices.ContainsFunc(c.Words[1:], func(w string) bool {
		return len(w) > 2 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "oO")
	})
}
