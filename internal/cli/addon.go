package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/addon"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func addonCommand() *cli.Command {
	return &cli.Command{
		Name:      "addon",
		Usage:     "write a kops addon: hooks of phase daemon, and the hooks' status in the cluster",
		UsageText: "kopshook addon [-f SPEC...] [--status] [--plan] -o DIR|objects [FILE...]",
		Description: `Hooks of phase daemon are no user data: a DaemonSet runs them on nodes that run already, and again when they change,
without replacing machines. With -o DIR it writes a kops addon: addon.yaml, the index for spec.addons of the cluster,
and the manifest that it names. With -o objects, or -o -, it prints the Kubernetes objects alone.

An instance group with the taint readiness.k8s.io/kopshook-SPEC=:NoSchedule in spec.kubelet.taints waits for the spec's
hooks: with --status and -o DIR, kopshook-readiness.yaml has a NodeReadinessRule for it.

With --plan it writes nothing: it says which hooks run again, on how many nodes at a time, compared with the addon that
DIR holds.

An addon is for one cluster. Give its manifests too when a spec selects by globs, by matchLabels or by clusters, or
overrides hooks for some of the nodes.

Examples:
   kopshook addon --status -o addon examples/addon/hooks.yaml examples/mixed/cluster.yaml
   kopshook addon -o objects examples/addon/hooks.yaml`,
		Flags: append(planFlags(),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`DIR` to write the addon to; or objects or -, to print Kubernetes objects"},
			&cli.BoolFlag{Name: "status", Usage: "with node-problem-detector, which shows failed hooks as node conditions, events and metrics"},
			&cli.StringFlag{Name: "cluster", Usage: "`NAME` of the cluster, where it is not in the manifests"},
			&cli.StringFlag{Name: "name", Value: "kopshook", Usage: "`NAME` of the addon; two addons of one cluster need two names"},
			&cli.StringFlag{Name: "image", Usage: "`IMAGE` that runs hooks: it has sh, nsenter, sha256sum (default: " + tag(addon.DefaultImage) + ", by digest)"},
			&cli.StringFlag{Name: "status-image", Usage: "`IMAGE` of node-problem-detector (default: " + tag(addon.DefaultStatusImage) + ", by digest)"},
			&cli.StringFlag{Name: "priority-class", Usage: "existing PriorityClass `NAME` (default: one of the addon's own); with system-node-critical, a rolling update waits for the hooks"},
			&cli.StringFlag{Name: "max-unavailable", Value: "10%", Usage: "`PODS` at once in a rollout, a number or a percentage; DaemonSets on the same nodes share it"},
			&cli.DurationFlag{Name: "min-ready", Usage: "`DURATION` for which a pod has to be ready before a rollout goes on, such as 5m"},
			&cli.StringFlag{Name: "update-strategy", Value: "RollingUpdate", Usage: "`STRATEGY`: RollingUpdate, or OnDelete: a pod is replaced when somebody deletes it"},
			&cli.StringFlag{Name: "needs-rolling-update", Usage: "`NODES` that kops marks for its rolling update when the addon has changed: control-plane, workers or all"},
			&cli.BoolFlag{Name: "plan", Usage: "write nothing; print what changes against the addon in DIR, and exit with 1 when something does"},
			&cli.BoolFlag{Name: "markdown", Usage: "with --plan: as Markdown, for a comment on a pull request"},
		),
		Action: makeAddon,
	}
}

// tag is an image without its digest.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	return image
}

func makeAddon(c *cli.Context) error {
	out := c.String("output")
	if out == "" {
		return report.Hint("add -o DIR, or -o objects to print Kubernetes objects", "no place for the addon")
	}
	onDelete := false
	switch s := c.String("update-strategy"); s {
	case "RollingUpdate":
	case "OnDelete":
		onDelete = true
	default:
		return report.Hint("choose RollingUpdate or OnDelete", "--update-strategy is %q", s)
	}
	if onDelete && (c.IsSet("max-unavailable") || c.IsSet("min-ready")) {
		return report.Hint("leave it out", "--max-unavailable and --min-ready are for --update-strategy RollingUpdate")
	}
	if c.Bool("markdown") && !c.Bool("plan") {
		return report.Hint("add --plan, or leave it out", "--markdown is for --plan")
	}
	if c.Bool("plan") && (out == "objects" || out == "-") {
		return report.Hint("give the folder of the addon that is there", "--plan compares with a folder")
	}
	if c.IsSet("status-image") && !c.Bool("status") {
		return report.Hint("add --status, or leave it out", "--status-image is for --status")
	}
	in, err := readInputs(c)
	if err != nil {
		return err
	}
	if err := in.needSpecs(c.Command.Name); err != nil {
		return err
	}
	var a *addon.Addon
	if cluster, groups, ok := in.oneCluster(c.String("cluster")); ok && !in.Report.HasErrors() {
		loader := newLoader(c)
		a = addon.Build(addon.Input{
			Specs: in.Specs, Cluster: cluster, Groups: groups,
			Read: func(hooks []hookspec.Resolved) []generator.Hook {
				return plan.Read(c.Context, hooks, loader, &in.Report)
			},
			Options: addon.Options{
				Name: c.String("name"), Status: c.Bool("status"), Image: c.String("image"), StatusImage: c.String("status-image"),
				PriorityClass: c.String("priority-class"), MaxUnavailable: c.String("max-unavailable"),
				MinReady: c.Duration("min-ready"), OnDelete: onDelete, RollNodes: c.String("needs-rolling-update"),
			},
		}, &in.Report)
	}
	if err := c.Context.Err(); err != nil {
		return err
	}
	if a != nil && !in.Report.HasErrors() && out != "objects" && out != "-" && !c.Bool("plan") {
		warnOfRemovals(out, a, &in.Report)
	}
	if err := in.finish(); err != nil {
		return err
	}
	if out == "objects" || out == "-" {
		manifest, err := a.Manifest()
		if err != nil {
			return err
		}
		_, err = c.App.Writer.Write(manifest)
		return err
	}
	if c.Bool("plan") {
		return printAddonPlan(c, out, a)
	}
	return writeAddon(out, a)
}

// oneCluster returns the cluster that the addon is for, "" when nobody says it, and its instance groups, nil when
// there are none among the files.
func (in *inputs) oneCluster(name string) (string, []addon.Group, bool) {
	var names []string
	for _, m := range in.Manifests {
		for _, c := range m.Clusters() {
			names = append(names, c.Name)
		}
		for _, g := range m.Groups() {
			if g.Cluster != "" {
				names = append(names, g.Cluster)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case name == "" && len(names) > 1:
		in.Report.Errorf(report.Position{}, "", "choose one with --cluster NAME", "the manifests are of several clusters, and an addon is for one: %s", strings.Join(names, ", "))
		return "", nil, false
	case name == "" && len(names) == 1:
		name = names[0]
	case name != "" && len(names) > 0 && !slices.Contains(names, name):
		in.Report.Errorf(report.Position{}, "", "the manifests are of "+strings.Join(names, ", "), "no manifest is of the cluster %q", name)
		return "", nil, false
	}
	var groups []addon.Group
	for _, m := range in.Manifests {
		for _, g := range m.Groups() {
			if g.Cluster != "" && g.Cluster != name {
				continue
			}
			who := plan.Selectable(g)
			who.Cluster = name
			groups = append(groups, addon.Group{Group: who, Position: report.Position{File: m.Name, Line: g.Line}, Labelled: labelled(g), Taints: startupTaints(g)})
		}
	}
	return name, groups, true
}

// startupTaints are what a group says of the taints of its nodes when they join. kops adds one of its own for the role.
func startupTaints(g *instancegroups.Group) (out []addon.Taint) {
	if g.Object == nil {
		return nil
	}
	for _, t := range g.Object.Spec.Taints {
		out = append(out, addon.TaintOf(t, "spec.taints"))
	}
	if k := g.Object.Spec.Kubelet; k != nil {
		for _, t := range k.Taints {
			out = append(out, addon.TaintOf(t, "spec.kubelet.taints"))
		}
	}
	return out
}

// labelled says whether kops gives the nodes of a group the label with its name: from spec.nodeLabels, and on GCE and
// Azure always (kops pkg/nodeidentity/gce/identify.go:206, azure/identify.go:107).
func labelled(g *instancegroups.Group) bool {
	if g.NodeLabels["kops.k8s.io/instancegroup"] == g.Name {
		return true
	}
	if g.ClusterObject == nil {
		return false
	}
	provider := g.ClusterObject.Object.Spec.CloudProvider
	return provider.GCE != nil || provider.Azure != nil
}

// indexIn returns the index in a folder, nil where there is none. That of another addon is refused: without it, kops
// would not find that addon again.
func indexIn(root *os.Root, dir, name string) ([]byte, addon.Index, error) {
	path := filepath.Join(dir, addon.IndexName)
	data, err := root.ReadFile(addon.IndexName)
	if os.IsNotExist(err) {
		return nil, addon.Index{}, nil
	}
	if err != nil {
		return nil, addon.Index{}, fileError(path, err)
	}
	found, err := addon.ReadIndex(data)
	if err != nil {
		return nil, found, report.Hint("give an empty folder", "%s is not the index of an addon: %w", path, err)
	}
	if found.Name != name {
		return nil, found, report.Hint("give each addon a folder of its own, or remove "+dir, "%s is the index of the addon %q, not of %q", path, found.Name, name)
	}
	return data, found, nil
}

// writeAddon writes the files, which come in the order of their writing, and removes those that an earlier run wrote
// and this one did not, also half written ones of a run that was killed: they are known by name.
func writeAddon(dir string, a *addon.Addon) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fileError(dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fileError(dir, err)
	}
	defer root.Close()
	before, _, err := indexIn(root, dir, a.Name)
	if err != nil {
		return err
	}
	files, err := a.Files(before)
	if err != nil {
		return err
	}
	var written []string
	for _, f := range files {
		tmp := "." + f.Name + ".tmp"
		err := root.WriteFile(tmp, f.Content, 0o666)
		if err == nil {
			err = root.Rename(tmp, f.Name)
		}
		if err != nil {
			root.Remove(tmp)
			return fileError(filepath.Join(dir, f.Name), err)
		}
		written = append(written, f.Name)
	}
	name := regexp.QuoteMeta(a.Name) + `-([0-9a-f]{12}\.yaml|dashboard\.json|(prometheus|readiness)\.yaml)`
	ours := regexp.MustCompile(`^(` + name + `|\.` + name + `\.tmp)$`)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fileError(dir, err)
	}
	for _, e := range entries {
		if ours.MatchString(e.Name()) && !slices.Contains(written, e.Name()) {
			if err := root.Remove(e.Name()); err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(dir, e.Name()), err)
			}
		}
	}
	return nil
}
