package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "exit 1 when manifests are not what the specs say",
		UsageText: "kopshook check [-f SPEC...] FILE... | -",
		Description: `Compares the decoded user data of each instance group with what the specs say; the style of the YAML does not matter.
Begins with what a difference means: how many nodes a rolling update will replace, and whether they will join. Exit code 0: nothing to do, 1: a difference,
or user data that is too large, 2: a mistake in the input.

--forecast prints it as Markdown, for a comment on a pull request: instance groups, nodes, and the hooks that cause it.
Give it the manifests as they are now, from the main branch or from kops, and the specs of the pull request.

--user-data looks at files that kops wrote instead, as with --target=terraform: whether they hold the parts of the
manifest and of the specs, byte for byte.

--tree DIR compares a folder that render -o tree has written, and that is committed beside the manifests: reviewers see there
what compressed parts, archives and buckets hold. With --group or --cluster it looks at the files of these instance groups alone.

--pushed reads what the hooks have in buckets, and compares its SHA-256: what is not there keeps nodes from joining.

Examples:
   kopshook check golden/gpu/cluster.yaml -f examples/gpu
   kopshook check --forecast examples/mixed/cluster.yaml -f examples/gpu
   kopshook render -o mime -g gpu-a cluster.yaml -f hooks.yaml | kopshook check --user-data - -g gpu-a cluster.yaml -f hooks.yaml
   kops get ig --name my.cluster -o yaml | kopshook check -f hooks.yaml -`,
		Flags: append(planFlags(), pruneFlag(),
			&cli.StringFlag{Name: "tree", Usage: "look into `DIR` too: whether it is what render -o tree --dir writes"},
			&cli.BoolFlag{Name: "pushed", Usage: "look into buckets too: whether what nodes will read is there"},
			&cli.BoolFlag{Name: "forecast", Usage: "print what a difference means as Markdown"},
			&cli.StringSliceFlag{Name: "user-data", Usage: "look at `FILE`, user data that kops wrote; may be repeated"},
			groupFlag(), clusterFlag(),
		),
		Action: func(c *cli.Context) error {
			out, err := changed(c, plan.Options{}, report.Warning, plan.Briefs)
			if err != nil {
				return err
			}
			fine := !out.TooLarge()
			if c.Bool("pushed") {
				if fine, err = checkPushed(c, out.Groups); err != nil {
					return err
				}
				if err := openPushed(c, out.Groups); err != nil {
					return err
				}
			}
			if c.IsSet("tree") {
				same, err := checkTree(c, c.String("tree"), out)
				if err != nil {
					return err
				}
				fine = fine && same
			}
			if err := checkGroups(c, out); err != nil || fine {
				return err
			}
			return differs
		},
	}
}

func checkGroups(c *cli.Context, out *plan.Output) error {
	groups := out.Groups
	if c.IsSet("user-data") {
		fine, err := checkUserData(c, groups)
		if err == nil && !fine {
			err = differs
		}
		return err
	}
	if c.Bool("forecast") {
		if err := printForecast(c.App.Writer, out); err != nil {
			return err
		}
		if slices.ContainsFunc(groups, (*plan.Group).Changes) {
			return differs
		}
		return nil
	}
	fmt.Fprint(c.App.Writer, onScreen(c.App.Writer, "", plan.Forecast(groups)))
	printVerdicts(c.App.Writer, out)
	if printChanges(c.App.Writer, groups, false) {
		printStale(c.App.Writer, groups)
		return differs
	}
	return nil
}

// printStale counts the instance groups that merging changes, by file.
func printStale(w io.Writer, groups []*plan.Group) {
	var files []string
	stale := map[string]int{}
	for _, g := range groups {
		if !g.Changes() {
			continue
		}
		if stale[g.Manifest.Name]++; stale[g.Manifest.Name] == 1 {
			files = append(files, g.Manifest.Name)
		}
	}
	for _, name := range files {
		fmt.Fprintf(w, "  not merged yet: %s (%s)\n", report.OneLine(display(name)), report.Count(stale[name], "instance group"))
	}
}
