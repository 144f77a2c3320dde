package shell

import (
	"os"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Write is text that a command writes to a file: a here-document, or what echo and printf print.
type Write struct {
	Path   string
	Text   string
	Append bool
	Line   int  // of its first line, in the script
	Spread bool // its lines stand on lines of the script, one below the other
}

// LineOf returns the line of the script on which a line of the text stands. Both count from 1.
func (w *Write) LineOf(line int) int {
	if w.Spread {
		return w.Line + line - 1
	}
	return w.Line
}

// target is a file that output goes to.
type target struct {
	path    string
	appends bool
}

// redirected returns where a statement's redirections send its output.
func (w walker) redirected(st *syntax.Stmt) (t target) {
	for _, r := range st.Redirs {
		if r.N != nil && r.N.Value != "1" {
			continue
		}
		switch r.Op {
		case syntax.AppOut, syntax.AppAll:
			t = target{w.expand(literal(r.Word)), true}
		case syntax.RdrOut, syntax.RdrClob, syntax.RdrAll:
			t = target{w.expand(literal(r.Word)), false}
		}
	}
	return t
}

// teed returns the file of a tee.
func (w walker) teed(words []string) (t target) {
	if len(words) < 2 || words[0] != "tee" {
		return t
	}
	for _, arg := range words[1:] {
		switch {
		case arg == "-a" || arg == "--append":
			t.appends = true
		case !strings.HasPrefix(arg, "-"):
			t.path = w.expand(arg)
		}
	}
	return t
}

// blockOutput returns where the commands of a block write to. All but the first of them append.
func (w walker) blockOutput(st *syntax.Stmt, pipedTo []string) target {
	t := w.redirected(st)
	if t.path == "" {
		t = w.teed(pipedTo)
	}
	if t.path == "" {
		return w.out
	}
	if _, pipe := st.Cmd.(*syntax.BinaryCmd); !t.appends && !pipe {
		w.s.Commands = append(w.s.Commands, Command{Words: []string{":"}, Line: int(st.Pos().Line()), Col: w.s.column(st.Pos()), Sub: w.sub, Fn: w.fn, Guarded: w.guarded,
			Writes: []Write{{Path: t.path, Line: int(st.Pos().Line())}}})
	}
	t.appends = true
	return t
}

// output notes what a command writes, and to which file.
func (w walker) output(cmd *Command, st *syntax.Stmt, pipedTo []string) {
	t := w.redirected(st)
	if t.appends {
		cmd.Appends = t.path
	}
	if tee := w.teed(cmd.Words); tee.path != "" {
		t = tee
		if t.appends {
			cmd.Appends = t.path
		}
	}
	if t.path == "" {
		t = w.teed(pipedTo)
	}
	if t.path == "" && len(pipedTo) == 0 {
		t = w.out
	}
	cmd.Into = t.path
	if t.path == "" {
		return
	}
	for _, r := range st.Redirs {
		if (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) && r.Hdoc != nil && (cmd.Is("cat", "tee")) {
			cmd.Writes = append(cmd.Writes, Write{t.path, hereText(r), t.appends, int(r.Hdoc.Pos().Line()), true})
			return
		}
	}
	if text, spread, ok := printed(cmd.Words); ok {
		cmd.Writes = append(cmd.Writes, Write{t.path, text, t.appends, cmd.Line, spread})
	}
}

// hereText is the text of a here-document; <<- takes the tabs before its lines away.
func hereText(r *syntax.Redirect) string {
	text := literal(r.Hdoc)
	if r.Op == syntax.DashHdoc {
		text = strings.ReplaceAll("\n"+text, "\n\t", "\n")
		for strings.Contains(text, "\n\t") {
			text = strings.ReplaceAll(text, "\n\t", "\n")
		}
		text = text[1:]
	}
	return text
}

// printed returns what echo or printf prints, and whether its lines stand in the script one below the other.
func printed(words []string) (text string, spread, ok bool) {
	switch words[0] {
	case "echo":
		args, newline, escapes := words[1:], "\n", false
		for len(args) > 0 && len(args[0]) > 1 && strings.Trim(args[0], "neE") == "-" {
			if strings.Contains(args[0], "n") {
				newline = ""
			}
			escapes = escapes || strings.Contains(args[0], "e")
			args = args[1:]
		}
		text = strings.Join(args, " ") + newline
		if escapes {
			return unescape(text), false, true
		}
		return text, true, true
	case "printf":
		args := words[1:]
		if len(args) > 0 && args[0] == "--" {
			args = args[1:]
		}
		if len(args) == 0 {
			return "", false, false
		}
		return format(unescape(args[0]), args[1:]), false, true
	}
	return "", false, false
}

// format does what printf does with a format of strings: it is used again until the arguments are used up.
func format(format string, args []string) string {
	var b strings.Builder
	for {
		taken := false
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				b.WriteByte(format[i])
				continue
			}
			i++
			if format[i] == '%' {
				b.WriteByte('%')
				continue
			}
			if len(args) > 0 {
				b.WriteString(args[0])
				args, taken = args[1:], true
			}
		}
		if len(args) == 0 || !taken {
			return b.String()
		}
	}
}

func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(s)
}

// assign notes the value of a variable that names a file. One that is given two values is not known.
func (w walker) assign(a *syntax.Assign) {
	if a.Name == nil || a.Append || a.Value == nil {
		return
	}
	if w.s.vars == nil {
		w.s.vars = map[string]string{}
	}
	value := w.expand(literal(a.Value))
	if old, known := w.s.vars[a.Name.Value]; known && old != value || w.guarded || w.fn {
		value = "$" + a.Name.Value
	}
	w.s.vars[a.Name.Value] = value
}

// expand puts the values of variables into a word, where they are known.
func (w walker) expand(word string) string {
	if !strings.Contains(word, "$") {
		return word
	}
	return os.Expand(word, func(name string) string {
		if value, ok := w.s.vars[name]; ok {
			return value
		}
		return "$" + name
	})
}
