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
	"kopshook.dev/kopshook/internal/strict"
)

func fitCommand() *cli.Command {
	return &cli.Command{
		Name:      "fit",
		Usage:     "make user data fit what the cloud takes",
		UsageText: "kopshook fit [-f SPEC...] [-w] FILE... | -",
		Description: `Measures the user data of each instance group against what its cloud takes, and finds the least that makes it fit:
the smallest set of hooks to compress; else all hooks in one archive; else files for the node to download; else the archive in
a bucket. Prints a line for each group; with -w, writes compress: true into those hooks, or archive: true into the specs, and keeps comments and
everything else. It writes nothing for a group that would not fit with that alone. Exit code 0: everything fits, 1: something
does not fit.

Examples:
   kopshook fit -f examples/gpu examples/mixed/cluster.yaml
   kopshook fit -f examples/gpu -w examples/mixed/cluster.yaml`,
		Flags: append(planFlags(), pruneFlag(), groupFlag(), clusterFlag(),
			&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "write compress: true or archive: true into the specs"},
		),
		Action: fit,
	}
}

func fit(c *cli.Context) error {
	out, err := shown(c)
	if err != nil {
		return err
	}
	if c.Bool("write") {
		changes, err := pack(out)
		if err != nil {
			return err
		}
		if err := writeFiles(c.Context, out.Input.Sources, changes); err != nil {
			return err
		}
	}
	all := true
	for _, g := range out.Groups {
		line, fits, err := groupLine(g, c.Bool("write"))
		if err != nil {
			return err
		}
		if line == "" {
			continue
		}
		fmt.Fprintf(c.App.Writer, "%s: %s\n", report.OneLine(g.Label()), report.OneLine(line))
		all = all && fits
	}
	if !all {
		return differs
	}
	return nil
}

// groupLine is fitLine of a group. One without hooks has a line where its own user data does not fit.
func groupLine(g *plan.Group, written bool) (line string, fits bool, err error) {
	if g.Size != nil {
		line, fits = fitLine(g.Size, written)
		return line, fits, nil
	}
	if len(g.Object.Spec.AdditionalUserData) == 0 {
		return "", true, nil
	}
	size, err := g.Measure()
	if err != nil || size.Verdict != budget.TooLarge {
		return "", true, err
	}
	return fmt.Sprintf("%s, %s without hooks; shorten its user data, or make hooks of it with kopshook adopt", size.Takes(), size.Verdict), false, nil
}

// fitLine says what a group's user data takes, and what was done or is to be done about it.
func fitLine(s *budget.Result, written bool) (line string, fits bool) {
	line = fmt.Sprintf("%s to %s bytes of %s", report.Thousands(s.Low), report.Thousands(s.High), report.Thousands(s.Limit.Bytes))
	if s.Low == s.High {
		line = fmt.Sprintf("%s bytes of %s", report.Thousands(s.High), report.Thousands(s.Limit.Bytes))
	}
	m := s.Remedy
	if m == nil {
		return line, true
	}
	line += ", " + string(s.Verdict)
	if written && !m.Writable() {
		line += "; nothing is written for it"
		written = false
	}
	if len(m.Compress) > 0 {
		verb := "compress"
		if written {
			verb = "compressed"
		}
		line += fmt.Sprintf("; %s %s", verb, strings.Join(m.Compress, ", "))
	}
	if m.Archive {
		line += "; " + map[bool]string{false: "archive the hooks", true: "archived the hooks"}[written]
	}
	if m.Bucket {
		line += "; put the archive into a bucket with archiveURL"
	}
	for _, f := range m.Move {
		line += fmt.Sprintf("; give %s of %s by url", f.Path, f.Hook)
	}
	if m.Suffices {
		return line + fmt.Sprintf(": then at most %s bytes", report.Thousands(m.High)), written
	}
	if m.High < s.High {
		line += fmt.Sprintf("; even then %s bytes", report.Thousands(m.High))
	}
	return line + "; make scripts shorter, or move their bulk into files with url:", false
}

// pack returns the spec files with what the groups' remedies say written into them.
func pack(out *plan.Output) ([]change, error) {
	compress := map[*hookspec.Doc][]string{}
	var archive []*hookspec.Doc
	touched := map[string]bool{}
	for _, g := range out.Groups {
		if g.Size == nil || g.Size.Remedy == nil || !g.Size.Remedy.Writable() {
			continue
		}
		for _, h := range g.Hooks {
			if g.Size.Remedy.Archive && !slices.Contains(archive, h.Doc) {
				archive = append(archive, h.Doc)
				touched[h.Doc.File] = true
			}
			path := strict.Parent(h.FieldPath("compress")) // an override may have the last word
			if slices.Contains(g.Size.Remedy.Compress, h.Name) && !slices.Contains(compress[h.Doc], path) {
				compress[h.Doc] = append(compress[h.Doc], path)
				touched[h.Doc.File] = true
			}
		}
	}
	var changes []change
	for _, file := range out.Input.SpecFiles {
		if !touched[file] {
			continue
		}
		if file == "-" {
			return nil, report.Hint("give it as a file", "a spec on standard input cannot be written")
		}
		docs := slices.DeleteFunc(slices.Clone(out.Input.Specs), func(d *hookspec.Doc) bool { return d.File != file })
		data, err := hookspec.Pack(out.Input.Sources[file], docs, compress, archive)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change{name: file, data: data})
	}
	return changes, nil
}
