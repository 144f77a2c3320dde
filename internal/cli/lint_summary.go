package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// printOutcomes says what becomes of the machines of the groups, and which may come too late.
func printOutcomes(w io.Writer, out *plan.Output) {
	for _, s := range verdicts(out, func(*plan.Group) bool { return true }) {
		fmt.Fprintf(w, "kopshook: %s: %s\n", s.names(), report.OneLine(s.text))
	}
	for _, text := range late(out, func(*plan.Group) bool { return true }) {
		fmt.Fprintln(w, "kopshook: "+text)
	}
}

// summary counts findings, and what was looked at: nothing found in nothing is no good news.
func summary(findings []report.Finding, in *inputs, out *plan.Output) string {
	count := map[report.Severity]int{}
	for _, f := range findings {
		count[f.Severity]++
	}
	var found []string
	for _, s := range []report.Severity{report.Error, report.Warning} {
		if n := count[s]; n > 0 {
			found = append(found, report.Count(n, s.String()))
		}
	}
	if n := count[report.Info]; n > 0 {
		found = append(found, report.Thousands(n)+" info")
	}
	all := cmp.Or(strings.Join(found, ", "), "nothing found")
	if in.warned > 0 {
		made := "errors"
		if in.warned == 1 {
			made = "an error"
		}
		all += fmt.Sprintf(", besides %s above that --strict makes %s,", report.Count(in.warned, "warning"), made)
	}
	hooks := 0
	for _, d := range in.Specs {
		hooks += len(d.HookNames())
	}
	return fmt.Sprintf("%s in %s and %s", all, report.Count(len(out.Groups), "instance group"), report.Count(hooks, "hook"))
}
