package lint

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"kopshook.dev/kopshook/internal/report"
)

// shellText is a piece of shell that a node runs.
type shellText struct {
	what  string // script, boothook, bootcmd, runcmd, file or hook
	text  string
	words []string // a command in the form of a list, instead of text
	late  bool     // it runs in cloud-init's last stage, or in a unit
	place func(line, col int) report.Position

	err       error
	commands  []command
	functions []string
	file      *syntax.File
}

// command is a simple command, without what only wraps it (sudo, env, timeout and the like).
type command struct {
	words   []string // "" where a word is not literal
	line    int
	col     int
	sub     bool          // in a subshell: exit leaves only that
	fn      bool          // in a function
	guarded bool          // only if another command says so
	execs   bool          // by exec, which ends the shell
	appends string        // the file that >> appends to
	pipedTo []string      // words of the command that its output goes to
	pipe    *syntax.Stmt  // the statement of the pipe
	hdocs   []heredocText // here-documents and where they are written
}

type heredocText struct {
	path, text string
	line       int // of its first line
}

func (c *command) name() string { return c.words[0] }

// is says whether the command is one of names.
func (c *command) is(names ...string) bool { return slices.Contains(names, c.words[0]) }

func (c *command) has(words ...string) bool {
	return slices.ContainsFunc(c.words[1:], func(w string) bool { return slices.Contains(words, w) })
}

// addShell parses a piece of shell and notes it.
func (p *pass) addShell(s *shellText) {
	s.parse()
	p.shells = append(p.shells, s)
}

// parse reads the text as the shell of its #! line does. Other interpreters are left alone.
func (s *shellText) parse() {
	if s.words != nil {
		cmd := unwrap(command{words: s.words, line: 1, col: 1})
		s.commands = append(s.commands, cmd)
		walker{s: s}.inner(cmd)
		return
	}
	lang, ok := language(s.text)
	if !ok {
		return
	}
	s.file, s.err = syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(s.text), "")
	if s.err != nil {
		return
	}
	w := walker{s: s}
	w.stmts(s.file.Stmts)
	// a function of the script's own may be called like a command
	s.commands = slices.DeleteFunc(s.commands, func(c command) bool { return slices.Contains(s.functions, c.name()) })
}

// language tells the shell of a script by its #! line. Text without one is run by /bin/sh.
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

// walker collects the commands of a script.
type walker struct {
	s                *shellText
	sub, fn, guarded bool
}

func (w walker) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		w.stmt(st, nil, nil)
	}
}

// stmt looks at a statement; pipedTo are the words that its output goes to.
func (w walker) stmt(st *syntax.Stmt, pipedTo []string, pipe *syntax.Stmt) {
	if st == nil {
		return
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		w.call(st, c, pipedTo, pipe)
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
			w.stmt(c.X, pipedTo, pipe)
			w.guarded = true
			w.stmt(c.Y, pipedTo, pipe)
			return
		}
		inner := w
		inner.sub = true
		inner.stmt(c.X, firstWords(c.Y), st)
		inner.stmt(c.Y, pipedTo, pipe)
	case *syntax.Subshell:
		w.sub = true
		w.stmts(c.Stmts)
	case *syntax.FuncDecl:
		w.s.functions = append(w.s.functions, c.Name.Value)
		w.fn = true
		w.stmt(c.Body, nil, nil)
	case *syntax.Block:
		w.stmts(c.Stmts)
	case *syntax.IfClause:
		for c != nil {
			w.stmts(c.Cond)
			w.guarded = true
			w.stmts(c.Then)
			c = c.Else
		}
	case *syntax.WhileClause:
		w.stmts(c.Cond)
		w.stmts(c.Do)
	case *syntax.ForClause:
		w.stmts(c.Do)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			w.stmts(item.Stmts)
		}
	case *syntax.TimeClause:
		w.stmt(c.Stmt, pipedTo, pipe)
	}
}

// firstWords are the words of the first command of a statement.
func firstWords(st *syntax.Stmt) []string {
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		return unwrap(command{words: literals(c.Args)}).words
	case *syntax.BinaryCmd:
		return firstWords(c.X)
	case *syntax.Block:
		if len(c.Stmts) > 0 {
			return firstWords(c.Stmts[0])
		}
	case *syntax.Subshell:
		if len(c.Stmts) > 0 {
			return firstWords(c.Stmts[0])
		}
	}
	return nil
}

func literals(args []*syntax.Word) []string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = literal(a)
	}
	return words
}

// literal returns a word whose value is known, with variables left as they are written.
func literal(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(part.Value)
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(literal(&syntax.Word{Parts: part.Parts}))
		case *syntax.ParamExp:
			if part.Param != nil {
				b.WriteString("$" + part.Param.Value)
			}
		case *syntax.CmdSubst:
			b.WriteString("$()")
		}
	}
	return b.String()
}

func (w walker) call(st *syntax.Stmt, c *syntax.CallExpr, pipedTo []string, pipe *syntax.Stmt) {
	runs := runsArguments(literals(c.Args))
	for _, arg := range c.Args {
		w.substitutions(arg, runs)
	}
	for _, a := range c.Assigns {
		if a.Value != nil {
			w.substitutions(a.Value, nil)
		}
	}
	if len(c.Args) == 0 {
		return
	}
	cmd := command{words: literals(c.Args), line: int(st.Pos().Line()), col: w.s.column(st.Pos()), sub: w.sub, fn: w.fn, guarded: w.guarded, pipedTo: pipedTo, pipe: pipe}
	target := ""
	for _, r := range st.Redirs {
		switch r.Op {
		case syntax.AppOut:
			cmd.appends, target = literal(r.Word), literal(r.Word)
		case syntax.RdrOut, syntax.RdrClob:
			target = literal(r.Word)
		}
	}
	for _, a := range c.Assigns {
		if a.Name != nil && a.Name.Value == "DEBIAN_FRONTEND" {
			cmd.words = append(cmd.words, "DEBIAN_FRONTEND="+literal(orEmpty(a.Value)))
		}
	}
	cmd = unwrap(cmd)
	if cmd.is("tee") && len(cmd.words) > 1 {
		target = cmd.words[len(cmd.words)-1]
		if cmd.has("-a", "--append") {
			cmd.appends = target
		}
	}
	if len(pipedTo) > 1 && pipedTo[0] == "tee" && target == "" {
		target = pipedTo[len(pipedTo)-1]
	}
	for _, r := range st.Redirs {
		if (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) && r.Hdoc != nil && target != "" {
			cmd.hdocs = append(cmd.hdocs, heredocText{target, literal(r.Hdoc), int(r.Hdoc.Pos().Line())})
		}
	}
	w.s.commands = append(w.s.commands, cmd)
	w.inner(cmd)
}

func orEmpty(w *syntax.Word) *syntax.Word {
	if w == nil {
		return &syntax.Word{}
	}
	return w
}

// unwrap takes off commands that only run another: "sudo -E timeout 5m apt-get update" is apt-get.
func unwrap(c command) command {
	words := c.words
	for len(words) > 1 {
		switch words[0] {
		case "sudo", "exec", "nohup", "time", "command", "eatmydata", "nice", "ionice", "setsid", "systemd-cat", "timeout", "env", "chroot", "cloud-init-per":
		default:
			c.words = words
			return c
		}
		c.execs = c.execs || words[0] == "exec"
		rest := words[1:]
		for len(rest) > 1 && (strings.HasPrefix(rest[0], "-") || strings.Contains(rest[0], "=") || isDuration(rest[0]) || words[0] == "cloud-init-per" && len(words)-len(rest) < 3) {
			rest = rest[1:]
		}
		words = rest
	}
	c.words = words
	if len(c.words) == 0 {
		c.words = []string{""}
	}
	return c
}

func isDuration(s string) bool {
	digits := strings.TrimRight(s, "smhd")
	return digits != "" && strings.Trim(digits, "0123456789.") == ""
}

// heredocs are the files that a script writes with cat > FILE <<EOF.
func (s *shellText) heredocs() []*file {
	var files []*file
	for _, c := range s.commands {
		for _, h := range c.hdocs {
			files = append(files, &file{path: h.path, text: h.text, place: func(line, _ int) report.Position { return s.place(h.line+line-1, 1) }})
		}
	}
	return files
}

// starts says whether a systemctl in the script starts or enables a unit.
func (s *shellText) starts(unit string) bool {
	return slices.ContainsFunc(s.commands, func(c command) bool {
		return c.is("systemctl", "service", "systemd-run", "deb-systemd-invoke") && c.has(unit) ||
			c.is("ln") && strings.Contains(strings.Join(c.words, " "), unit)
	})
}

// needs says whether a systemctl in the script fails if a unit is not there.
func (s *shellText) needs(unit string) bool {
	return slices.ContainsFunc(s.commands, func(c command) bool {
		return c.is("systemctl") && c.has("enable", "start", "restart", "reload", "try-restart", "reload-or-restart") && c.has(unit, strings.TrimSuffix(unit, ".service"))
	})
}

// column counts characters where the parser counts bytes.
func (s *shellText) column(at syntax.Pos) int {
	start := min(int(at.Offset())-int(at.Col())+1, len(s.text))
	return utf8.RuneCountInString(s.text[max(start, 0):min(int(at.Offset()), len(s.text))]) + 1
}

// syntaxError says where the script does not parse, and why; the message is empty where it does.
func (s *shellText) syntaxError() (line, col int, msg string) {
	switch e := s.err.(type) {
	case syntax.ParseError:
		return int(e.Pos.Line()), s.column(e.Pos), e.Text
	case syntax.LangError:
		return int(e.Pos.Line()), s.column(e.Pos), e.Feature + " is no feature of " + e.LangUsed.String()
	case nil:
		return 0, 0, ""
	}
	return 1, 1, s.err.Error()
}
