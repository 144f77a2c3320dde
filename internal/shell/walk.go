package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker collects the commands of a script.
type walker struct {
	s                *Script
	sub, fn, guarded bool
	out              target   // of the block around
	in               []string // words of the command before it in a pipe
}

func (w walker) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		w.stmt(st, nil)
	}
}

// stmt looks at a statement; pipedTo are the words that its output goes to.
func (w walker) stmt(st *syntax.Stmt, pipedTo []string) {
	if st == nil {
		return
	}
	if _, simple := st.Cmd.(*syntax.CallExpr); !simple {
		w.out = w.blockOutput(st, pipedTo)
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		w.call(st, c, pipedTo)
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
			w.stmt(c.X, pipedTo)
			w.guarded = true
			w.stmt(c.Y, pipedTo)
			return
		}
		inner := w
		inner.sub = true
		inner.stmt(c.X, firstWords(c.Y))
		inner.in = firstWords(c.X)
		inner.stmt(c.Y, pipedTo)
	case *syntax.Subshell:
		w.sub = true
		w.stmts(c.Stmts)
	case *syntax.FuncDecl:
		if c.Name != nil { // nil: "() x", which is an error to all shells but the parser
			w.s.functions = append(w.s.functions, c.Name.Value)
		}
		w.fn = true
		w.stmt(c.Body, nil)
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
		w.guarded = true
		for _, item := range c.Items {
			w.stmts(item.Stmts)
		}
	case *syntax.TimeClause:
		w.stmt(c.Stmt, pipedTo)
	case *syntax.DeclClause: // export X=$(...)
		for _, a := range c.Args {
			if a.Value != nil {
				w.substitutions(a.Value, nil)
				w.assign(a)
			}
		}
	}
}

// firstWords are the words of the first command of a statement.
func firstWords(st *syntax.Stmt) []string {
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		return unwrap(Command{Words: literals(c.Args)}).Words
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

func (w walker) call(st *syntax.Stmt, c *syntax.CallExpr, pipedTo []string) {
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
		for _, a := range c.Assigns {
			w.assign(a)
		}
		return
	}
	cmd := Command{Words: literals(c.Args), Line: int(st.Pos().Line()), Col: w.s.column(st.Pos()), Sub: w.sub, Fn: w.fn, Guarded: w.guarded, PipedTo: pipedTo, Input: w.in}
	for _, a := range c.Assigns {
		if a.Name != nil && a.Name.Value == "DEBIAN_FRONTEND" {
			value := ""
			if a.Value != nil {
				value = literal(a.Value)
			}
			cmd.Words = append(cmd.Words, "DEBIAN_FRONTEND="+value)
		}
	}
	cmd = unwrap(cmd)
	w.output(&cmd, st, pipedTo)
	w.s.Commands = append(w.s.Commands, cmd)
	w.inner(cmd)
}
