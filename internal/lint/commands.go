package lint

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
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
				opts := []option{severity(report.Error)}
				if e.Key.Str == "cloud_final_modules" && lackScripts(e.Value) {
					opts = append(opts, effect(NoNodeup))
				}
				p.add("KH026", p.place(p.result.At(e.Key)), fmt.Sprintf("%s replaces the image's own: modules that are not in it do not run, not even scripts such as nodeup.sh", e.Key.Str), opts...)
			}
		}
		p.checkUsers(config)
		p.checkBootcmd(config.Get("bootcmd"))
		p.checkComments(config)
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

// checkBootcmd looks for files of write_files that bootcmd uses, which runs before they are written on the first boot.
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
	if len(paths) == 0 {
		return
	}
	made := map[string]bool{} // by bootcmd itself
	for _, item := range bootcmd.Items {
		s := commandOf(item)
		if s == nil {
			continue
		}
		for i := range s.Commands {
			c := &s.Commands[i]
			for _, path := range paths {
				if !made[path] && uses(c, path) {
					p.add("KH032", p.place(p.result.At(item)), fmt.Sprintf("bootcmd uses %s, which write_files makes later: on the first boot it is not there", path))
				}
			}
			for _, w := range c.Writes {
				made[w.Path] = true
			}
		}
		for _, unit := range units {
			if needs(s, unit) {
				p.add("KH032", p.place(p.result.At(item)), fmt.Sprintf("bootcmd uses %s, which write_files makes later: on the first boot it is not there", unit))
			}
		}
	}
}

// indifferent are commands that do not mind that a file they name is not there.
var indifferent = []string{"echo", "printf", "logger", "mkdir", "touch", "ln", "rm", "test", "[", "[[", "tee", ":"}

// uses says whether a command needs a file: it runs it, or reads it.
func uses(c *command, path string) bool {
	return !c.Guarded && !c.Is(indifferent...) && slices.ContainsFunc(c.Words, func(w string) bool { return w == path || strings.HasSuffix(w, "="+path) })
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
	p.files = append(p.files, written(p.shells)...)
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
	place := func(line, col int) report.Position { return p.place(at(i, line+first, col)) }
	p.shells = append(p.shells, &shellText{Script: shell.Parse(text), what: what, part: i, late: part.Type == cloudinit.TypeShellScript, place: place})
}

func (p *pass) collectCommand(key string, item *pyyaml.Value) {
	script := commandOf(item)
	if script == nil || script.Err != nil && p.commentBehind(item) != "" { // KH038 says why
		return
	}
	s := &shellText{Script: script, what: key, late: key == "runcmd"}
	s.place = func(line, col int) report.Position { return p.place(p.result.Inside(item, line, col)) }
	if s.Words != nil {
		s.place = func(int, int) report.Position { return p.place(p.result.At(item)) }
	}
	p.shells = append(p.shells, s)
}

// commandOf parses an item of bootcmd or runcmd; nil if it is none.
func commandOf(item *pyyaml.Value) *shell.Script {
	switch {
	case item.IsString():
		return shell.Parse(item.Str)
	case item.IsSequence():
		words := make([]string, len(item.Items))
		for i, w := range item.Items {
			words[i] = w.String()
		}
		return shell.ParseWords(words)
	}
	return nil
}

// collectFile notes a file of write_files, and its contents if they are a script or plain text.
func (p *pass) collectFile(part int, e *pyyaml.Value) {
	path, content := e.Get("path"), e.Get("content")
	if !e.IsDict() || !path.IsString() {
		return
	}
	f := &file{path: path.Str, entry: e, place: func(int, int) report.Position { return p.place(p.result.At(e)) }}
	if p.contents == nil {
		p.contents = map[cloudinit.At]string{}
		for _, r := range p.result.Runs {
			if r.File != nil {
				p.contents[r.At] = r.Content
			}
		}
	}
	f.text = p.contents[p.result.At(e)]
	if content.IsString() && !e.Get("encoding").Truth() {
		f.text = content.Str
		f.place = func(line, col int) report.Position { return p.place(p.result.Inside(content, line, col)) }
	}
	p.files = append(p.files, f)
	if strings.HasPrefix(f.text, "#!") {
		p.shells = append(p.shells, &shellText{Script: shell.Parse(f.text), what: "file", late: true, place: f.place})
	}
}

// file is a file that lands on the node.
type file struct {
	path  string
	text  string
	entry *pyyaml.Value // of write_files, or nil
	place func(line, col int) report.Position

	lines []report.Position // of the text, where commands write it
	again bool              // commands append to it on every boot
}
