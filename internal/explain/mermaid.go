package explain

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"kopshook.dev/kopshook/internal/report"
)

// Mermaid prints a flowchart for each instance group, for Markdown: reviewers see it in the pull request. With several
// groups each has a heading.
func Mermaid(w io.Writer, all []*Timeline) error {
	var b strings.Builder
	folded := Fold(all)
	if len(all) > 1 {
		overview(&b, all, folded)
	}
	for i, t := range folded {
		if i > 0 {
			b.WriteString("\n")
		}
		if len(all) > 1 {
			fmt.Fprintf(&b, "### %s\n\n", report.Markdown(t.title()))
		}
		if len(t.Same) > 1 {
			fmt.Fprintf(&b, "The same for %d groups: %s\n\n", len(t.Same), report.Markdown(strings.Join(t.Same, ", ")))
		}
		summary(&b, t)
		b.WriteString("```mermaid\n")
		flowchart(&b, t)
		b.WriteString("```\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// overview is a table of the groups, and what is wrong.
func overview(b *strings.Builder, all, folded []*Timeline) {
	b.WriteString("| instance group | outcome | kubelet waits at most | size | lost |\n| --- | --- | --- | --- | --- |\n")
	for _, t := range all {
		r := t.Row()
		for _, c := range r.cells() {
			fmt.Fprintf(b, "| %s ", report.Markdown(c))
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
	told := false
	for _, t := range folded {
		if why := t.Row().Why; why != "" {
			fmt.Fprintf(b, "- %s: %s\n", report.Markdown(t.title()), report.Markdown(why))
			told = true
		}
	}
	if told {
		b.WriteString("\n")
	}
}

// summary is what stands above the picture: what becomes of the machines, and what is lost and why.
func summary(b *strings.Builder, t *Timeline) {
	switch s := report.Markdown(t.headline()); {
	case t.Verdict.Bad():
		fmt.Fprintf(b, "> [!CAUTION]\n> **%s**\n\n", s)
	case t.late():
		fmt.Fprintf(b, "> [!WARNING]\n> **%s**\n\n", s)
	case s != "":
		fmt.Fprintf(b, "**%s**\n\n", s)
	}
	var rows [][2]string
	if len(t.Waits) > 0 {
		rows = append(rows, [2]string{"time", t.waitsFor()})
	}
	if s := t.Size; s != nil && s.Limit.Bytes > 0 {
		rows = append(rows, [2]string{"size", fmt.Sprintf("%s, %d %%", s.Takes(), s.Percent())})
	}
	for i, r := range rows {
		fmt.Fprintf(b, "| %s | %s |\n", r[0], report.Markdown(r[1]))
		if i == 0 {
			b.WriteString("| --- | --- |\n")
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n")
	}
	if len(t.Lost) == 0 {
		return
	}
	b.WriteString("Lost or changed on the way to the node:\n\n")
	for _, l := range t.Lost {
		place := ""
		if l.Place != "" {
			place = " (" + report.Markdown(l.Place) + ")"
		}
		fmt.Fprintf(b, "- %s%s: %s\n", report.Markdown(l.What), place, report.Markdown(l.Why))
	}
	b.WriteString("\n")
}

// flowchart draws the stages as boxes in boxes, and an arrow wherever something waits.
func flowchart(b *strings.Builder, t *Timeline) {
	b.WriteString("flowchart TB\n")
	first, last := map[string]string{}, map[string]string{}
	nodeup, end := "", ""
	var beside, never []string
	n := 0
	for _, s := range t.Stages {
		fmt.Fprintf(b, "  subgraph %s[%q]\n", strings.ReplaceAll(s.ID, "-", ""), mermaidText(s.Title))
		previous := ""
		for _, st := range s.Steps {
			n++
			id := fmt.Sprintf("n%d", n)
			fmt.Fprintf(b, "    %s[\"%s\"]:::%s\n", id, mermaidStep(st), mermaidClass(st))
			switch {
			case st.Beside:
				beside = append(beside, id)
				continue
			case st.Never:
				never = append(never, id)
				continue
			case previous != "":
				fmt.Fprintf(b, "    %s --> %s\n", previous, id)
			default:
				first[s.ID] = id
			}
			previous, last[s.ID] = id, id
			if st.Ends {
				end = id
			}
			if st.Name == "nodeup.sh" && st.Owner == Kops {
				nodeup = id
			}
		}
		b.WriteString("  end\n")
	}
	arrow := func(from, to, style string) {
		if from != "" && to != "" {
			fmt.Fprintf(b, "  %s %s %s\n", from, style, to)
		}
	}
	before := ""
	for _, id := range []string{StageInit, StageConfig, StageFinal} {
		arrow(before, first[id], "-->")
		if last[id] != "" {
			before = last[id]
		}
	}
	for _, id := range beside {
		arrow(nodeup, id, "-. beside nodeup .->")
	}
	for i, id := range never { // nothing leads there
		if i == 0 {
			arrow(cmp.Or(end, last[StageNodeup], before), id, "-. never .-x")
		} else {
			arrow(never[i-1], id, "-.-")
		}
	}
	if nodeup != "" { // what never runs has no arrow of these
		gate := nodeup
		if last[StagePreNodeup] != "" {
			arrow(nodeup, first[StagePreNodeup], "-->")
			gate = last[StagePreNodeup]
			arrow(gate, first[StagePreKubelet], "-->")
		} else {
			arrow(nodeup, first[StagePreKubelet], "-->")
		}
		arrow(gate, first[StageNodeup], "-->")
		arrow(last[StageNodeup], first[StageKubelet], "-->")
		arrow(last[StagePreKubelet], first[StageKubelet], "-->")
		arrow(last[StageNodeup], first[StagePostNodeup], "-->")
		arrow(last[StageKubelet], first[StagePostKubelet], "-->")
		arrow(last[StageKubelet], first[StageShutdown], "-. at shutdown .->")
	}
	b.WriteString("  classDef yours stroke:#b7791f,stroke-width:2px\n")
	b.WriteString("  classDef kopshook stroke:#0f8a7e,stroke-width:2px\n")
	b.WriteString("  classDef kops stroke:#4a6fd4,stroke-width:2px\n")
}

func mermaidStep(s Step) string {
	name := mermaidText(report.Middle(s.Name, 40))
	when := "first boot"
	if s.EveryBoot {
		when = "every boot"
	}
	if s.Never {
		when = "never"
	}
	if small := s.detail(); small != "" {
		when = mermaidText(report.Middle(small, 40)) + ", " + when
	}
	also := ""
	if s.Also != "" {
		also = "<br/><small>" + mermaidText(report.Middle(s.Also, 40)) + "</small>"
	}
	return fmt.Sprintf("%s<br/><small>%s</small>%s", name, when, also)
}

func mermaidClass(s Step) string { return string(s.Owner) }

// mermaidText escapes what mermaid or HTML would take for something else.
func mermaidText(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case strings.ContainsRune("\"<>&#;`|[]{}()\\", c):
			fmt.Fprintf(&b, "#%d;", c)
		case c < 0x20:
			b.WriteByte(' ')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
