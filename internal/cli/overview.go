package cli

import (
	"fmt"
	"io"
	"strings"

	"kopshook.dev/kopshook/internal/explain"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// verdicts returns what becomes of some groups, and of all whose nodes do not join or lose something: what is the same of
// several groups once.
func verdicts(out *plan.Output, of func(*plan.Group) bool) []*said {
	var t tally
	for _, g := range out.Groups {
		if v := g.Brief.Verdict; of(g) || v.Bad() {
			late := len(g.Brief.Over) > 0
			t.add(explain.Sentence(v.WithoutSize(), late), explain.Sentence(v, late), g).bad = v.Bad()
		}
	}
	return t.all
}

// printVerdicts prints them, a line each.
func printVerdicts(w io.Writer, out *plan.Output) {
	color := colored(w)
	for _, s := range verdicts(out, (*plan.Group).Changes) {
		text := report.OneLine(s.text)
		if s.bad && color {
			text = "\x1b[31m" + text + "\x1b[0m"
		}
		fmt.Fprint(w, onScreen(w, "  ", s.names()+": "+text))
	}
	for _, text := range late(out, (*plan.Group).Changes) {
		if color {
			text = "\x1b[33m" + text + "\x1b[0m"
		}
		fmt.Fprint(w, onScreen(w, "  ", text))
	}
}

// onScreen is a line, with what stands before it: on a terminal broken at spaces, in a file or a pipe whole.
func onScreen(w io.Writer, before, text string) string {
	width := screenOf(w).Width
	if width == 0 {
		return before + text + "\n"
	}
	return before + strings.Join(report.Wrap(text, max(width-len(before)-2, 20)), "\n  "+before) + "\n"
}

// printOverview prints a row for each group: what becomes of its nodes, how long they may take, how large the user data is.
// What is wrong follows in full.
func printOverview(w io.Writer, out *plan.Output) {
	var rows []explain.Row
	for _, g := range out.Groups {
		v := g.Brief.Verdict
		r := explain.Row{Group: g.Label(), Outcome: outcome(g), Short: explain.ShortOutcome(v, len(g.Brief.Over) > 0), Bad: v.Bad(), Late: v.MayBeLate(len(g.Brief.Over) > 0), Waits: g.Brief.Kubelet.Short()}
		if s := g.Brief.Size; s != nil && s.Limit.Bytes > 0 {
			r.Size = fmt.Sprintf("%d %%", s.Percent())
		}
		rows = append(rows, r)
	}
	explain.Table(w, rows, screenOf(w))
	fmt.Fprintln(w)
	bad := false
	for _, s := range verdicts(out, (*plan.Group).Changes) {
		if s.bad {
			bad = true
			fmt.Fprint(w, onScreen(w, "", s.names()+": "+report.OneLine(s.text)))
		}
	}
	lines := late(out, func(*plan.Group) bool { return true })
	for _, l := range lines {
		fmt.Fprint(w, onScreen(w, "", l))
	}
	if bad || len(lines) > 0 {
		fmt.Fprintln(w)
	}
}

// late says who may give up on machines of which groups before their hooks must have ended, a line each.
func late(out *plan.Output, of func(*plan.Group) bool) []string {
	var t tally
	for _, g := range out.Groups {
		if !of(g) {
			continue
		}
		for _, l := range g.Brief.Over {
			text := "the kubelet may wait " + g.Brief.Kubelet.String() + "; " + l.String()
			t.add(text, text, g)
		}
	}
	var lines []string
	for _, s := range t.all {
		lines = append(lines, s.names()+": "+report.OneLine(s.text))
	}
	return lines
}

// outcome is the group's verdict for the cell of a table, and whether that may come too late.
func outcome(g *plan.Group) string {
	return explain.Outcome(g.Brief.Verdict, len(g.Brief.Over) > 0)
}
