package lint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
)

// checkHookShells looks at what only hooks can do wrong.
func (p *hookPass) checkHookShells(scripts, shells []*shellText) {
	if p.h.Phase.Holds() {
		for _, s := range shells {
			p.checkWaitsForItself(s)
		}
	}
	if p.h.Phase != hookspec.Boot && p.h.Verify == nil {
		for _, s := range scripts {
			p.checkFailures(s)
		}
	}
	if p.h.OncePerImage {
		for _, s := range scripts {
			p.checkLostInImage(s, shells)
		}
	}
	for _, s := range shells {
		checkCommands(p, s, shells, p.h.Images, "nvidia") // another hook may have installed the driver
	}
}

// checkLineEnds looks for lines that end in CRLF: in scripts, where the shell takes the carriage return for a character, and in files
// of sources, which people did not write that way on purpose: Git for Windows did.
func (p *hookPass) checkLineEnds(scripts []*shellText) {
	const gits = "end lines in LF; with Git for Windows, say * text=auto eol=lf in .gitattributes"
	for _, s := range scripts {
		if before, _, ok := strings.Cut(s.Text, "\r\n"); ok {
			line := 1 + strings.Count(before, "\n")
			p.add("KH008", s.place(line, 1), "the script has lines that end in CRLF: the shell takes the carriage return for a character", remedy(gits))
		}
	}
	for i, f := range p.h.Files {
		if p.h.Said.Files[i].Source != nil && bytes.Contains(f.Content, []byte("\r\n")) && utf8.Valid(f.Content) {
			p.add("KH008", p.h.Pos(fmt.Sprintf("files[%d].source", i)), fmt.Sprintf("%s has lines that end in CRLF, and so it will on nodes", f.Path),
				severity(report.Warning), remedy(gits))
		}
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

// ofOneMachine says why the result of a command is not in an image, "" when it may be.
func ofOneMachine(c *command) string {
	words := strings.Join(c.Words, " ")
	switch {
	case strings.Contains(words, "KOPSHOOK_NODE_NAME"), strings.Contains(words, "KOPSHOOK_NODE_IP"):
		return "the variable is empty where the image is made, and all machines of the image share the result"
	case strings.Contains(words, "169.254.169.254"), strings.Contains(words, "metadata.google.internal"):
		return "it asks the machine that makes the image who it is, and all machines of the image share the answer"
	case len(c.Starts()) > 0, c.Is("modprobe", "insmod", "sysctl", "mount", "swapon", "hostnamectl") && !c.Has("-r", "--remove"):
		return "it ends when the image is made, and a node of the image only runs verify"
	case c.Is("mkfs", "mkswap", "mdadm", "pvcreate", "vgcreate", "lvcreate"), strings.HasPrefix(c.Name(), "mkfs."):
		return "it is done to a disk of the machine that makes the image"
	}
	return ""
}

// checkLostInImage looks for what only the machine has that makes an image. What verify does again is not lost.
func (p *hookPass) checkLostInImage(s *shellText, shells []*shellText) {
	verify := shells[len(shells)-1]
	for i := range s.Commands {
		c := &s.Commands[i]
		why := ofOneMachine(c)
		again := p.h.Verify != nil && slices.ContainsFunc(verify.Commands, func(v command) bool { return slices.Equal(v.Words, c.Words) })
		if why != "" && !again {
			p.add("KH069", s.place(c.Line, c.Col), fmt.Sprintf("%s: %s", firstOf(c), why))
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

// firstOf names a command by its first two words, apt-get by what it is to do.
func firstOf(c *shell.Command) string {
	if c.Is("apt-get", "apt") {
		return strings.TrimSpace(c.Name() + " " + c.Verb())
	}
	return strings.Join(c.Words[:min(2, len(c.Words))], " ")
}
