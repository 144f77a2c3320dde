package cli

import (
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
	if !o.Remove {
		if err := in.needSpecs(c.Command.Name); err != nil {
			return nil, err
		}
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
	said.Write, said.Remove, said.NodeClasses = o.Write, o.Remove, o.NodeClasses
	return in.merge(c, said)
}

// shown is planned for commands that show what there is: user data that is too large is a warning.
func shown(c *cli.Context) (*plan.Output, error) {
	return planned(c, plan.Options{}, plan.Sizes(report.Warning), plan.Arrival, plan.Hopeless, plan.Names(false), plan.Removals)
}

// changed is planned for commands that are about what merging changes.
func changed(c *cli.Context, o plan.Options, tooLarge report.Severity, more ...plan.Check) (*plan.Output, error) {
	return planned(c, o, append([]plan.Check{plan.Sizes(tooLarge), plan.Arrival, plan.Hopeless, plan.Twice, plan.Names(false), plan.Removals}, more...)...)
}
