package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func fitCommand() *cli.Command {
	return &cli.Command{
		Name:      "fit",
		Usage:     "compress what must be compressed for user data to fit",
		UsageText: "kopshook fit [-f SPEC...] [-w] FILE... | -",
		Description: `Measures the user data of each instance group against what its cloud takes, and finds the smallest set of hooks to
compress so that it fits. Prints a line for each group; with -w, writes compress: true into those hooks, comments and
all else kept. Exit code 0: everything fits, 1: not yet, or not even so.

Examples:
   kopshook fit -f examples/gpu examples/mixed/cluster.yaml
   kopshook fit -f examples/gpu -w examples/mixed/cluster.yaml`,
		Flags: append(planFlags(),
			&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "write compress: true into the specs"},
		),
		Action: fit,
	}
}

func fit(c *cli.Context) error {
	in, groups, err := planned(c)
	if err != nil {
		return err
	}
	if c.Bool("write") {
		changes, err := in.compress(toCompress(groups))
		if err != nil {
			return err
		}
		if err := writeFiles(c.Context, changes); err != nil {
			return err
		}
	}
	all := true
	for _, g := range groups {
		if g.Size == nil {
			continue
		}
		line, fits := fitLine(g.Size, c.Bool("write"))
		fmt.Fprintf(c.App.Writer, "%s: %s\n", g.Name, line)
		all = all && fits
	}
	if !all {
		return differs
	}
	return nil
}

// fitLine says what a group's user data takes, and what was done or is to be done about it.
func fitLine(s *budget.Result, written bool) (line string, fits bool) {
	line = fmt.Sprintf("%d to %d bytes of %d", s.Low, s.High, s.Limit.Bytes)
	if s.Low == s.High {
		line = fmt.Sprintf("%d bytes of %d", s.High, s.Limit.Bytes)
	}
	m := s.Remedy
	if m == nil {
		return line, true
	}
	line += ", " + string(s.Verdict)
	if len(m.Compress) > 0 {
		verb := "compress"
		if written {
			verb = "compressed"
		}
		line += fmt.Sprintf("; %s %s", verb, strings.Join(m.Compress, ", "))
	}
	for _, f := range m.Move {
		line += fmt.Sprintf("; give %s of %s by url:", f.Path, f.Hook)
	}
	if !m.Suffices {
		return line + fmt.Sprintf("; even then %d bytes", m.High), false
	}
	return line + fmt.Sprintf(": then at most %d bytes", m.High), written && len(m.Move) == 0
}

// toCompress finds the hooks in the specs that the groups' remedies name.
func toCompress(groups []*plan.Group) map[*hookspec.Doc][]string {
	paths := map[*hookspec.Doc][]string{}
	for _, g := range groups {
		if g.Size == nil || g.Size.Remedy == nil {
			continue
		}
		for _, h := range g.Hooks {
			if slices.Contains(g.Size.Remedy.Compress, h.Name) && !slices.Contains(paths[h.Doc], h.Path) {
				paths[h.Doc] = append(paths[h.Doc], h.Path)
			}
		}
	}
	return paths
}

// compress returns the spec files with compress: true written into the hooks.
func (in *inputs) compress(paths map[*hookspec.Doc][]string) ([]change, error) {
	var changes []change
	for _, file := range in.specFiles {
		var docs []*hookspec.Doc
		needed := false
		for _, d := range in.specs {
			if d.File == file {
				docs = append(docs, d)
				needed = needed || len(paths[d]) > 0
			}
		}
		if !needed {
			continue
		}
		if file == "-" {
			return nil, report.Hint("give it as a file", "a spec on standard input cannot be written")
		}
		data, err := hookspec.SetCompress(in.sources[file], docs, paths)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change{name: file, data: data})
	}
	return changes, nil
}
