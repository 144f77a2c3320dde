package lint

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/shell"
)

// checkHookShells looks at what only hooks can do wrong.
func (p *hookPass) checkHookShells(scripts, shells []*shellText) {
	if p.h.Phase == hookspec.PreNodeup || p.h.Phase == hookspec.PreKubelet {
		for _, s := range shells {
			p.checkWaitsForItself(s)
		}
	}
	if p.h.Phase != hookspec.Boot && p.h.Verify == nil {
		for _, s := range scripts {
			p.checkFailures(s)
		}
	}
	for _, s := range shells {
		checkCommands(p, s, shells, p.h.Images, "nvidia") // another hook may have installed the driver
	}
}

// checkWaitsForItself looks for commands that wait for a unit that waits for the hook.
func (p *hookPass) checkWaitsForItself(s *shellText) {
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Guarded && strings.Contains(s.Text, "is-active") {
			continue // it does not run while the unit waits
		}
		for _, unit := range c.Starts() {
			why := ""
			switch {
			case slices.Contains(p.h.Before, unit), unit == "kubelet.service", unit == "kops-configuration.service" && p.h.Phase == hookspec.PreNodeup:
				why = "it waits for this hook, and the hook would wait for it until its timeout"
			case unit == "kops-configuration.service":
				why = "nodeup runs beside this hook, and is killed half way"
			case unit == "containerd.service" && p.h.Phase == hookspec.PreNodeup:
				why = "nodeup installs it after this hook, so that on the first boot there is none"
			case unit == "containerd.service":
				why = "nodeup installs and starts it beside this hook"
			default:
				continue
			}
			p.add("KH039", s.place(c.Line, c.Col), fmt.Sprintf("%s %s: %s", c.Name(), unit, why))
		}
	}
}

// work are commands whose failure matters to what comes after them.
var work = []string{"apt-get", "apt", "dpkg", "dnf", "yum", "rpm", "zypper", "snap", "pip", "pip3", "curl", "wget", "aws", "gcloud", "gsutil", "az", "git",
	"tar", "unzip", "install", "cp", "mv", "mount", "mkfs", "mkfs.ext4", "mkfs.xfs", "mdadm", "pvcreate", "vgcreate", "lvcreate", "update-ca-certificates", "update-ca-trust"}

// checkFailures looks for scripts that go on when a command in their middle fails: what counts is the last one's status.
func (p *hookPass) checkFailures(s *shellText) {
	c := s.Ignored(work)
	if c == nil {
		return
	}
	p.add("KH068", s.place(c.Line, c.Col), fmt.Sprintf("when %s fails the script goes on, and the hook succeeds if its last command does", firstOf(c)))
}

// firstOf names a command by its first two words.
func firstOf(c *shell.Command) string { return strings.Join(c.Words[:min(2, len(c.Words))], " ") }
