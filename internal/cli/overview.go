package cli

import (
	"fmt"
	"io"

	"kopshook.dev/kopshook/internal/explain"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// verdicts returns what becomes of the groups that change, and of those whose nodes do not join or lose something: what is
// the same of several groups once.
func verdicts(out *plan.Output) []*said {
	var t tally
	for _, g := range out.Groups {
		if v := g.Brief.Verdict; g.Changes() || v.Bad() {
			t.add(v.WithoutSize().String(), v.String(), g).bad = v.Bad()
		}
	}
	return t.all
}

// printVerdicts prints them, a line each.
func printVerdicts(w io.Writer, out *plan.Output) {
	color, label := colored(w), out.Labels()
	for _, s := range verdicts(out) {
		text := report.OneLine(s.text)
		if s.bad && color {
			text = "\x1b[31m" + text + "\x1b[0m"
		}
		fmt.Fprintf(w, "  %s: %s\n", s.names(label), text)
	}
}

// printOverview prints a row for each group: what becomes of its nodes, how long they may take, how large the user data is.
// What is wrong follows in full.
func printOverview(w io.Writer, out *plan.Output) {
	label := out.Labels()
	var rows []explain.Row
	for _, g := range out.Groups {
		v := g.Brief.Verdict
		r := explain.Row{Group: label(g), Outcome: v.Short(), Bad: v.Bad(), Waits: g.Brief.Kubelet.Short()}
		if s := g.Brief.Size; s != nil && s.Limit.Bytes > 0 {
			r.Size = fmt.Sprintf("%d %%", s.Percent())
		}
		rows = append(rows, r)
	}
	explain.Table(w, rows, colored(w))
	fmt.Fprintln(w)
	bad := false
	for _, s := range verdicts(out) {
		if s.bad {
			bad = true
			fmt.Fprintf(w, "%s: %s\n", s.names(label), report.OneLine(s.text))
		}
	}
	late := slow(out, func(*plan.Group) bool { return true })
	if late != "" {
		fmt.Fprintln(w, late)
	}
	if bad || late != "" {
		fmt.Fprintln(w)
	}
}

// slow names the groups whose nodes may take longer than kops waits, "" when there are none.
func slow(out *plan.Output, of func(*plan.Group) bool) string {
	var names []string
	label := out.Labels()
	for _, g := range out.Groups {
		if g.Brief.Kubelet.Long() && of(g) {
			names = append(names, label(g))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: the kubelet may wait longer than %s, after which kops rolling-update cluster gives up, unless --validation-timeout says otherwise",
		report.OneLine(someGroups(names)), report.Duration(waits.KopsGivesUp))
}
