package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Ignored returns the first of some commands whose failure nobody sees: it stands on its own, is not the last command,
// and neither set -e nor a trap nor a look at $? is in the script. It is nil where there is none.
func (s *Script) Ignored(names []string) *Command {
	if s.file == nil || s.handlesErrors() {
		return nil
	}
	alone := map[[2]int]bool{}
	s.alone(s.file.Stmts, true, alone)
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Is(names...) && alone[[2]int{c.Line, c.Col}] {
			return c
		}
	}
	return nil
}

// handlesErrors says whether the script as a whole does something about commands that fail.
func (s *Script) handlesErrors() bool {
	first, _, _ := strings.Cut(s.Text, "\n")
	if words := strings.Fields(first); strings.HasPrefix(first, "#!") && slices.ContainsFunc(words[1:], setsErrexit) {
		return true
	}
	return strings.Contains(s.Text, "$?") || slices.ContainsFunc(s.Commands, func(c Command) bool {
		return c.Is("set") && (slices.ContainsFunc(c.Words[1:], setsErrexit) || c.Has("errexit")) || c.Is("trap") && c.Has("ERR")
	})
}

// setsErrexit tells -e, also among other letters.
func setsErrexit(word string) bool {
	return len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.Contains(word, "e")
}

// alone notes the places of simple commands that are statements of their own. The last one of the script is not: its
// status is the script's.
func (s *Script) alone(stmts []*syntax.Stmt, end bool, found map[[2]int]bool) {
	for i, st := range stmts {
		last := end && i == len(stmts)-1
		if st.Background || st.Negated {
			continue
		}
		switch c := st.Cmd.(type) {
		case *syntax.CallExpr:
			if !last {
				found[[2]int{int(st.Pos().Line()), s.column(st.Pos())}] = true
			}
		case *syntax.Block:
			s.alone(c.Stmts, last, found)
		case *syntax.IfClause:
			for ; c != nil; c = c.Else {
				s.alone(c.Then, last, found)
			}
		case *syntax.ForClause:
			s.alone(c.Do, false, found)
		case *syntax.BinaryCmd:
			if c.Op == syntax.AndStmt && !last {
				s.alone([]*syntax.Stmt{c.Y}, false, found)
			}
		}
	}
}
