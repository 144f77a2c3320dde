package adopt

import (
	"cmp"
	"slices"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/shell"
)

// Moment is when something runs on a node.
type Moment string

const (
	EarlyBoot    Moment = "early in every boot"
	BeforeNodeup Moment = "before nodeup"
	BesideNodeup Moment = "beside nodeup"
	AfterNodeup  Moment = "when nodeup has succeeded"
)

// Proof says what nodes see of a group's user data today and then, both by the model of cloud-init.
type Proof struct {
	// Runs, Files and Keys count what is the same: scripts in their order, files with contents, modes and owners, and keys
	// of the effective cloud-config.
	Runs, Files, Keys int
	// Differences are what somebody should know of: another order or time, characters that arrive as they were written.
	Differences []string
	// Broken is what must not be: something is gone, or does not arrive as it was written. It is kopshook's mistake.
	Broken []string
}

// effect is one thing that runs.
type effect struct {
	name    string
	moment  Moment
	content string
	every   bool
}

// seen is what a node sees.
type seen struct {
	runs    []effect
	files   map[string]*file // as they are when nodeup starts
	appends []effect         // to files that are not known
	config  *pyyaml.Value
	recipe  *nodeupRecipe // or nil
}

// Then is what the generator makes of the hooks of a group.
type Then struct {
	Hooks []generator.Hook // of the adopted spec
	Files []generator.File
	Parts []generator.UserData
	// Edited says that somebody has edited the spec: what a hook of the same name does stands for what it did.
	Edited bool
}

// Compare holds what nodes see today against what they see when the taken parts are replaced by the generated ones.
func (a *Adopted) Compare(then Then) *Proof {
	p := &Proof{}
	parts := a.staying()
	kept := len(parts)
	for _, u := range then.Parts {
		parts = append(parts, cloudinit.Part(u))
	}
	result := cloudinit.ReadParts(nil, a.Role, parts, a.Options)
	now := see(a.Today, len(a.Parts))
	later := see(result, kept)
	p.addHooks(later, result, kept, then)
	var edited map[string]string
	if then.Edited {
		edited = a.byScript()
	}
	p.compareRuns(now, later, edited)
	p.compareFiles(now, later)
	p.compareConfig(a.Today, result)
	p.moved(a)
	p.recipe(a)
	return p
}

// byScript are the names that effects of hooks have, by the scripts that they were made with.
func (a *Adopted) byScript() map[string]string {
	names := map[string]string{}
	for _, h := range a.hooks {
		names[h.script] = "hook " + h.name
	}
	return names
}

// alone is what cloud-init calls kops' script where there are no parts, and the message is that script.
const alone = "part-001"

// see lists what a result says that runs, of the first parts and what is in none.
func see(r *cloudinit.Result, parts int) *seen {
	s := &seen{files: map[string]*file{}, config: r.Config}
	broken := map[cloudinit.At]bool{}
	for _, l := range r.Lost {
		if l.Kind == cloudinit.CannotRun {
			broken[l.At] = true
		}
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Part >= parts || broken[run.At] && run.File == nil {
			continue
		}
		switch {
		case run.What == "boothook":
			s.runs = append(s.runs, effect{run.Name, EarlyBoot, run.Content, true})
		case run.What == "bootcmd":
			s.seeBootcmd(run, parts)
		case run.File != nil:
			s.write(run)
		case !strings.HasPrefix(run.What, "script") || run.Part < 0 && (run.Name == cloudinit.NodeupName || run.Name == alone):
		case run.What == "script" && run.Name > cloudinit.NodeupName:
			s.runs = append(s.runs, effect{run.Name, BesideNodeup, run.Content, run.EveryBoot})
		default:
			s.runs = append(s.runs, effect{run.Name, BeforeNodeup, run.Content, run.EveryBoot})
		}
	}
	s.seeRecipe()
	return s
}

// commandsOf is the script of bootcmd without the commands of parts behind the first ones.
func commandsOf(run *cloudinit.Run, parts int) string {
	if !slices.ContainsFunc(run.Items, func(i cloudinit.Item) bool { return i.Part >= parts }) {
		return run.Content
	}
	var b strings.Builder
	for _, item := range run.Items {
		if item.Part < parts {
			b.WriteString(item.Text + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "#!/bin/sh\n" + b.String()
}

func (s *seen) write(run *cloudinit.Run) {
	f := &file{path: run.File.Path, content: run.Content, mode: run.File.Mode, owner: owner(run.File)}
	if old := s.files[f.path]; run.File.Append && old != nil {
		f.content = old.content + f.content
	} else if run.File.Append {
		s.appends = append(s.appends, effect{name: f.path, content: appendScript(run.File, run.Content)})
		return
	}
	s.files[f.path] = f
}

// arrived is what a node gets of the parts that kopshook made.
type arrived struct {
	written  map[string]string // files, by path
	commands string            // of bootcmd
}

// arrivedFrom returns what comes of the parts from number kept on.
func arrivedFrom(r *cloudinit.Result, kept int) arrived {
	a := arrived{written: map[string]string{}}
	for _, run := range r.Runs {
		switch {
		case run.Part >= kept && run.File != nil:
			a.written[run.File.Path] = run.Content
		case run.What == "bootcmd":
			for _, item := range run.Items {
				a.commands += item.Text + "\n"
			}
		}
	}
	return a
}

func (a arrived) hasUnit(h generator.Hook) bool {
	return h.Phase == generator.Boot || a.written["/etc/systemd/system/"+generator.UnitName(h.Name)] != ""
}

func (a arrived) hasScript(h generator.Hook, s generator.Script) bool {
	if h.Phase == generator.Boot {
		return strings.Contains(a.commands, shell.Quote(string(s.Content)))
	}
	content, ok := a.written["/opt/kopshook/hooks/"+h.Name+"/"+s.Name]
	return ok && content == string(s.Content)
}

func (a arrived) hasFile(h generator.Hook, f generator.File) bool {
	for path, content := range a.written {
		if strings.HasPrefix(path, "/opt/kopshook/hooks/"+h.Name+"/files/") && content == string(f.Content) {
			return true
		}
	}
	return false
}

// addHooks adds what hooks do, and looks whether all that they need arrives on the node as the generator made it.
func (p *Proof) addHooks(s *seen, r *cloudinit.Result, kept int, then Then) {
	for _, f := range r.Parts {
		if f.Part >= kept && f.Lost {
			p.broken("the part %s is lost", f.Name)
		}
	}
	on := arrivedFrom(r, kept)
	hooks := slices.SortedFunc(slices.Values(then.Hooks), func(a, b generator.Hook) int {
		return cmp.Or(a.Weight-b.Weight, strings.Compare(a.Name, b.Name)) // phases are told by their moments
	})
	for _, h := range hooks {
		p.arrives(h, "the unit", on.hasUnit(h))
		for _, script := range h.Scripts {
			p.arrives(h, "the script", on.hasScript(h, script))
			moment := map[generator.Phase]Moment{generator.Boot: EarlyBoot, generator.PreNodeup: BeforeNodeup, generator.PostNodeup: AfterNodeup}[h.Phase]
			s.runs = append(s.runs, effect{"hook " + h.Name, moment, string(script.Content), h.EveryBoot || h.Phase == generator.Boot})
		}
		for _, f := range h.Files {
			i := slices.IndexFunc(then.Files, func(n generator.File) bool { return n.Path == f.Path && string(n.Content) == string(f.Content) })
			p.arrives(h, f.Path, i >= 0 && on.hasFile(h, f))
			if i >= 0 {
				n := then.Files[i]
				s.files[n.Path] = &file{path: n.Path, content: string(n.Content), mode: n.Mode, owner: n.Owner}
			}
		}
	}
}

func (p *Proof) arrives(h generator.Hook, what string, ok bool) {
	if !ok {
		p.broken("%s of hook %s does not arrive as it is", what, h.Name)
	}
}
