package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func diffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "show what merge would change; exit 1 if anything would",
		UsageText: "kopshook diff [-f SPEC...] FILE... | -",
		Description: `Begins with what it means: how many nodes a rolling update will replace, and whether they will join. Then, of each hook that comes (+),
changes (~) or goes (-): which fields, with the old and the new value, and in which instance groups; below that the lines that
differ, of scripts and files as they are on the node, however they are packed. What is the same in several groups is said once.
Last comes what all hooks share, such as the gate, in one line.

Hooks that lie in a bucket have a hash alone in the manifest. --pushed reads what the manifest names there, and compares their fields
and files, too.

--raw shows the parts of the user data instead, as unified diffs. Exit codes as of check.

Examples:
   kopshook diff examples/gpu/hooks.yaml examples/mixed/cluster.yaml
   kopshook diff --raw examples/gpu/hooks.yaml examples/mixed/cluster.yaml`,
		Flags: append(planFlags(), pruneFlag(), groupFlag(), clusterFlag(),
			&cli.BoolFlag{Name: "pushed", Usage: "look into buckets too: what the hooks there were"},
			&cli.BoolFlag{Name: "raw", Usage: "show the parts of the user data, as unified diffs"}),
		Action: func(c *cli.Context) error {
			out, err := changed(c, plan.Options{}, report.Warning, plan.Briefs)
			if err != nil {
				return err
			}
			groups := out.Groups
			if c.Bool("pushed") {
				if err := openPushed(c, groups); err != nil {
					return err
				}
			}
			fmt.Fprint(c.App.Writer, onScreen(c.App.Writer, "", plan.Forecast(groups)))
			printVerdicts(c.App.Writer, out)
			any := false
			if !c.Bool("raw") {
				any = printChanges(c.App.Writer, groups, true)
			} else if any, err = printDiffs(c.App.Writer, groups); err != nil {
				return err
			}
			if any || out.TooLarge() {
				return differs
			}
			return nil
		},
	}
}

// printDiffs prints the parts that change, as bytes: what is the same for several groups once. It says whether anything
// changes.
func printDiffs(w io.Writer, groups []*plan.Group) (any bool, err error) {
	var t tally
	for _, g := range groups {
		if !g.Changes() {
			continue
		}
		any = true
		texts, err := diffsOf(g, g.Label())
		if err != nil {
			return any, err
		}
		for _, text := range texts {
			// the gate holds the names of the group and its cluster
			t.add(strings.NewReplacer(g.Label(), "@", g.Name, "@", g.Cluster, "@").Replace(text), text, g)
		}
	}
	for _, s := range t.all {
		if n := len(s.groups); n > 1 {
			fmt.Fprintf(w, "the same for %d groups: %s\n", n, s.names())
		}
		if isTerminal(w) {
			s.text = report.Visible(s.text)
		}
		if colored(w) {
			s.text = colorDiff(s.text)
		}
		if _, err := io.WriteString(w, s.text); err != nil {
			return any, err
		}
	}
	return any, nil
}

// diffsOf returns the unified diff of each part of the group that changes.
func diffsOf(g *plan.Group, label string) ([]string, error) {
	changes := g.PartChanges()
	if len(changes) == 0 {
		return []string{report.OneLine(label) + ": the same parts in another order\n"}, nil
	}
	var texts []string
	for _, p := range changes {
		d := difflib.UnifiedDiff{
			A: diffLines(p.Old), B: diffLines(p.New),
			FromFile: "/dev/null", ToFile: "/dev/null", Context: 3,
		}
		if p.Old != nil {
			d.FromFile = report.OneLine("a/" + label + "/" + p.Name)
		}
		if p.New != nil {
			d.ToFile = report.OneLine("b/" + label + "/" + p.Name)
		}
		text, err := difflib.GetUnifiedDiffString(d)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// diffLines is the part as people read it, in lines that end with a newline each.
func diffLines(p *generator.UserData) []string {
	if p == nil {
		return nil
	}
	lines := strings.SplitAfter(generator.Plain(*p), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		lines[last] += "\n\\ No newline at end of file\n"
	}
	return lines
}

func colorDiff(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code := ""
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			code = "1"
		case strings.HasPrefix(line, "@@"):
			code = "36"
		case strings.HasPrefix(line, "+"):
			code = "32"
		case strings.HasPrefix(line, "-"):
			code = "31"
		}
		if code == "" {
			b.WriteString(line)
			continue
		}
		fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m\n", code, strings.TrimSuffix(line, "\n"))
	}
	return b.String()
}
