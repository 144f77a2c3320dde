package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// printForecast prints what merging means as Markdown, for the comment on a pull request: how many nodes kops will
// replace, in which instance groups, and which hooks cause it.
func printForecast(w io.Writer, out *plan.Output) error {
	groups := out.Groups
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n", plan.Forecast(groups))
	for _, s := range verdicts(out) {
		if s.bad {
			fmt.Fprintf(&b, "\n> [!CAUTION]\n> %s: **%s**\n", report.Markdown(someGroups(s.groups)), report.Markdown(s.text))
		}
	}
	if !slices.ContainsFunc(groups, (*plan.Group).Changes) {
		_, err := io.WriteString(w, b.String())
		return err
	}
	if s := slow(out, (*plan.Group).Changes); s != "" {
		fmt.Fprintf(&b, "\n> [!NOTE]\n> %s\n", report.Markdown(s))
	}
	b.WriteString("\n| cluster | instance group | role | nodes | outcome | kubelet waits at most | because of |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, g := range groups {
		if !g.Changes() {
			continue
		}
		low, high := g.Machines()
		nodes := fmt.Sprintf("%d to %d", low, high)
		if low == high {
			nodes = fmt.Sprint(low)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n",
			cell(cmp.Or(g.Cluster, g.Manifest.Name)), cell(g.Name), cell(g.Role), nodes, report.Markdown(g.Brief.Verdict.Short()), report.Markdown(g.Brief.Kubelet.Short()), strings.Join(causes(g), ", "))
	}
	b.WriteString("\nNodes are replaced by `kops update cluster --yes` and `kops rolling-update cluster --yes`, not by this change alone.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// causes lists the hooks whose parts come, go or change, as Markdown. The parts that all hooks share follow from them;
// they count only when nothing else changes.
func causes(g *plan.Group) []string {
	var names []string
	was, is := map[string]bool{}, map[string]bool{}
	changes := g.PartChanges()
	for _, p := range changes {
		if p.Name == gatePart {
			names = changedRows(p, was, is)
			continue
		}
		hook := hookOfPart(p.Name)
		if hook == "" {
			continue
		}
		if !slices.Contains(names, hook) {
			names = append(names, hook)
		}
		// a hook whose weight changes has another part
		was[hook] = was[hook] || p.Old != nil
		is[hook] = is[hook] || p.New != nil
	}
	var texts []string
	for _, name := range names {
		text := cell(name)
		switch {
		case !was[name]:
			text += " (new)"
		case !is[name]:
			text += " (gone)"
		}
		texts = append(texts, text)
	}
	switch {
	case len(texts) > 0:
		return texts
	case len(changes) > 0:
		return []string{"what all hooks share"}
	}
	return []string{"the order of the parts"}
}

const gatePart = instancegroups.Prefix + "000-gate.sh"

// changedRows returns the hooks whose contents in a bucket come, go or change, and notes which were there and are. In the
// user data that is one checksum; the gate has one of each hook.
func changedRows(gate plan.PartChange, was, is map[string]bool) (names []string) {
	hashes := func(p *generator.UserData, there map[string]bool) map[string]string {
		found := map[string]string{}
		if p == nil {
			return found
		}
		for _, r := range generator.Rows(p.Content) {
			found[r.Name()] = r.DropIn + r.Hash
			there[r.Name()] = true
			names = append(names, r.Name())
		}
		return found
	}
	old, new := hashes(gate.Old, was), hashes(gate.New, is)
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return old[name] == new[name] })
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
