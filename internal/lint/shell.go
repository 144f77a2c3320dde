package lint

import (
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
)

// shellText is a piece of shell that a node runs.
type shellText struct {
	*shell.Script
	what  string // script, boothook, bootcmd, runcmd, file or hook
	part  int    // of a script or boothook of the user's
	late  bool   // it runs in cloud-init's last stage, or in a unit
	place func(line, col int) report.Position

	images []string // of the nodes that run it, as far as they are known
}

type command = shell.Command

// written are the files that pieces of shell write, each with all that is appended to it, in the order in which they
// are begun.
func written(shells []*shellText) []*file {
	var files []*file
	known := map[string]*file{}
	for _, s := range shells {
		for i := range s.Commands {
			for _, w := range s.Commands[i].Writes {
				f := known[w.Path]
				if f == nil || !w.Append {
					f = &file{path: w.Path, again: w.Append && s.everyBoot()}
					f.place = func(line, col int) report.Position { return f.lines[min(line, len(f.lines))-1] }
					known[w.Path] = f
					files = append(files, f)
				}
				f.append(w, s)
			}
		}
	}
	return files
}

// append adds a text to the file, and notes where its lines stand.
func (f *file) append(w shell.Write, s *shellText) {
	before := strings.Count(f.text, "\n")
	if f.text == "" || strings.HasSuffix(f.text, "\n") {
		f.lines = f.lines[:before]
	}
	f.text += w.Text
	for n := len(f.lines); n <= strings.Count(f.text, "\n"); n++ {
		f.lines = append(f.lines, s.place(w.LineOf(n-before+1), 1))
	}
}

// everyBoot says whether cloud-init runs the shell on every boot.
func (s *shellText) everyBoot() bool { return s.what == "bootcmd" || s.what == "boothook" }

// starts says whether a systemctl in the script starts or enables a unit.
func (s *shellText) starts(unit string) bool {
	return slices.ContainsFunc(s.Commands, func(c command) bool {
		return c.Is("systemctl", "service", "systemd-run", "deb-systemd-invoke") && c.Has(unit) ||
			c.Is("ln") && strings.Contains(strings.Join(c.Words, " "), unit)
	})
}

// needs says whether a systemctl in the script fails if a unit is not there.
func needs(s *shell.Script, unit string) bool {
	return slices.ContainsFunc(s.Commands, func(c command) bool {
		return c.Is("systemctl") && c.Has("enable", "start", "restart", "reload", "try-restart", "reload-or-restart") && c.Has(unit, strings.TrimSuffix(unit, ".service"))
	})
}
