package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// printForecast prints what merging means as Markdown, for the comment on a pull request: how many nodes kops will
// replace, in which instance groups, and which hooks change.
func printForecast(w io.Writer, out *plan.Output) error {
	groups := out.Groups
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n", plan.Forecast(groups))
	for _, s := range verdicts(out, (*plan.Group).Changes) {
		if s.bad {
			fmt.Fprintf(&b, "\n> [!CAUTION]\n> %s: **%s**\n", report.Markdown(s.names()), report.Markdown(s.text))
		}
	}
	if !slices.ContainsFunc(groups, (*plan.Group).Changes) {
		_, err := io.WriteString(w, b.String())
		return err
	}
	for _, s := range late(out, (*plan.Group).Changes) {
		fmt.Fprintf(&b, "\n> [!WARNING]\n> %s\n", report.Markdown(s))
	}
	b.WriteString("\n")
	hooks, shared := tallyChanges(groups, markdownChange)
	if len(hooks) == 0 { // else it follows from them
		hooks = shared
	}
	for _, s := range hooks {
		fmt.Fprintf(&b, "- %s (%s)\n", strings.TrimPrefix(s.text, "~ "), report.Markdown(s.among()))
	}
	b.WriteString("\n| cluster | instance group | role | nodes | outcome | kubelet waits at most | hooks that change |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, g := range groups {
		if !g.Changes() {
			continue
		}
		low, high := g.Replaced()
		nodes := fmt.Sprintf("%d to %d", low, high)
		if low == high {
			nodes = fmt.Sprint(low)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n",
			cell(cmp.Or(g.Cluster, g.Manifest.Name)), cell(g.Name), cell(g.Role), nodes, report.Markdown(outcome(g)), report.Markdown(g.Brief.Kubelet.Short()), strings.Join(changing(g), ", "))
	}
	b.WriteString("\nNodes are replaced by `kops update cluster --yes` and `kops rolling-update cluster --yes`, not by this change alone.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownChange is "`a`: timeout 2m -> 3m", "`a` (new)", "`a` (gone)".
func markdownChange(c plan.HookChange) string {
	text := cell(c.Hook) + map[string]string{"adds": " is new", "removes": " is removed"}[c.Verb]
	for i, f := range c.Fields {
		text += map[bool]string{true: ": ", false: ", "}[i == 0] + report.Markdown(f.String())
	}
	return text
}

// changing lists the hooks that come, go or change, as Markdown. The parts that all hooks share follow from them; they count
// only when no hook changes.
func changing(g *plan.Group) []string {
	var texts []string
	for _, c := range g.HookChanges() {
		texts = append(texts, cell(c.Hook)+map[string]string{"adds": " (new)", "removes": " (gone)"}[c.Verb])
	}
	switch {
	case len(texts) > 0:
		return texts
	case len(g.PartChanges()) > 0:
		return []string{"what all hooks share"}
	}
	return []string{"the order of the parts"}
}

// hookOfPart returns the hook that a part is made of, "" for those that all hooks share.
func hookOfPart(part string) string {
	_, hook, _ := generator.HookOfPart(part)
	return hook
}

// cell quotes text for a cell of a Markdown table: names come from manifests that anybody may have written.
func cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == '`' || r == '|' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
