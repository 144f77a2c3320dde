package cli

import (
	"slices"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/explain"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/verdict"
	"kopshook.dev/kopshook/internal/waits"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "show what a node does from cloud-init's first stage to the kubelet, and what is lost",
		UsageText: "kopshook explain [-f SPEC...] [-g GROUP] [-o text|json|mermaid|svg|html] FILE... | -",
		Description: `Shows the timeline of a node of each instance group: hooks, parts of your own, and what kops installs, each at its
place; what waits for what; what happens when something fails; what cloud-init loses; and how large the user data is.
With hook specs it shows what merge would make of them, without them what the manifests hold now.

Each form begins with a verdict: the machines join when their hooks succeed; they join and lose N things; the user data is
too large; or they never join, and why. Exit code 0: all join, 1: some do not or lose something, 2: a mistake in the input.

Forms:
   text     for a terminal, as wide as it is; in a pipe no name is cut
   json     effective cloud-config, what runs in which order, what is lost, the size: other programs build on it
   mermaid  a flowchart that GitHub and GitLab show in a pull request
   svg      the timeline of one instance group as a picture
   html     all of it on one page

Examples:
   kops get ig --name my.cluster -o yaml | kopshook explain -
   kopshook explain -g nodes examples/mixed/cluster.yaml -f examples/root-ca
   kopshook explain -g gpu-a -o svg examples/mixed/cluster.yaml -f examples/gpu > gpu-a.svg
   kopshook render -o mime -g gpu-a examples/gpu/hooks.yaml examples/mixed/cluster.yaml | kopshook explain --user-data -`,
		Flags: append(planFlags(), pruneFlag(),
			formatFlag("text", "json", "mermaid", "svg", "html"),
			groupFlag(), clusterFlag(),
			&cli.StringFlag{Name: "user-data", Usage: "explain the user data in `FILE`, as a machine gets it, instead of manifests"},
			&cli.StringSliceFlag{Name: "times", Usage: "show how long hooks took: `FILE` is what kopshook try -o json printed, or a node's status file; may be repeated"},
			cloudInitFlag(),
			imageConfigFlag(),
		),
		Action: explainAction,
	}
}

func explainAction(c *cli.Context) error {
	opts, err := modelOptions(c)
	if err != nil {
		return err
	}
	var all []explain.Input
	if c.IsSet("user-data") {
		all, err = explainUserData(c, opts)
	} else {
		all, err = explainGroups(c, opts)
	}
	if err != nil {
		return err
	}
	if err := addTimes(c, all); err != nil {
		return err
	}
	if err := printExplained(c, all); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(e explain.Input) bool { return e.Verdict.Bad() }) {
		return differs
	}
	return nil
}

// explainUserData explains a message.
func explainUserData(c *cli.Context, opts cloudinit.Options) ([]explain.Input, error) {
	if c.Args().Len() > 0 || c.IsSet("file") {
		return nil, report.Hint("give one of them", "--user-data goes neither with manifests nor with hook specs")
	}
	name := c.String("user-data")
	data, err := readInput(c.Context, name, c.App.Reader)
	if err != nil {
		return nil, err
	}
	data = plainUserData(data)
	nodeup, parts, err := cloudinit.Parts(data)
	if err != nil && !cloudinit.IsUserData(data) {
		return nil, report.Hint("give what a machine got, as cloud-init query userdata prints it; manifests go without --user-data", "%s: %w", display(name), err)
	}
	if err != nil || parts == nil && !cloudinit.IsNodeup(nodeup) {
		// no message of kops' own form, nor kops' script: it is read as it is
		r := cloudinit.Read(data, opts)
		return []explain.Input{{Result: r, Verdict: verdict.OfOther(r), Parts: []cloudinit.Part{{Name: display(name)}}, Place: func(at cloudinit.At) report.Position {
			if at.Part < 0 || at.Line == 0 {
				return report.Position{}
			}
			return report.Position{File: display(name), Line: at.Line}
		}}}, nil
	}
	g := plan.GroupOfUserData(nodeup, parts)
	l := plan.Looker{Options: opts}
	e, err := explainGroup(&l, g)
	e.Group = ""
	return []explain.Input{e}, err
}

// explainGroups explains the instance groups of manifests.
func explainGroups(c *cli.Context, opts cloudinit.Options) ([]explain.Input, error) {
	in, err := readInputs(c)
	if err != nil {
		return nil, err
	}
	if err := in.needManifests("explain"); err != nil {
		return nil, err
	}
	o, err := in.mergeOptions(c, plan.Removals)
	if err != nil {
		return nil, err
	}
	out, err := in.merge(c, o)
	if err != nil {
		return nil, err
	}
	l := plan.Looker{Options: opts, Input: &in.Input}
	var all []explain.Input
	for _, g := range out.Groups {
		e, err := explainGroup(&l, g)
		if err != nil {
			return nil, err
		}
		e.Label = g.Label()
		all = append(all, e)
	}
	return all, nil
}

func explainGroup(l *plan.Looker, g *plan.Group) (explain.Input, error) {
	seen, err := l.Look(g)
	if err != nil {
		return explain.Input{}, err
	}
	places := lint.NewPlaces(&lint.Group{Group: g.Group, File: g.Manifest.Name, Source: l.Text(g.Manifest.Name), Parts: seen.Parts})
	return explain.Input{Group: g.Name, Cluster: g.Cluster, Role: g.Role, Parts: seen.Parts, Size: seen.Size, Archive: seen.Archive, Limits: waits.Limits(g.Group),
		Result: seen.Result, Verdict: seen.Verdict, HookPlace: g.HookPlace,
		Place: places.Of}, nil
}

func printExplained(c *cli.Context, all []explain.Input) error {
	w := c.App.Writer
	if c.String("output") == "json" {
		return printJSON(w, explain.JSON(all))
	}
	var timelines []*explain.Timeline
	var names []string
	for _, e := range all {
		names = append(names, e.Label)
		timelines = append(timelines, explain.Make(e))
	}
	switch c.String("output") {
	case "text":
		return explain.Texts(w, timelines, screenOf(w))
	case "mermaid":
		return explain.Mermaid(w, timelines)
	case "svg":
		if len(timelines) != 1 {
			return report.Hint(chooseOne(names), "-o svg draws one instance group, not %d", len(timelines))
		}
		return explain.SVG(w, timelines[0])
	case "html":
		return explain.HTML(w, timelines)
	}
	return unknownFormat(c)
}
