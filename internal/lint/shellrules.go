package lint

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/report"
)

// adder takes what rules find.
type adder interface {
	add(code string, pos report.Position, message string, options ...option)
}

func (p *pass) checkShell() {
	for _, s := range p.shells {
		checkShell(p, s)
	}
}

// checkShell looks at one piece of shell.
func checkShell(p adder, s *shellText) {
	if line, col, msg := s.syntaxError(); msg != "" {
		p.add("KH060", s.place(line, col), "the shell cannot read this: "+msg)
		return
	}
	early := s.what == "bootcmd" || s.what == "boothook"
	for i := range s.commands {
		c := &s.commands[i]
		pos := s.place(c.line, c.col)
		if s.what == "bootcmd" || s.what == "runcmd" {
			checkShared(p, s, c, pos)
		}
		if early {
			checkEarly(p, s, c, pos)
		}
		checkWaits(p, s, c, pos)
		checkApt(p, s, c, pos)
		checkDownload(p, s, i, pos)
	}
}

// checkShared looks for what takes the lines of others with it: all of bootcmd is one script, and so is all of runcmd.
func checkShared(p adder, s *shellText, c *command, pos report.Position) {
	if c.sub || c.fn || s.words != nil {
		return
	}
	switch {
	case c.is("exit"), c.execs:
		name := c.name()
		if c.execs {
			name = "exec"
		}
		p.add("KH035", pos, fmt.Sprintf("%s ends all of %s: the items of all parts are one script", name, s.what))
	case c.is("set") && len(c.words) > 1 && strings.HasPrefix(c.words[1], "-") && strings.ContainsAny(c.words[1], "eu"):
		p.add("KH035", pos, fmt.Sprintf("set %s holds for all items of %s behind it, those of other parts too", c.words[1], s.what), severity(report.Warning))
	}
}

// checkEarly looks at what runs before systemd has reached sysinit.target, on every boot.
func checkEarly(p adder, s *shellText, c *command, pos report.Position) {
	if c.appends != "" && !c.guarded && !strings.HasPrefix(c.appends, "/run/") && !strings.HasPrefix(c.appends, "/dev/") && !strings.HasPrefix(c.appends, "/tmp/") && !strings.Contains(c.appends, "/log/") {
		p.add("KH033", pos, fmt.Sprintf("%s runs on every boot, and appends to %s each time", s.what, c.appends))
	}
	if c.is("systemctl") && c.has("start", "restart", "reload", "reload-or-restart", "isolate") && !c.has("--no-block") {
		p.add("KH034", pos, fmt.Sprintf("systemctl %s waits for a unit that waits for cloud-init to be through with %s: the boot hangs", verb(c), s.what))
	}
	if c.is("service", "invoke-rc.d") && len(c.words) > 2 && slices.Contains([]string{"start", "restart", "reload", "force-reload"}, c.words[2]) {
		p.add("KH034", pos, fmt.Sprintf("%s %s %s waits for a unit that waits for cloud-init to be through with %s: the boot hangs", c.name(), c.words[1], c.words[2], s.what))
	}
	if c.is("systemctl") && c.has("enable") && c.has("--now") && !c.has("--no-block") {
		p.add("KH034", pos, fmt.Sprintf("systemctl enable --now waits for a unit that waits for cloud-init to be through with %s: the boot hangs", s.what))
	}
	if c.is("apt-get", "apt", "yum", "dnf", "zypper") && c.has("install", "upgrade", "dist-upgrade", "full-upgrade") {
		p.add("KH037", pos, fmt.Sprintf("%s in %s: packages start their services, which wait for cloud-init to be through with %s: the boot hangs", c.name(), s.what, s.what))
	}
}

func verb(c *command) string {
	for _, w := range c.words[1:] {
		if !strings.HasPrefix(w, "-") {
			return w
		}
	}
	return ""
}

// checkWaits looks for waiting for cloud-init from within it.
func checkWaits(p adder, s *shellText, c *command, pos report.Position) {
	if c.is("cloud-init") && c.has("status") && c.has("--wait", "-w") {
		p.add("KH063", pos, "cloud-init status --wait waits for cloud-init, which waits for this: a deadlock, on a reboot at the latest")
	}
}

// checkApt looks at package installations.
func checkApt(p adder, s *shellText, c *command, pos report.Position) {
	if !c.is("apt-get", "apt") || !c.has("install", "upgrade", "dist-upgrade", "full-upgrade", "remove", "purge", "autoremove", "update") {
		return
	}
	line := strings.Join(c.words, " ")
	if !strings.Contains(line, "Lock::Timeout") && !mentions(s, "Lock::Timeout") {
		p.add("KH061", pos, fmt.Sprintf("%s %s fails at once when another process holds the lock, as unattended upgrades and nodeup do on a new node", c.name(), verb(c)))
	}
	asks := c.has("install", "upgrade", "dist-upgrade", "full-upgrade", "remove", "purge", "autoremove")
	yes := c.has("-y", "--yes", "--assume-yes", "-qq") || slices.ContainsFunc(c.words[1:], func(w string) bool {
		return len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "y")
	})
	switch {
	case asks && !yes:
		p.add("KH062", pos, fmt.Sprintf("%s %s without -y asks, and nobody answers", c.name(), verb(c)))
	case asks && !strings.Contains(line, "DEBIAN_FRONTEND=") && !mentions(s, "DEBIAN_FRONTEND"):
		p.add("KH062", pos, fmt.Sprintf("%s %s without DEBIAN_FRONTEND=noninteractive: packages may ask, and nobody answers", c.name(), verb(c)), severity(report.Warning))
	}
}

// mentions says whether a word stands anywhere in the script.
func mentions(s *shellText, word string) bool { return strings.Contains(s.text, word) }

// checkDownload looks at what is fetched and run without being checked.
func checkDownload(p adder, s *shellText, i int, pos report.Position) {
	c := &s.commands[i]
	if !c.is("curl", "wget") || len(c.words) < 2 {
		return
	}
	if len(c.pipedTo) > 0 && slices.Contains(shells, c.pipedTo[0]) {
		p.add("KH064", pos, fmt.Sprintf("what %s fetches is run as it comes: a change or a cut connection over there runs here as root", c.name()))
		return
	}
	if !savesFile(c) || strings.Contains(strings.Join(c.words, " "), "169.254.169.254") || mentions(s, "metadata.google.internal") {
		return
	}
	for _, check := range []string{"sha256sum", "sha512sum", "sha1sum", "shasum", "gpg", "cosign", "minisign", "openssl dgst", "md5sum"} {
		if mentions(s, check) {
			return
		}
	}
	p.add("KH065", pos, fmt.Sprintf("what %s fetches is not checked: nodes that boot tomorrow may get something else", c.name()))
}

// savesFile says whether what curl or wget gets is kept: nothing is, where a script only asks whether somebody answers.
func savesFile(c *command) bool {
	if c.has("/dev/null", "-o/dev/null", "--output=/dev/null", "-O/dev/null") {
		return false
	}
	if c.is("wget") {
		return !c.has("-O-", "--spider") && !strings.Contains(strings.Join(c.words, " "), "-O -")
	}
	return c.has("-o", "-O", "--output", "--remote-name", "-OJ") || slices.ContainsFunc(c.words[1:], func(w string) bool {
		return len(w) > 2 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "oO")
	})
}
