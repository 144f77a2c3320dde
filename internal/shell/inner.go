package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Interpreters run what is piped into them, or given to them by -c; eval, source and . run their arguments.
var Interpreters = []string{"sh", "bash", "dash", "/bin/sh", "/bin/bash", "/usr/bin/bash", "python3", "python", "perl", "eval", "source", "."}

// inner looks at what sh -c runs. Its commands are told at the place of the sh.
func (w walker) inner(cmd Command) {
	i := slices.IndexFunc(cmd.Words, func(word string) bool {
		return len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.HasSuffix(word, "c")
	})
	if !cmd.Is("sh", "bash", "dash", "/bin/sh", "/bin/bash", "/usr/bin/bash") || i != 1 || len(cmd.Words) < 3 {
		return
	}
	lang := syntax.LangPOSIX
	if strings.HasSuffix(cmd.Name(), "bash") {
		lang = syntax.LangBash
	}
	text := &Script{Text: cmd.Words[2]}
	var err error
	if text.file, err = syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text.Text), ""); err != nil {
		return // a word with variables in it is not what runs
	}
	walker{s: text, sub: true, fn: w.fn, guarded: w.guarded}.stmts(text.file.Stmts)
	for _, c := range text.Commands {
		for j := range c.Writes {
			c.Writes[j].Line += cmd.Line - 1
		}
		c.Line, c.Col = cmd.Line, cmd.Col
		w.s.Commands = append(w.s.Commands, c)
	}
}

// runsArguments returns the words of a command that runs what it is given as text: sh -c "$(...)", bash <(...), eval.
func runsArguments(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	words = unwrap(Command{Words: words}).Words
	if slices.Contains(Interpreters, words[0]) {
		return words
	}
	return nil
}

// substitutions looks into $(...), `...` and <(...). Runs are the words of a command that runs what they print.
func (w walker) substitutions(word *syntax.Word, runs []string) {
	w.sub = true
	stmts := func(list []*syntax.Stmt, runs []string) {
		for _, st := range list {
			w.stmt(st, runs)
		}
	}
	syntax.Walk(word, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if len(runs) > 1 && runs[0] != "eval" && !strings.HasSuffix(runs[1], "c") {
				stmts(n.Stmts, nil) // an argument of a script
			} else {
				stmts(n.Stmts, runs)
			}
			return false
		case *syntax.ProcSubst:
			stmts(n.Stmts, runs)
			return false
		}
		return true
	})
}
