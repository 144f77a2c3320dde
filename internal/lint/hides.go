package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
	"kopshook.dev/kopshook/internal/unitfile"
)

// nodeupWrites are folders that nodeup writes to and that the kubelet, containerd and the control plane read from:
// nodeup/pkg/model/kubelet.go:118 and 144, containerd.go:42, context.go:101 of kops 1.36.2.
var nodeupWrites = []string{"/var/lib/kubelet", "/var/lib/containerd", "/etc/containerd", "/srv/kubernetes", "/etc/kubernetes", "/opt/cni/bin"}

// checkHides looks for mounts over what nodeup has written, in phases that run beside nodeup or after it; and before it,
// for those that do not keep what nodeup writes.
func (p *hookPass) checkHides(shells []*shellText, files []*file) {
	switch p.h.Phase {
	case hookspec.Boot, hookspec.PreNodeup:
		p.checkForgets(shells)
		return
	case hookspec.PreKubelet, hookspec.PostNodeup, hookspec.PostKubelet, hookspec.Daemon:
	default:
		return
	}
	hides := func(dir, hidden string, pos report.Position) {
		p.add("KH054", pos, fmt.Sprintf("a mount over %s hides what nodeup writes to %s: phase %s runs beside nodeup or after it", dir, hidden, p.h.Phase))
	}
	for _, s := range shells {
		for i := range s.Commands {
			if dir, hidden := mountsOver(s.Script, &s.Commands[i], p.h.Env); hidden != "" {
				hides(dir, hidden, s.place(s.Commands[i].Line, s.Commands[i].Col))
			}
		}
	}
	for _, f := range files {
		u, ok := unitOf(f)
		if !ok {
			continue
		}
		for _, l := range u.lines {
			if l.Section == "Mount" && l.Key == "Where" {
				if hidden := hiddenBy(l.Value); hidden != "" {
					hides(l.Value, hidden, f.place(l.Line, 1))
				}
			}
			if dir, hidden := execMounts(l); hidden != "" {
				hides(dir, hidden, f.place(l.Line, 1))
			}
		}
	}
}

// checkForgets looks for file systems in memory where nodeup's files are to be: kops-controller gives a node that is
// Ready no new credentials (status 409), and nodeup then writes nothing
// (cmd/kops-controller/pkg/server/server.go:203, pkg/kopscontrollerclient/client.go:140 of kops 1.36.2).
func (p *hookPass) checkForgets(shells []*shellText) {
	for _, s := range shells {
		for i := range s.Commands {
			c := &s.Commands[i]
			dir, hidden := mountsOver(s.Script, c, p.h.Env)
			if hidden == "" || dir == "/var/lib/containerd" || !c.Has("tmpfs", "ramfs", "-ttmpfs", "--types=tmpfs") {
				continue
			}
			p.add("KH054", s.place(c.Line, c.Col), fmt.Sprintf("%s is empty after a reboot: nodeup may write to %s once in a node's life", dir, hidden),
				remedy("mount a disk that keeps its files, and make its file system only where it has none"))
		}
	}
}

// MountsOver says which folder the script or unit text mounts over, and which one that nodeup writes to is hidden by it;
// hidden is empty where there is none that one can tell.
func MountsOver(text string) (dir, hidden string) {
	if dir, hidden = scriptMounts(text); hidden != "" {
		return dir, hidden
	}
	for _, l := range unitfile.Parse(text) {
		if dir, hidden = execMounts(l); hidden != "" {
			return dir, hidden
		}
	}
	return "", ""
}

// execMounts looks at a command of a service.
func execMounts(l setting) (dir, hidden string) {
	if l.Section != "Service" || !strings.HasPrefix(l.Key, "Exec") {
		return "", ""
	}
	return scriptMounts(strings.TrimLeft(l.Value, "-@:+!"))
}

func scriptMounts(text string) (dir, hidden string) {
	s := shell.Parse(text)
	for i := range s.Commands {
		if dir, hidden = mountsOver(s, &s.Commands[i], nil); hidden != "" {
			return dir, hidden
		}
	}
	return "", ""
}

// mountsOver says where a command mounts, if that hides a folder of nodeup's.
func mountsOver(s *shell.Script, c *command, env map[string]string) (dir, hidden string) {
	if !slices.Contains([]string{"mount", "systemd-mount"}, path.Base(c.Name())) || c.Has("remount", "-oremount") ||
		slices.ContainsFunc(c.Words, func(w string) bool { return strings.HasPrefix(w, "remount,") || strings.HasSuffix(w, ",remount") }) {
		return "", ""
	}
	last := value(s, c.Words[len(c.Words)-1], env)
	return last, hiddenBy(last)
}

// hiddenBy is the folder of nodeup's that a mount on dir hides.
func hiddenBy(dir string) string {
	dir = path.Clean(dir)
	for _, d := range nodeupWrites {
		if d == dir || strings.HasPrefix(d, dir+"/") {
			return d
		}
	}
	return ""
}

var variable = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

// value replaces variables that the script sets to one literal word, or that are the hook's.
func value(s *shell.Script, word string, env map[string]string) string {
	return variable.ReplaceAllStringFunc(word, func(name string) string {
		set := regexp.MustCompile(`(?m)(?:^|[\s;])`+name[1:]+`=["']?(/[^\s"';&|]*)`).FindAllStringSubmatch(s.Text, -1)
		switch {
		case len(set) == 1:
			return set[0][1]
		case len(set) == 0 && env[name[1:]] != "":
			return env[name[1:]]
		}
		return name
	})
}
