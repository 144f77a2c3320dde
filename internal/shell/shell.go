// Package shell reads scripts and tells the commands in them, and the files that they write, by mvdan.cc/sh's parser.
package shell

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Script is a piece of shell that a node runs.
type Script struct {
	Text     string
	Words    []string // a command in the form of a list, instead of Text
	Err      error    // why it cannot be read
	Commands []Command
	Calls    []Command // of functions of the script's own, which are not among Commands

	functions []string
	vars      map[string]string // by name
	file      *syntax.File      // nil when it is no shell, or cannot be read
}

// Command is a simple command, without what only wraps it (sudo, env, timeout and the like).
type Command struct {
	Words   []string // variables are left as they are written
	Line    int
	Col     int
	Sub     bool     // in a subshell: exit leaves only that
	Fn      bool     // in a function
	Guarded bool     // only if another command says so
	Once    bool     // by cloud-init-per: not on each boot
	Input   []string // words of the command whose output it reads
	Execs   bool     // by exec, which ends the shell
	Appends string   // the file that >> appends to
	Into    string   // the file that its output goes to, also by tee
	PipedTo []string // words of the command that its output goes to
	Writes  []Write  // what it writes to files, where the text stands in the script
}

// Name is the command's first word.
func (c *Command) Name() string { return c.Words[0] }

// Is says whether the command is one of names.
func (c *Command) Is(names ...string) bool { return slices.Contains(names, c.Words[0]) }

// Has says whether one of words is among the command's arguments.
func (c *Command) Has(words ...string) bool {
	return slices.ContainsFunc(c.Words[1:], func(w string) bool { return slices.Contains(words, w) })
}

// Verb is the first argument that is no option and no value of one, or "".
func (c *Command) Verb() string {
	if _, args := c.Options(); len(args) > 0 {
		return args[0]
	}
	return ""
}

// valued are the options that take a value, also the next word: letters, and long names (apt-get(8), OPTIONS).
var valued = map[string]struct {
	letters string
	long    []string
}{
	"apt-get": {"octaP", []string{"--option", "--config-file", "--target-release", "--default-release", "--host-architecture", "--build-profiles"}},
	"apt":     {"octaP", []string{"--option", "--config-file", "--target-release", "--default-release", "--host-architecture", "--build-profiles"}},
}

// Options tells a command's options from its arguments. Values of the options that are known to take one are in neither:
// of apt-get -yo A=1 install x the options are -yo, and the arguments install and x.
func (c *Command) Options() (options, arguments []string) {
	known := valued[c.Name()]
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
			return options, append(arguments, words[i+1:]...)
		case !strings.HasPrefix(w, "-"):
			arguments = append(arguments, w)
			continue
		case strings.HasPrefix(w, "--"):
			if slices.Contains(known.long, w) {
				i++
			}
		default:
			if at := strings.IndexAny(w, known.letters); at == len(w)-1 {
				i++
			} else if at > 0 {
				w = w[:at+1]
			}
		}
		options = append(options, w)
	}
	return options, arguments
}

// Starts are the units that the command starts or restarts, and waits for: those of systemctl and service, with their
// endings. There are none with --no-block.
func (c *Command) Starts() []string {
	var units []string
	switch {
	case c.Is("systemctl") && !c.Has("--no-block"):
		args := slices.DeleteFunc(slices.Clone(c.Words[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
		if len(args) == 0 || !slices.Contains([]string{"start", "restart", "reload-or-restart", "try-restart", "try-reload-or-restart", "condrestart", "force-reload"}, args[0]) &&
			!(args[0] == "enable" && c.Has("--now")) {
			return nil
		}
		units = args[1:]
	case c.Is("service", "invoke-rc.d") && len(c.Words) > 2 && slices.Contains([]string{"start", "restart", "force-reload", "try-restart"}, c.Words[2]):
		units = c.Words[1:2]
	}
	for i, u := range units {
		if !strings.Contains(u, ".") {
			units[i] = u + ".service"
		}
	}
	return units
}

// Parse reads a text as the shell of its #! line does; without one it is /bin/sh. Other interpreters are left alone:
// there are no commands then, and no error.
func Parse(text string) *Script {
	s := &Script{Text: text}
	lang, ok := language(text)
	if !ok {
		return s
	}
	s.file, s.Err = syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	if s.Err != nil {
		s.file = nil
		return s
	}
	w := walker{s: s}
	w.stmts(s.file.Stmts)
	// a function of the script's own may be called like a command
	s.Commands = slices.DeleteFunc(s.Commands, func(c Command) bool {
		if !slices.Contains(s.functions, c.Name()) {
			return false
		}
		s.Calls = append(s.Calls, c)
		return true
	})
	return s
}

// ParseWords reads a command in the form of a list of words.
func ParseWords(words []string) *Script {
	s := &Script{Words: words}
	cmd := unwrap(Command{Words: words, Line: 1, Col: 1})
	s.Commands = append(s.Commands, cmd)
	walker{s: s}.inner(cmd)
	return s
}

// Parsed says whether the text is shell that could be read.
func (s *Script) Parsed() bool { return s.file != nil }

// language tells the shell of a script by its #! line.
func language(text string) (syntax.LangVariant, bool) {
	first, _, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(first, "#!") {
		return syntax.LangPOSIX, true
	}
	words := strings.Fields(strings.TrimPrefix(first, "#!"))
	for len(words) > 1 && (strings.HasSuffix(words[0], "/env") || strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return 0, false
	}
	switch words[0][strings.LastIndexByte(words[0], '/')+1:] {
	case "sh", "dash", "ash":
		return syntax.LangPOSIX, true
	case "bash":
		return syntax.LangBash, true
	case "mksh", "ksh":
		return syntax.LangMirBSDKorn, true
	}
	return 0, false
}

// unwrap takes off commands that only run another: "sudo -E timeout 5m apt-get update" is apt-get.
func unwrap(c Command) Command {
	words := c.Words
	for len(words) > 1 {
		switch words[0] {
		case "sudo", "exec", "nohup", "time", "command", "eatmydata", "nice", "ionice", "setsid", "systemd-cat", "timeout", "env", "chroot", "cloud-init-per":
		default:
			c.Words = words
			return c
		}
		c.Execs = c.Execs || words[0] == "exec"
		c.Once = c.Once || words[0] == "cloud-init-per" && words[1] != "always"
		rest := words[1:]
		for len(rest) > 1 && (strings.HasPrefix(rest[0], "-") || strings.Contains(rest[0], "=") || isDuration(rest[0]) || words[0] == "cloud-init-per" && len(words)-len(rest) < 3) {
			rest = rest[1:]
		}
		words = rest
	}
	c.Words = words
	if len(c.Words) == 0 {
		c.Words = []string{""}
	}
	return c
}

func isDuration(s string) bool {
	digits := strings.TrimRight(s, "smhd")
	return digits != "" && strings.Trim(digits, "0123456789.") == ""
}

// column counts characters where the parser counts bytes.
func (s *Script) column(at syntax.Pos) int {
	start := min(int(at.Offset())-int(at.Col())+1, len(s.Text))
	return utf8.RuneCountInString(s.Text[max(start, 0):min(int(at.Offset()), len(s.Text))]) + 1
}

// SyntaxError says where the script does not parse, and why; the message is empty where it does.
func (s *Script) SyntaxError() (line, col int, msg string) {
	switch e := s.Err.(type) {
	case syntax.ParseError:
		return int(e.Pos.Line()), s.column(e.Pos), e.Text
	case syntax.LangError:
		return int(e.Pos.Line()), s.column(e.Pos), e.Feature + " is not a feature of " + e.LangUsed.String()
	case nil:
		return 0, 0, ""
	}
	return 1, 1, s.Err.Error()
}
