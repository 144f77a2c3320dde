package unitfile

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/shell"
)

// Recipe is what kops' documentation shows: commands of bootcmd that write a drop-in for kops-configuration.service, so
// that scripts run before nodeup and after it ("Customizing node bringup sequence" there).
type Recipe struct {
	File     string // the drop-in
	Before   []Exec // ExecStartPre
	After    []Exec // ExecStopPost
	Timeout  string // as it is written, "" without one
	Appended bool   // with >>, so that each boot adds the lines once more
	// Items are the commands that do nothing else, by their numbers in bootcmd.
	Items []int
	// Cut are settings that were to be written and are not: a YAML comment has cut the command.
	Cut []string
	// Other are settings that are neither of those above.
	Other []Setting
}

// Exec is a command of a unit.
type Exec struct {
	Line string // as it is written
	Item int    // the command of bootcmd that writes it
}

const nodeupUnit = "kops-configuration.service"

// FindRecipe finds the recipe in a run of bootcmd, nil when it is not there.
func FindRecipe(run *cloudinit.Run) *Recipe {
	if run.What != "bootcmd" || !strings.Contains(run.Content, "kops-configuration") {
		return nil
	}
	r := &Recipe{}
	var text strings.Builder
	var lines []int // the command that each line of text comes from
	scripts := make([]*shell.Script, len(run.Items))
	for i, item := range run.Items {
		scripts[i] = shell.Parse(item.Text)
		for _, c := range scripts[i].Commands {
			for _, w := range c.Writes {
				if unit, dropIn, ok := Of(w.Path); !ok || !dropIn || unit != nodeupUnit {
					continue
				}
				if !w.Append {
					text.Reset()
					lines = nil
				}
				r.File, r.Appended = w.Path, w.Append
				text.WriteString(w.Text)
				for range strings.Count(w.Text, "\n") {
					lines = append(lines, i)
				}
			}
		}
	}
	if r.File == "" {
		return nil
	}
	for i, s := range scripts {
		if r.only(s) {
			r.Items = append(r.Items, i)
		}
	}
	for _, s := range Parse(text.String()) {
		item := -1
		if s.Line-1 < len(lines) {
			item = lines[s.Line-1]
		}
		r.take(s, item)
	}
	if len(r.Before)+len(r.After) == 0 {
		return nil
	}
	return r
}

func (r *Recipe) take(s Setting, item int) {
	switch {
	case s.Value == "":
		r.Other = append(r.Other, s) // it resets what was before
	case s.Key == "ExecStartPre":
		r.Before = append(r.Before, Exec{s.Value, item})
	case s.Key == "ExecStopPost", s.Key == "ExecStartPost":
		r.After = append(r.After, Exec{s.Value, item})
	case s.Key == "TimeoutSec", s.Key == "TimeoutStartSec":
		r.Timeout = s.Value
	default:
		r.Other = append(r.Other, s)
	}
}

var cutSetting = regexp.MustCompile(`^(TimeoutSec|TimeoutStartSec|ExecStartPre|ExecStopPost|ExecStartPost)=`)

// only says whether a command does nothing but what belongs to the recipe: it makes the drop-in's folder, writes to the
// drop-in, tells systemd, or prints a setting to nowhere.
func (r *Recipe) only(s *shell.Script) bool {
	if !s.Parsed() || len(s.Commands) == 0 {
		return false
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		args := slices.DeleteFunc(slices.Clone(c.Words[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
		switch {
		case len(c.Writes) > 0:
			if slices.ContainsFunc(c.Writes, func(w shell.Write) bool { return w.Path != r.File }) {
				return false
			}
		case c.Is("tee") && slices.Contains(args, r.File):
		case c.Is("mkdir") && len(args) == 1 && path.Clean(args[0]) == path.Dir(r.File):
		case c.Is("touch", "rm", "chmod") && slices.Contains(args, r.File):
		case c.Is("systemctl", "systemd") && len(args) == 1 && args[0] == "daemon-reload":
		case c.Is("echo") && len(args) > 0 && cutSetting.MatchString(args[0]):
			r.Cut = append(r.Cut, strings.Join(args, " "))
		default:
			return false
		}
	}
	return true
}

// Script makes a script of commands of a unit, which run one after the other; ok is false where one of them means
// something that only systemd knows. The folder of a file that is touched is made: that of the documented recipe is on no
// node of today.
func Script(commands []Exec) (script string, ok bool) {
	var b strings.Builder
	b.WriteString("#!/bin/sh\nset -e\n")
	for _, e := range commands {
		line, ignore := e.Line, ""
		for line != "" && strings.ContainsAny(line[:1], "-@:+!|") {
			switch line[0] {
			case '-':
				ignore = " || true"
			case '@', '|':
				return "", false
			}
			line = line[1:]
		}
		words, ok := split(line)
		if !ok || len(words) == 0 {
			return "", false
		}
		if path.Base(words[0]) == "touch" && len(words) == 2 && path.Dir(words[1]) != "/" {
			b.WriteString("mkdir -p " + shell.Word(path.Dir(words[1])) + ignore + "\n")
		}
		for i := range words {
			words[i] = shell.Word(words[i])
		}
		b.WriteString(strings.Join(words, " ") + ignore + "\n")
	}
	return b.String(), true
}

// split takes a command line apart as systemd does (systemd.service(5), COMMAND LINES). Specifiers, variables, escapes
// and lists of commands are left to systemd.
func split(line string) (words []string, ok bool) {
	if strings.ContainsAny(line, "%$\\\n") || slices.Contains(strings.Fields(line), ";") {
		return nil, false
	}
	for line = strings.TrimLeft(line, " \t"); line != ""; line = strings.TrimLeft(line, " \t") {
		if q := line[:1]; q == "'" || q == "\"" {
			word, rest, closed := strings.Cut(line[1:], q)
			if !closed || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
				return nil, false
			}
			words, line = append(words, word), rest
			continue
		}
		n := strings.IndexAny(line, " \t")
		if n < 0 {
			n = len(line)
		}
		if strings.ContainsAny(line[:n], "'\"") {
			return nil, false
		}
		words, line = append(words, line[:n]), line[n:]
	}
	return words, true
}

var span = regexp.MustCompile(`^(\d+) ?(s|sec|min|m|h|hr)?$`)

// Limit is the time that a unit's timeout allows; ok is false without one: infinity, none at all, or one that is written
// in another way.
func (r *Recipe) Limit() (limit time.Duration, ok bool) {
	m := span.FindStringSubmatch(r.Timeout)
	if m == nil {
		return 0, false
	}
	unit := map[string]string{"": "s", "s": "s", "sec": "s", "min": "m", "m": "m", "h": "h", "hr": "h"}[m[2]]
	limit, err := time.ParseDuration(m[1] + unit)
	return limit, err == nil && limit > 0
}
