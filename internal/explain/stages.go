package explain

import (
	"fmt"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/report"
)

// cloudInit returns what cloud-init does.
func (m *maker) cloudInit() []Stage {
	init := Stage{ID: StageInit, Title: "cloud-init, init stage", Note: "before any other service"}
	config := Stage{ID: StageConfig, Title: "cloud-init, config stage", Note: "the network is up"}
	final := Stage{ID: StageFinal, Title: "cloud-init, final stage", Note: "after multi-user.target"}
	files := &Step{Name: "units and scripts", Owner: Kopshook, What: "write_files", Fails: "the gate stays shut: the node never joins", Blocks: true}
	count := 0
	for i, r := range m.in.Result.Runs {
		switch {
		case r.What == "boothook":
			s := m.at(m.boothook(r), i, -1)
			if n := len(init.Steps); n > 0 && s.What == "tool" && init.Steps[n-1].What == "tool" {
				if !s.Never {
					init.Steps[n-1].Detail += ", " + s.Detail
				}
				continue
			}
			init.Steps = append(init.Steps, s)
		case r.What == "bootcmd":
			init.Steps = append(init.Steps, m.bootcmd(i, r)...)
		case r.File != nil && m.ours(r.At):
			if count++; count == 1 {
				init.Steps = append(init.Steps, m.at(*files, i, -1))
			}
		case r.What == "write_files":
			init.Steps = append(init.Steps, m.at(m.file(r), i, -1))
		case r.What == "write_files_deferred":
			final.Steps = append(final.Steps, m.at(m.file(r), i, -1))
		case r.What == "runcmd": // it only writes the script, which runs among the others
		case strings.HasPrefix(r.What, "script"):
			final.Steps = append(final.Steps, m.at(m.script(r), i, -1))
		default:
			s := m.at(m.module(r), i, -1)
			switch r.Stage {
			case cloudinit.Init:
				init.Steps = append(init.Steps, s)
			case cloudinit.Config:
				config.Steps = append(config.Steps, s)
			default:
				final.Steps = append(final.Steps, s)
			}
		}
	}
	for i := range init.Steps {
		if s := &init.Steps[i]; s.What == "write_files" && s.Owner == Kopshook && !s.Never {
			s.Detail = fmt.Sprintf("%s of the hooks", report.Count(count, "file"))
		}
	}
	return []Stage{init, config, final}
}

func (m *maker) boothook(r cloudinit.Run) Step {
	s := Step{Name: r.Name, Owner: Yours, What: "boothook", EveryBoot: true, Place: m.place(r.At), Fails: "the boot goes on, only a log says so"}
	if !m.ours(r.At) {
		return s
	}
	s.Owner, s.Place = Kopshook, ""
	if strings.Contains(r.Name, "-gate") {
		s.Name, s.What, s.Detail = "gate", "gate", fmt.Sprintf("nodeup and the kubelet wait for %s", report.Count(m.holding(), "hook"))
		s.Fails, s.Blocks = "neither nodeup nor the kubelet starts", true
		return s
	}
	name := strings.TrimSuffix(strings.TrimPrefix(r.Name, "kopshook-"), ".sh")
	if _, rest, ok := strings.Cut(name, "-"); ok {
		name = rest
	}
	s.Name, s.What, s.Detail = "tools of the hooks", "tool", name
	s.Fails, s.Blocks = "the hooks fail, and the node never joins", true
	return s
}

// bootcmd returns a step for each boot hook, and one for each command of the user's.
func (m *maker) bootcmd(run int, r cloudinit.Run) []Step {
	var steps []Step
	for j, item := range r.Items {
		s := Step{Name: shorten(item.Text), Owner: Yours, What: "bootcmd", EveryBoot: true, Place: m.place(item.At), Fails: "the commands behind it run all the same"}
		if m.ours(item.At) {
			s.Owner, s.Place, s.What = Kopshook, "", "boot hook"
			if h := bootHook(item.Text); h != "" {
				s.Name, s.Hook = h, &Hook{Name: h, Phase: generator.Boot, EveryBoot: true}
				s.Fails, s.Place = "the boot goes on, only a log says so", m.hookPlace(h)
			}
		}
		steps = append(steps, m.at(s, run, j))
	}
	return steps
}

// shorten makes one short line of a command.
func shorten(s string) string {
	s = strings.Join(strings.Fields(strings.TrimPrefix(s, "#!/bin/sh")), " ")
	return s
}

func (m *maker) file(r cloudinit.Run) Step {
	f := r.File
	s := Step{Name: f.Path, Owner: Yours, What: "write_files", Place: m.place(r.At), Fails: "the files behind it are missing, the boot goes on"}
	s.Detail = fmt.Sprintf("%04o %s:%s", f.Mode, orRoot(f.User), orRoot(f.Group))
	if f.Append {
		s.Detail += ", appended"
	}
	return s
}

func orRoot(s string) string {
	if s == "" {
		return "root"
	}
	return s
}

func (m *maker) module(r cloudinit.Run) Step {
	s := Step{Name: r.Name, Owner: Yours, What: r.What, Place: m.place(r.At), Fails: "the boot goes on, only a log says so"}
	if m.ours(r.At) {
		s.Owner, s.Place = Kopshook, ""
	}
	if r.What == "packages" {
		var names []string
		for _, i := range r.Items {
			names = append(names, i.Text)
		}
		s.Name, s.Detail = "packages", strings.Join(names, ", ")
	} else if r.Name == r.What {
		s.Detail = ""
	} else {
		s.Detail = r.What
	}
	return s
}

// isNodeup says whether a script is kops' own. Without parts it is all of the user data, and nameless. In user data that is
// not known to be kops' it goes by its name.
func (m *maker) isNodeup(r cloudinit.Run) bool {
	switch {
	case r.What != "script":
		return false
	case m.in.Role == "":
		return r.Name == cloudinit.NodeupName
	}
	return r.At.Part < 0 && (r.Name == cloudinit.NodeupName || m.in.Role != "Bastion" && len(m.in.Parts) == 0)
}

func (m *maker) script(r cloudinit.Run) Step {
	s := Step{Name: r.Name, Owner: Yours, What: r.What, EveryBoot: r.EveryBoot, Place: m.place(r.At)}
	nodeup := m.nodeup && r.What == "script"
	switch {
	case m.isNodeup(r):
		s.Name, s.Owner, s.Place, s.What = cloudinit.NodeupName, Kops, "", "kops"
		s.Detail, s.Fails = "installs nodeup, starts it and returns", "it tries again forever"
	case nodeup && r.Name > cloudinit.NodeupName:
		s.Beside = true
		s.Detail, s.Fails = "runs beside nodeup", "the node joins all the same"
	case nodeup:
		s.Detail, s.Fails = "before nodeup", "nodeup starts all the same"
	case m.isNode() && r.What == "script" && r.Name == cloudinit.NodeupName:
		s.Detail, s.Fails = "in the place of kops' script", "only a log says so"
	default:
		s.Fails = "the boot goes on, only a log says so"
	}
	if r.Name == "runcmd" && len(r.Items) > 0 {
		s.Detail = report.Count(len(r.Items), "command") + ", " + s.Detail
		s.Detail = strings.TrimSuffix(s.Detail, ", ")
	}
	return s
}
