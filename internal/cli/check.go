package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/plan"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "exit 1 when manifests are not what the specs say",
		UsageText: "kopshook check [-f SPEC...] FILE... | -",
		Description: `Compares the decoded user data of each instance group with what the specs say; the manifest's style does not count.
Begins with what a difference means: how many nodes kops will replace. Exit code 0: nothing to do, 1: a difference,
2: a mistake in the input.

Examples:
   kopshook check golden/gpu/cluster.yaml -f examples/gpu
   kops get ig --name my.cluster -o yaml | kopshook check -f hooks.yaml -`,
		Flags: planFlags(),
		Action: func(c *cli.Context) error {
			_, groups, err := planned(c)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, plan.Forecast(groups))
			if printChanges(c, groups) {
				return differs
			}
			return nil
		},
	}
}

// printChanges prints a line for each instance group that changes, with the parts that do.
func printChanges(c *cli.Context, groups []*plan.Group) bool {
	any := false
	for _, g := range groups {
		if !g.Changes() {
			continue
		}
		any = true
		fmt.Fprintf(c.App.Writer, "  %s (%s):\n", g.Name, g.Manifest.Name)
		for _, p := range changedParts(g) {
			fmt.Fprintf(c.App.Writer, "    %s %s\n", p.verb(), p.name)
		}
	}
	return any
}
