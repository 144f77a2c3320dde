package cli

import (
	"bytes"
	"slices"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func mergeCommand() *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "merge hooks into instance groups",
		UsageText: "kopshook merge [-f SPEC...] [-w] FILE... | -",
		Description: `Prints the manifests with the hooks' user data merged into spec.additionalUserData; with -w, writes them in place,
all or none. Nothing else in a manifest changes by a byte. Parts named kopshook-* are replaced, all others are kept:
merging twice is merging once, and merging specs without hooks takes them out again.

Examples:
   kopshook merge examples/gpu/hooks.yaml examples/mixed/cluster.yaml
   kopshook merge -f examples/gpu -w cluster.yaml
   kops get ig --name my.cluster -o yaml | kopshook merge -f hooks.yaml - | kops replace -f -`,
		Flags: append(planFlags(),
			&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "write the files in place instead of printing them"},
		),
		Action: merge,
	}
}

func merge(c *cli.Context) error {
	if c.Bool("write") && slices.Contains(c.Args().Slice(), "-") {
		return report.Hint("leave -w away to print the result", "standard input cannot be written in place")
	}
	in, groups, err := plannedChange(c)
	if err != nil {
		return err
	}
	merged, err := in.merged(groups)
	if err != nil {
		return err
	}
	if !c.Bool("write") {
		out, err := in.joined(merged)
		if err != nil {
			return err
		}
		_, err = c.App.Writer.Write(out)
		return err
	}
	var changes []change
	for _, m := range merged {
		if !bytes.Equal(m.data, in.sources[m.name]) {
			changes = append(changes, m)
		}
	}
	return in.write(c.Context, changes)
}

// merged sets the planned user data and returns each manifest's new bytes.
func (in *inputs) merged(groups []*plan.Group) ([]change, error) {
	for _, g := range groups {
		if g.Unserved == "" {
			g.SetUserData(g.PlannedUserData())
		}
	}
	var out []change
	for _, m := range in.manifests {
		data, err := m.Bytes()
		if err != nil {
			in.addManifestError(err)
			continue
		}
		out = append(out, change{name: m.Name, data: data})
	}
	return out, in.finish()
}

// joined is one stream of several manifests, in a form that kops reads: YAML documents split by lines of "---".
func (in *inputs) joined(merged []change) ([]byte, error) {
	if len(merged) == 1 {
		return merged[0].data, nil
	}
	var out []byte
	for _, m := range merged {
		if first := bytes.TrimLeft(m.data, " \t\r\n"); len(first) > 0 && (first[0] == '{' || first[0] == '[') {
			return nil, report.Hint("merge it by itself, or use -w", "%s: is JSON, which cannot be printed together with other files", display(m.name))
		}
		if len(out) > 0 {
			if !bytes.HasSuffix(out, []byte("\n")) {
				out = append(out, '\n')
			}
			if !bytes.HasPrefix(m.data, []byte("---\n")) {
				out = append(out, "---\n"...)
			}
		}
		out = append(out, m.data...)
	}
	return out, nil
}

// planFlags are the options of all commands that plan.
func planFlags() []cli.Flag {
	return append([]cli.Flag{specFlag(), strictFlag(), baseFlag()}, sourceFlags()...)
}

// planned reads the command's files and plans.
func planned(c *cli.Context) (*inputs, []*plan.Group, error) {
	in, err := readInputs(c)
	if err != nil {
		return nil, nil, err
	}
	if err := in.needSpecs(c.Command.Name); err != nil {
		return nil, nil, err
	}
	if err := in.needManifests(c.Command.Name); err != nil {
		return nil, nil, err
	}
	groups, err := in.plan(c.Context, newLoader(c))
	if err != nil {
		return nil, nil, err
	}
	in.checkNames(c.Command.Name == "list")
	return in, groups, in.finish()
}

// plannedChange is planned for commands that are about what merging changes.
func plannedChange(c *cli.Context) (*inputs, []*plan.Group, error) {
	in, groups, err := planned(c)
	if err != nil {
		return nil, nil, err
	}
	in.warnTakenOut(groups)
	return in, groups, in.finish()
}

// warnTakenOut tells of groups that lose all their hooks: most likely a spec was not given.
func (in *inputs) warnTakenOut(groups []*plan.Group) {
	remedy := "give all specs: with -f for each, as a folder, or in KOPSHOOK_FILES"
	if in.strict {
		remedy += "; if the hooks are gone for good, leave --strict away"
	}
	for _, g := range groups {
		if old := g.Ours(); g.Unserved == "" && len(g.Hooks) == 0 && len(old) > 0 {
			in.report.Warnf(report.Position{File: g.Manifest.Name, Line: g.Line}, "spec.additionalUserData", remedy,
				"instance group %q: no hooks for it any more, %s are taken out", g.Name, count(len(old), "part"))
		}
	}
}
