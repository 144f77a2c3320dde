package lint

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
)

// Twice is the part of Check, for those who merge, that finds hooks that do what a part of the user's does, too: an adopted
// part that is still there.
func Twice(g *Group, opts Options) []Finding {
	p := readPass(g, opts)
	p.collect()
	p.checkTwice()
	return p.settle()
}

// deed is what a hook does: a file that it writes, or a command.
type deed struct{ hook, what string }

// checkTwice compares what the user's parts do with what hooks do: the files that both write, and the commands that both
// run. What every script does says nothing.
func (p *pass) checkTwice() {
	var ours []generator.UserData
	for i, part := range p.g.Parts {
		if !p.theirs(i) {
			ours = append(ours, generator.UserData(part))
		}
	}
	if len(ours) == 0 || len(p.shells)+len(p.files) == 0 {
		return
	}
	hooks := generator.Read(ours)
	generator.Open(hooks, p.g.Archive)
	files, commands := deedsOf(hooks)
	told := map[string]bool{}
	say := func(d deed, pos report.Position, verb string) {
		if key := fmt.Sprint(d.hook, " ", pos.Line); !told[key] {
			told[key] = true
			p.add("KH093", pos, fmt.Sprintf("hook %q %s, too: %s", d.hook, verb, d.what))
		}
	}
	for _, f := range p.files {
		if hook := files[f.path]; hook != "" {
			say(deed{hook, f.path}, f.place(1, 1), "writes the file")
		}
	}
	for _, s := range p.shells {
		// one command may be the same by chance: of a part, half of them are not
		same, all := map[string][]*command{}, 0
		var hooks []string
		for i := range s.Commands {
			c := &s.Commands[i]
			text := telling(c)
			if text == "" {
				continue
			}
			all++
			for _, hook := range commands[text] {
				if same[hook] == nil {
					hooks = append(hooks, hook)
				}
				same[hook] = append(same[hook], c)
			}
		}
		for _, hook := range hooks {
			if c := same[hook][0]; 2*len(same[hook]) >= all {
				say(deed{hook, telling(c)}, s.place(c.Line, c.Col), "runs the command")
			}
		}
	}
}

// deedsOf returns the files that hooks write, and the hooks that run commands, by their text.
func deedsOf(hooks []generator.Written) (files map[string]string, commands map[string][]string) {
	files, commands = map[string]string{}, map[string][]string{}
	for i := range hooks {
		h := &hooks[i]
		for _, f := range h.Files() {
			if !generator.IsScript(f) {
				files[f.Path] = h.Name
				continue
			}
			s := &shellText{Script: shell.Parse(string(f.Content)), place: func(int, int) report.Position { return report.Position{} }}
			for j := range s.Commands {
				if text := telling(&s.Commands[j]); text != "" && !slices.Contains(commands[text], h.Name) {
					commands[text] = append(commands[text], h.Name)
				}
			}
			for _, w := range written([]*shellText{s}) {
				files[w.path] = h.Name
			}
		}
	}
	for _, path := range []string{"/dev/null", "/dev/console", "/dev/kmsg", "/dev/stderr"} {
		delete(files, path)
	}
	return files, commands
}

// telling is the text of a command that says what a script is about, "" of those that many scripts have.
func telling(c *command) string {
	common := c.Is("set", "echo", "printf", "export", "exit", "return", "exec", "true", "false", ":", "cd", "[", "[[", "test", "sleep", "mkdir", "shift",
		"local", "readonly", "umask", "trap", "wait", "cat", "command", "read", "logger", "hostname", "uname", "date", "break", "continue", "source", ".")
	switch {
	case common, len(c.Words) < 2, c.Is("apt-get", "apt", "dnf", "yum", "zypper") && c.Has("update", "upgrade", "makecache", "clean"),
		c.Is("systemctl") && c.Has("daemon-reload", "is-active", "is-enabled"):
		return ""
	}
	return strings.Join(c.Words, " ")
}
