package cli

import (
	"slices"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// planFlags are the options of all commands that plan.
func planFlags() []cli.Flag {
	return append([]cli.Flag{specFlag(), strictFlag(), baseFlag()}, sourceFlags()...)
}

func pruneFlag() cli.Flag {
	return &cli.BoolFlag{Name: "prune", Usage: "all specs are given: remove hooks that no spec has, without a warning"}
}

func baseFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "base", Usage: "size user data exactly: `[GROUP=]FILE` holds that of the group, NAME or " +
		"CLUSTER/NAME, as kops update cluster --target=terraform wrote it; may be repeated"}
}

// planned reads the command's files and merges them. The command wants specs and manifests.
func planned(c *cli.Context, o plan.Options, checks ...plan.Check) (*plan.Output, error) {
	in, err := readInputs(c)
	if err != nil {
		return nil, err
	}
	if err := in.needSpecs(c.Command.Name); err != nil {
		return nil, err
	}
	return in.planned(c, o, checks...)
}

// planned merges what was read. The command wants manifests.
func (in *inputs) planned(c *cli.Context, o plan.Options, checks ...plan.Check) (*plan.Output, error) {
	if err := in.needManifests(c.Command.Name); err != nil {
		return nil, err
	}
	said, err := in.mergeOptions(c, checks...)
	if err != nil {
		return nil, err
	}
	said.Write, said.Remove, said.NodeClasses, said.OneGroup = o.Write, o.Remove, o.NodeClasses, o.OneGroup
	return in.merge(c, said)
}

// shown is planned for commands that show what there is: user data that is too large is a warning.
func shown(c *cli.Context) (*plan.Output, error) {
	return planned(c, plan.Options{}, plan.Sizes(report.Warning), plan.Arrival, plan.Hopeless, plan.Names(false), plan.Removals)
}

// changed is planned for commands that are about what merging changes.
func changed(c *cli.Context, o plan.Options, tooLarge report.Severity, more ...plan.Check) (*plan.Output, error) {
	checks := append([]plan.Check{plan.Sizes(tooLarge), plan.Arrival, plan.Hopeless, plan.Twice, plan.Names(false), plan.Removals}, more...)
	if o.Remove {
		return removed(c, o, checks...)
	}
	return planned(c, o, checks...)
}

// removed is planned without specs, also those of KOPSHOOK_FILES. It refuses specs: who gives them expects that only their hooks go.
func removed(c *cli.Context, o plan.Options, checks ...plan.Check) (*plan.Output, error) {
	given := c.StringSlice("file")
	in := newInputs(c.Bool("strict"), c.App.ErrWriter)
	if len(given) == 0 {
		var err error
		if in, err = readNamed(c, nil, c.Args().Slice()); err != nil {
			return nil, err
		}
		for _, name := range in.SpecFiles { // one with manifests as well is there for these
			if !slices.ContainsFunc(in.Manifests, func(m *plan.Manifest) bool { return m.Name == name }) {
				given = append(given, name)
			}
		}
	}
	if len(given) > 0 && !in.Report.HasErrors() {
		return nil, report.Hint("leave it out; to remove some hooks only, delete them from their spec and merge with --prune",
			"--remove takes all hooks out, not those of %s alone", display(given[0]))
	}
	return in.planned(c, o, checks...)
}
