package lint

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/report"
)

// configs calls f for each cloud-config of the user's, before it is merged.
func (p *pass) configs(f func(part int, config *pyyaml.Value)) {
	for _, fate := range p.result.Parts {
		if fate.Config != nil && p.theirs(fate.At.Part) {
			f(fate.At.Part, fate.Config)
		}
	}
}

// moduleLists are the keys of cloud.cfg that say which modules run at all.
var moduleLists = []string{"cloud_init_modules", "cloud_config_modules", "cloud_final_modules", "system_info", "datasource_list", "datasource", "syslog_fix_perms"}

// checkConfigs looks at keys and at commands.
func (p *pass) checkConfigs() {
	p.configs(func(part int, config *pyyaml.Value) {
		for _, e := range config.Entries {
			if e.Key.IsString() && slices.Contains(moduleLists, e.Key.Str) {
				p.add("KH026", p.place(p.result.At(e.Key)), fmt.Sprintf("%s replaces the image's own: modules that are not in it do not run, scripts such as nodeup.sh neither", e.Key.Str), severity(report.Error))
			}
		}
		p.checkUsers(config)
		p.checkBootcmd(config.Get("bootcmd"))
	})
}

// checkUsers warns of the image's default user that is gone.
func (p *pass) checkUsers(config *pyyaml.Value) {
	e, ok := config.GetEntry("users")
	if !ok || !e.Value.IsSequence() {
		return
	}
	for _, u := range e.Value.Items {
		if u.IsString() && strings.Contains(u.Str, "default") || u.IsDict() && pyyaml.Equal(u.Get("name"), &pyyaml.Value{Kind: pyyaml.Str, Str: "default"}) {
			return
		}
	}
	p.add("KH026", p.place(p.result.At(e.Key)), "users replaces the image's own list, and default is not in it: the image's user, with its SSH key, is not made",
		severity(report.Warning), remedy("put - default first"))
}

// checkBootcmd looks for files of write_files in bootcmd, which runs before they are written on the first boot.
func (p *pass) checkBootcmd(bootcmd *pyyaml.Value) {
	if !bootcmd.IsSequence() {
		return
	}
	var paths, units []string
	for _, r := range p.result.Runs {
		if r.File != nil && len(r.File.Path) > len("/etc/x") {
			paths = append(paths, r.File.Path)
			if u, ok := unitOf(&file{path: r.File.Path}); ok && !u.dropIn {
				units = append(units, u.name)
			}
		}
	}
	for _, item := range bootcmd.Items {
		text := item.String()
		for _, path := range paths {
			if usesPath(text, path) {
				p.add("KH032", p.place(p.result.At(item)), fmt.Sprintf("bootcmd uses %s, which write_files makes later: on the first boot it is not there", path))
			}
		}
		for _, unit := range units {
			if s := commandText(item); s != nil && s.needs(unit) {
				p.add("KH032", p.place(p.result.At(item)), fmt.Sprintf("bootcmd uses %s, which write_files makes later: on the first boot it is not there", unit))
			}
		}
	}
}

// usesPath says whether a command names a path as a whole word, and does not only write it or ask for it.
func usesPath(text, path string) bool {
	for rest := text; ; {
		i := strings.Index(rest, path)
		if i < 0 {
			return false
		}
		before, after := strings.TrimRight(rest[:i], " \"'"), rest[i+len(path):]
		whole := after == "" || strings.ContainsRune(" \t\n\"';|&)'],", rune(after[0]))
		writes := strings.HasSuffix(before, ">") || strings.HasSuffix(before, " -f") || strings.HasSuffix(before, " -e") || strings.HasSuffix(before, " -s") || strings.HasSuffix(before, " -x")
		if whole && !writes {
			return true
		}
		rest = after
	}
}

// collect gathers all shell and all files of the user's parts.
func (p *pass) collect() {
	for i, part := range p.g.Parts {
		if !p.theirs(i) {
			continue
		}
		switch part.Type {
		case cloudinit.TypeShellScript, cloudinit.TypeBoothook:
			p.collectScript(i, part)
		}
	}
	p.configs(func(part int, config *pyyaml.Value) {
		for _, key := range []string{"bootcmd", "runcmd"} {
			if list := config.Get(key); list.IsSequence() {
				for _, item := range list.Items {
					p.collectCommand(key, item)
				}
			}
		}
		if list := config.Get("write_files"); list.IsSequence() {
			for _, e := range list.Items {
				p.collectFile(part, e)
			}
		}
	})
	for _, s := range p.shells {
		p.files = append(p.files, s.heredocs()...)
	}
}

func (p *pass) collectScript(i int, part cloudinit.Part) {
	what, text, first := "script", part.Content, 0
	if part.Type == cloudinit.TypeBoothook {
		what = "boothook"
		if rest, ok := strings.CutPrefix(text, "#cloud-boothook"); ok {
			trimmed := strings.TrimLeft(rest, " \t\r\n")
			first = strings.Count(text[:len(text)-len(trimmed)], "\n")
			text = trimmed
		}
	}
	if s := cloudinit.Sniff(text); s != "" && s != cloudinit.TypeShellScript {
		return
	}
	p.addShell(&shellText{what: what, text: text, late: part.Type == cloudinit.TypeShellScript, place: func(line, col int) report.Position {
		return p.place(at(i, line+first, col))
	}})
}

func (p *pass) collectCommand(key string, item *pyyaml.Value) {
	s := commandText(item)
	if s == nil {
		return
	}
	s.what, s.late = key, key == "runcmd"
	s.place = func(line, col int) report.Position { return p.place(p.result.Inside(item, line, col)) }
	if s.words != nil {
		s.place = func(int, int) report.Position { return p.place(p.result.At(item)) }
	}
	p.shells = append(p.shells, s)
}

// commandText parses an item of bootcmd or runcmd; nil if it is none.
func commandText(item *pyyaml.Value) *shellText {
	s := &shellText{}
	switch {
	case item.IsString():
		s.text = item.Str
	case item.IsSequence():
		for _, w := range item.Items {
			s.words = append(s.words, w.String())
		}
	default:
		return nil
	}
	s.parse()
	return s
}

// collectFile notes a file of write_files, and its contents if they are a script or plain text.
func (p *pass) collectFile(part int, e *pyyaml.Value) {
	path, content := e.Get("path"), e.Get("content")
	if !e.IsDict() || !path.IsString() {
		return
	}
	f := &file{path: path.Str, entry: e, place: func(int, int) report.Position { return p.place(p.result.At(e)) }}
	for _, r := range p.result.Runs {
		if r.File != nil && r.At == p.result.At(e) {
			f.text = r.Content
		}
	}
	if content.IsString() && !e.Get("encoding").Truth() {
		f.text = content.Str
		f.place = func(line, col int) report.Position { return p.place(p.result.Inside(content, line, col)) }
	}
	p.files = append(p.files, f)
	if strings.HasPrefix(f.text, "#!") {
		p.addShell(&shellText{what: "file", text: f.text, late: true, place: f.place})
	}
}

// file is a file that lands on the node.
type file struct {
	path  string
	text  string
	entry *pyyaml.Value // of write_files, or nil
	place func(line, col int) report.Position
}
