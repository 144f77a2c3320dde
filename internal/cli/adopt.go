package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/adopt"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
)

func adoptCommand() *cli.Command {
	return &cli.Command{
		Name:      "adopt",
		Usage:     "make a spec of user data that was written by hand",
		UsageText: "kopshook adopt [-g GROUP] [-o SPEC [-w]] FILE... | -\nkopshook adopt [-g GROUP] -f SPEC... -w FILE...",
		Description: `Prints a hook spec that does what the hand-written parts of spec.additionalUserData do, at the same point of the boot: scripts,
boothooks, cloud-config with its files and commands. Instance groups with the same parts share a spec. Then it holds
what the nodes would see against what they see today, by a model of cloud-init, and says what differs, line by line.
What no node gets today, such as a list that another part replaces, is in the spec too, with enabled: false.

With -o the spec is written to a file that is not there yet. With -w as well, the manifests get the hooks in place of
the parts that were adopted, all files or none; parts that no hook can stand for stay as they are.

To edit the spec first, take two steps: write it with -o alone, edit it, then give it with -f and -w. The second step puts the
hooks of that spec in place of the parts that it was made of. A hook that has gone from the spec is an error, so that
nothing gets lost: keep it with enabled: false.

Examples:
   kops get ig --name my.cluster -o yaml | kopshook adopt -
   kopshook adopt examples/adopt/cluster.yaml > hooks.yaml
   kopshook adopt -o adopted.yaml -w cluster.yaml
   kopshook adopt -o adopted.yaml cluster.yaml && kopshook adopt -f adopted.yaml -w cluster.yaml`,
		Flags: append(planFlags(),
			groupFlag(), clusterFlag(),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "the `FILE` to write the spec to (default: standard output)"},
			&cli.StringFlag{Name: "report", Usage: "write what became of each part, and what differs, to `FILE` as JSON; - for standard output, with -o"},
			&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "put the hooks into the manifests, in place of the parts; needs -o, or -f with the spec that -o wrote"},
			cloudInitFlag(),
			imageConfigFlag(),
		),
		Action: adoptAction,
	}
}

// adoption is an instance group whose parts are adopted.
type adoption struct {
	*adopt.Adopted
	group *plan.Group
	label string // its name, with its cluster's where there are several
	items []int  // the places of the parts in the manifest

	// specs are those that stand for the parts, where somebody has edited them; nil where adopt makes one.
	specs     []*hookspec.Doc
	standsFor map[string]string // by the name that adopt gives a hook, the one in these specs
	proof     *adopt.Proof
}

func adoptAction(c *cli.Context) error {
	output, write := c.String("output"), c.Bool("write")
	switch {
	case write && slices.Contains(c.Args().Slice(), "-"):
		return report.Hint("name the file", "standard input cannot be written in place")
	case write && (output == "-" || output == "" && len(specNames(c)) == 0):
		return report.Hint("give it a file with -o, or with -f the spec that -o wrote before", "-w takes parts out of manifests, so the spec that holds them has to be kept")
	}
	if _, err := os.Lstat(output); err == nil && output != "-" {
		return isThere(output)
	}
	edited := write && output == ""
	if reportTo(c) == "-" && (output == "" || output == "-") {
		return report.Hint("give the spec a file with -o", "the spec and the report cannot both go to standard output")
	}
	opts, err := modelOptions(c)
	if err != nil {
		return err
	}
	in, err := readInputs(c)
	if err != nil {
		return err
	}
	if err := in.needManifests("adopt"); err != nil {
		return err
	}
	if err := in.adoptionReportHasPlace(c, output); err != nil {
		return err
	}
	groups, err := in.adoptable(c, opts, edited)
	if err != nil {
		return err
	}
	var all []*adopt.Adopted
	for _, g := range groups {
		all = append(all, g.Adopted)
	}
	var spec []byte
	if !edited {
		spec = adopt.Specs(all)
	} else if groups = in.standIns(groups); in.Report.HasErrors() {
		return in.finish()
	}
	if err := in.prove(c, spec, groups, write); err != nil {
		return err
	}
	if err := in.finish(); err != nil {
		return err
	}
	for _, g := range groups {
		fmt.Fprintln(in.stderr, g.summarize())
	}
	takeBack, err := writeAdoptionReport(c, groups)
	if err != nil {
		return err
	}
	if len(spec) == 0 && !edited {
		return report.Hint("see above why the parts stay; kopshook lint says how to fix them", "there is no user data that hooks could replace")
	}
	if !edited && (output == "" || output == "-") {
		_, err = c.App.Writer.Write(spec)
		return err
	}
	if err := in.keepAdopted(c.Context, output, spec, groups, write); err != nil {
		takeBack()
		return err
	}
	in.adviseNext(c, output, groups, write)
	return nil
}

// adoptable makes hooks of the parts of all groups. Of specs that adopt wrote before, their names are those of the hooks.
func (in *inputs) adoptable(c *cli.Context, opts cloudinit.Options, edited bool) ([]*adoption, error) {
	var planned []*plan.Group
	if !in.Report.HasErrors() {
		planned = plan.Make(c.Context, in.Specs, in.Manifests, newLoader(c), &in.Report)
	}
	if err := c.Context.Err(); err != nil {
		return nil, err
	}
	if in.Report.HasErrors() {
		return nil, in.finish()
	}
	planned, err := plan.Only(planned, c.StringSlice("group"), c.StringSlice("cluster"))
	if err != nil {
		return nil, err
	}
	var groups []*adoption
	for _, g := range planned {
		a := &adoption{group: g, label: g.Label()}
		ag := adopt.Group{Name: g.Name, Cluster: g.Cluster, Role: g.Role, Options: opts, Remarks: map[int][]string{}}
		if ag.Options.Version == (cloudinit.Version{}) {
			ag.Options.Version = cloudinit.VersionOf(g.Object.Spec.Image)
		}
		for i, u := range g.Object.Spec.AdditionalUserData {
			if name, ours := strings.CutPrefix(u.Name, instancegroups.Prefix); ours {
				ag.Reserved = append(ag.Reserved, hookOfPart(instancegroups.Prefix+name))
				continue
			}
			for _, s := range lint.Secrets(u.Content) {
				ag.Remarks[len(a.items)] = append(ag.Remarks[len(a.items)], fmt.Sprintf("It holds %s, which every pod of the node may read (KH070).", s))
			}
			a.items = append(a.items, i)
			ag.Parts = append(ag.Parts, cloudinit.Part(u))
		}
		for _, h := range g.Hooks {
			if !edited {
				ag.Reserved = append(ag.Reserved, h.Name)
			}
		}
		if reason := g.Unsupported(); reason != "" && len(a.items) > 0 {
			in.Report.Warnf(report.Position{File: g.Manifest.Name, Line: g.Line}, "", "", "instance group %q stays as it is: %s", a.label, reason)
			continue
		}
		if len(a.items) > 0 {
			a.Adopted = adopt.Adopt(ag)
			groups = append(groups, a)
		}
	}
	if len(groups) == 0 && !in.Report.HasErrors() {
		remedy := "kopshook new writes a spec to begin with"
		if edited {
			remedy = "nothing is left to adopt: the hooks may be in the manifests already, which kopshook check tells"
		}
		in.Report.Errorf(report.Position{}, "", remedy, "no instance group has hand-written user data that hooks could replace")
		return nil, in.finish()
	}
	return groups, nil
}

// prove decodes the spec, generates with it, and compares. What it has to say goes into the report and, as a summary, to
// standard error.
func (in *inputs) prove(c *cli.Context, spec []byte, groups []*adoption, write bool) error {
	docs := slices.Clone(in.Specs)
	if len(spec) > 0 {
		docs = append(docs, hookspec.Decode("adopted", spec, &in.Report)...)
	}
	manifests := in.Manifests
	for _, g := range groups {
		if len(g.Taken) > 0 {
			g.group.TakeUserData(g.takenItems(), nil)
		}
	}
	now := in.Input
	now.Specs, now.Manifests = docs, manifests
	o, err := in.mergeOptions(c, plan.Sizes(report.Warning))
	if err != nil {
		return err
	}
	o.Only, o.Clusters = nil, nil
	out, err := plan.Merge(c.Context, &now, o)
	if err != nil {
		return err
	}
	in.Report = out.Report
	if in.Report.HasErrors() {
		return in.finish()
	}
	planned := out.Groups
	for _, g := range groups {
		i := slices.IndexFunc(planned, func(p *plan.Group) bool { return p.Group == g.group.Group })
		g.group = planned[i]
		var err error
		if g.proof, err = g.compare(); err != nil {
			return err
		}
		in.reportAdoption(g)
		if write {
			in.refuseStrangers(g)
		}
	}
	return nil
}

func (g *adoption) takenItems() []int {
	var items []int
	for _, part := range g.Taken {
		items = append(items, g.items[part])
	}
	return items
}

// compare compares by the hooks of the adopted spec alone.
func (g *adoption) compare() (*adopt.Proof, error) {
	ig := generator.InstanceGroup{Cluster: g.group.Cluster, Name: g.group.Name, Role: g.group.Role}
	then := adopt.Then{Edited: g.specs != nil}
	mine := g.Hooks()
	for _, h := range g.group.Hooks {
		if slices.Contains(g.specs, h.Doc) ||
			g.specs == nil && slices.ContainsFunc(mine, func(m adopt.Hook) bool { return m.Enabled && m.Name == h.Name }) {
			then.Hooks = append(then.Hooks, h.Hook)
		}
	}
	if len(then.Hooks) > 0 {
		var err error
		if then.Files, err = generator.Files(ig, g.group.Runtime, then.Hooks); err != nil {
			return nil, err
		}
		then.Parts = g.group.Parts
	}
	return g.Compare(then), nil
}

// refuseStrangers finds hooks in the manifest that no spec stands for: writing would take them out.
func (in *inputs) refuseStrangers(g *adoption) {
	for _, name := range g.strangers() {
		in.Report.Errorf(report.Position{File: g.group.Manifest.Name, Line: g.group.Line}, "", "give the specs that it has its hooks from with -f",
			"instance group %q has %s, which none of the given specs has", g.label, name)
	}
}

func (g *adoption) strangers() []string {
	var names []string
	for _, u := range g.group.Object.Spec.AdditionalUserData {
		ours := strings.HasPrefix(u.Name, instancegroups.Prefix)
		if !ours || slices.ContainsFunc(g.group.Parts, func(p generator.UserData) bool { return p.Name == u.Name }) {
			continue
		}
		if hook := hookOfPart(u.Name); hook != "" {
			names = append(names, "hook "+hook)
		} else {
			names = append(names, u.Name)
		}
	}
	return names
}

// keepAdopted writes the spec and, if asked to, the manifests: all or none.
func (in *inputs) keepAdopted(ctx context.Context, output string, spec []byte, groups []*adoption, write bool) error {
	var changes []change
	if write {
		for _, g := range groups {
			if len(g.Taken) > 0 {
				g.group.SetUserData(g.group.PlannedUserData())
			}
		}
		changes = changedFiles(in.Sources, plan.Edit(in.Manifests, &in.Report))
		if err := in.finish(); err != nil {
			return err
		}
	}
	if output == "" { // the spec is there
		return writeFiles(ctx, in.Sources, changes)
	}
	if err := createSpec(output, string(spec)); err != nil {
		return err
	}
	if err := writeFiles(ctx, in.Sources, changes); err != nil {
		os.Remove(output)
		return err
	}
	return nil
}

func (in *inputs) adviseNext(c *cli.Context, output string, groups []*adoption, written bool) {
	say := func(format string, args ...any) { fmt.Fprintln(in.stderr, report.Clean(fmt.Sprintf(format, args...))) }
	if written && output == "" {
		say("The hooks are in the manifests, in place of the parts: keep the specs and the manifests together")
		return
	}
	if written {
		say("%s is written, and its hooks are in the manifests: read both, and keep them together", output)
		for _, g := range groups {
			if s := g.group.Size; s != nil && s.Remedy != nil {
				m := shell.File(g.group.Manifest.Name)
				say("The user data of %s has to get smaller first: kopshook fit -f %s -w %s && kopshook merge -f %[2]s -w %[3]s", g.Name, shell.File(output), m)
			}
		}
		return
	}
	specs := slices.DeleteFunc(slices.Concat(specNames(c), c.Args().Slice()), func(name string) bool {
		return slices.ContainsFunc(in.Manifests, func(m *plan.Manifest) bool { return m.Name == name })
	})
	if !slices.ContainsFunc(specs, func(name string) bool { return filepath.Clean(name) == filepath.Dir(output) }) {
		specs = append(specs, output)
	}
	files, others := map[string]bool{}, ""
	for _, g := range groups {
		files[g.group.Manifest.Name] = true
		if len(g.strangers()) > 0 {
			others = ", with a further -f for each spec of the hooks that they have already"
		}
	}
	say("%s is written: read it, and edit it. The parts are still in the manifests; this puts the hooks in their place%s: kopshook adopt -f %s -w %s",
		output, others, words(specs, " -f "), words(slices.Sorted(maps.Keys(files)), " "))
}

// words are names as a shell takes them, with what stands between.
func words(names []string, between string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, shell.File(name))
	}
	return strings.Join(quoted, between)
}
