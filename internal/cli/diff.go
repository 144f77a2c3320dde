package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/plan"
)

func diffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "show what merging would change, exit 1 when anything",
		UsageText: "kopshook diff [-f SPEC...] FILE... | -",
		Description: `Prints a unified diff of the user data of each instance group, part by part; contents that are compressed or in
base64 are shown as plain text. Begins with what it means: how many nodes kops will replace. Exit codes as of check.

Example:
   kopshook diff examples/gpu/hooks.yaml examples/mixed/cluster.yaml`,
		Flags: planFlags(),
		Action: func(c *cli.Context) error {
			_, groups, err := plannedChange(c)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, plan.Forecast(groups))
			any := false
			for _, g := range groups {
				if g.Changes() {
					any = true
					if err := printDiff(c.App.Writer, g, colored(c.App.Writer)); err != nil {
						return err
					}
				}
			}
			if any {
				return differs
			}
			return nil
		},
	}
}

// partChange is a part before and after; one of the two is empty when it comes or goes.
type partChange struct {
	name     string
	old, new *generator.UserData
}

func (p partChange) verb() string {
	switch {
	case p.old == nil:
		return "adds"
	case p.new == nil:
		return "removes"
	}
	return "changes"
}

// changedParts pairs the parts of the manifest with the planned ones by name, in the new order, those that go last.
func changedParts(g *plan.Group) []partChange {
	old := map[string]*generator.UserData{}
	for _, p := range g.Ours() {
		u := generator.UserData(p)
		old[p.Name] = &u
	}
	var changes []partChange
	kept := map[string]bool{}
	for i := range g.Parts {
		p := &g.Parts[i]
		kept[p.Name] = true
		if o := old[p.Name]; o == nil || *o != *p {
			changes = append(changes, partChange{p.Name, o, p})
		}
	}
	for _, p := range g.Ours() {
		if !kept[p.Name] {
			changes = append(changes, partChange{p.Name, old[p.Name], nil})
		}
	}
	return changes
}

func printDiff(w io.Writer, g *plan.Group, color bool) error {
	changes := changedParts(g)
	if len(changes) == 0 {
		_, err := fmt.Fprintf(w, "%s: the same parts in another order\n", g.Name)
		return err
	}
	for _, p := range changes {
		d := difflib.UnifiedDiff{
			A: diffLines(p.old), B: diffLines(p.new),
			FromFile: "/dev/null", ToFile: "/dev/null", Context: 3,
		}
		if p.old != nil {
			d.FromFile = "a/" + g.Name + "/" + p.name
		}
		if p.new != nil {
			d.ToFile = "b/" + g.Name + "/" + p.name
		}
		text, err := difflib.GetUnifiedDiffString(d)
		if err != nil {
			return err
		}
		if color {
			text = colorDiff(text)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
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
