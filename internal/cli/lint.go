package cli

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

func lintCommand() *cli.Command {
	return &cli.Command{
		Name:      "lint",
		Usage:     "find what is lost, changed, late or dangerous in user data and hooks",
		UsageText: "kopshook lint [-f SPEC...] [-o text|json|sarif|github] [--fix] FILE... | -",
		Description: `Reports for the user data of each instance group what cloud-init drops or changes, what runs too late or blocks the
boot, and what people may read who should not. It works on any kops manifest; with hook specs it looks at what merge
would make of them, and at the hooks' own scripts, too.

Each finding has a code; docs/rules has a page for each, and --explain prints the rule. A comment
"kopshook: ignore=KH014" on the line of a finding, on the line before it or anywhere in the part that it is about
switches it off.

On stderr the first lines say what becomes of the nodes of each instance group, and the last line counts the findings.

Exit code 0: nothing found, 1: findings, 2: a mistake in the input.

Examples:
   kops get ig --name my.cluster -o yaml | kopshook lint -
   kopshook lint examples/mixed/cluster.yaml -f examples/gpu
   kopshook lint --severity info -o sarif cluster.yaml > kopshook.sarif
   kopshook lint --explain KH014`,
		Flags: append(planFlags(), pruneFlag(),
			formatFlag("text", "json", "sarif", "github"),
			&cli.StringFlag{Name: "severity", Value: "warning", Usage: "show findings of this `SEVERITY` and worse: error, warning, info"},
			&cli.BoolFlag{Name: "fix", Usage: "apply the fixes that are unambiguous, in the files"},
			&cli.StringFlag{Name: "explain", Usage: "print what the rule `CODE` is about; all for all rules"},
			groupFlag(), clusterFlag(),
			cloudInitFlag(),
			imageConfigFlag(),
		),
		Action: lintAction,
	}
}

// cloudInitFlag and imageConfigFlag say what kind of image the nodes have.
func cloudInitFlag() cli.Flag {
	return &cli.StringFlag{Name: "cloud-init", Usage: "`VERSION` of cloud-init on the nodes, as in 22.4; else the image's name tells"}
}

func imageConfigFlag() cli.Flag {
	return &cli.StringFlag{Name: "image-config", Usage: "`FILE` with the image's own cloud-init configuration, such as its /etc/cloud/cloud.cfg"}
}

// modelOptions reads the options of the model of cloud-init.
func modelOptions(c *cli.Context) (cloudinit.Options, error) {
	var opts cloudinit.Options
	if s := c.String("cloud-init"); s != "" {
		if _, err := fmt.Sscanf(s, "%d.%d", &opts.Version.Major, &opts.Version.Minor); err != nil || opts.Version.Major < 18 || opts.Version.Major > 99 {
			return opts, report.Hint("write it as in 22.4", "--cloud-init %q is no version of cloud-init", s)
		}
	}
	name := c.String("image-config")
	if name == "" {
		return opts, nil
	}
	data, err := readInput(c.Context, name, c.App.Reader)
	if err != nil {
		return opts, err
	}
	opts.Base, err = pyyaml.Load(string(data))
	const remedy = "give a file of YAML such as the image's /etc/cloud/cloud.cfg"
	if err != nil {
		return opts, report.Hint(remedy, "%s: is no YAML that cloud-init can read: %w", display(name), err)
	}
	if opts.Base != nil && !opts.Base.IsDict() && opts.Base.Kind != pyyaml.Null {
		return opts, report.Hint(remedy, "%s: is %s, no configuration of cloud-init", display(name), opts.Base.Kind.Noun())
	}
	return opts, nil
}

func lintAction(c *cli.Context) error {
	if code := c.String("explain"); code != "" {
		if c.Args().Present() || c.IsSet("file") || c.Bool("fix") {
			return report.Hint("leave out --explain to lint files", "--explain prints a rule: it goes without files, and without --fix")
		}
		return explainRule(c, code)
	}
	least, err := severityNamed(c.String("severity"))
	if err != nil {
		return err
	}
	print, err := lintPrinter(c)
	if err != nil {
		return err
	}
	if c.Bool("fix") && slices.Contains(c.Args().Slice(), "-") {
		return report.Hint("name the file", "standard input cannot be fixed in place")
	}
	in, out, findings, err := lintFiles(c)
	if err != nil {
		return err
	}
	if c.Bool("fix") {
		fixed, err := applyFixes(c, in, findings)
		if err != nil {
			return err
		}
		if fixed {
			if in, out, findings, err = lintFiles(c); err != nil {
				return err
			}
		}
	}
	var shown []report.Finding
	for _, f := range findings {
		if f.Severity <= least {
			shown = append(shown, f.Finding)
		}
	}
	text := c.String("output") == "text"
	if text {
		printOutcomes(c.App.ErrWriter, out)
	}
	if err := print(shown, in); err != nil {
		return err
	}
	if text {
		fmt.Fprintln(c.App.ErrWriter, "kopshook: "+summary(shown, in, out))
	}
	if len(shown) > 0 {
		return differs
	}
	return nil
}

func severityNamed(name string) (report.Severity, error) {
	for _, s := range []report.Severity{report.Error, report.Warning, report.Info} {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, report.Hint("choose error, warning or info with --severity", "there is no severity %q", name)
}

// lintPrinter returns the printer of -o.
func lintPrinter(c *cli.Context) (func([]report.Finding, *inputs) error, error) {
	w := c.App.Writer
	switch c.String("output") {
	case "text":
		return func(findings []report.Finding, in *inputs) error {
			return report.Text(w, findings, report.TextOptions{Sources: in.Sources, Mask: source.Mask, Snippets: isTerminal(w), Color: colored(w)})
		}, nil
	case "json":
		return func(findings []report.Finding, _ *inputs) error { return report.JSON(w, findings, ruleInfos()) }, nil
	case "sarif":
		return func(findings []report.Finding, _ *inputs) error {
			return report.SARIF(w, findings, ruleInfos(), versionName())
		}, nil
	case "github":
		return func(findings []report.Finding, _ *inputs) error { return report.GitHub(w, findings) }, nil
	}
	return nil, unknownFormat(c)
}

func ruleInfos() []report.RuleInfo {
	var infos []report.RuleInfo
	for _, r := range lint.Rules() {
		infos = append(infos, report.RuleInfo{Code: r.Code, Name: r.Name, Severity: r.Severity, Title: r.Title, Remedy: r.Remedy, URL: r.DocURL()})
	}
	return infos
}

func explainRule(c *cli.Context, code string) error {
	var codes []string
	for _, r := range lint.Rules() {
		codes = append(codes, r.Code)
		if code == "all" || strings.EqualFold(code, r.Code) || code == r.Name {
			fmt.Fprintf(c.App.Writer, "%s %s (%s)\n  %s\n  remedy: %s\n", r.Code, r.Name, r.Severity, r.Title, r.Remedy)
		}
	}
	if code == "all" || slices.ContainsFunc(lint.Rules(), func(r lint.Rule) bool { return strings.EqualFold(code, r.Code) || code == r.Name }) {
		return nil
	}
	hint := "see kopshook lint --explain all"
	if near := report.Nearest(code, codes); near != "" {
		hint = "did you mean " + near + "?"
	}
	return report.Hint(hint, "there is no rule %q", code)
}

// lintFiles looks at all files of the command. It fails where they cannot be read.
func lintFiles(c *cli.Context) (*inputs, *plan.Output, []lint.Finding, error) {
	in, err := readInputs(c)
	if err != nil {
		return nil, nil, nil, err
	}
	opts, err := modelOptions(c)
	if err != nil {
		return nil, nil, nil, err
	}
	findings := in.takeDropped()
	if len(in.Specs) == 0 && len(findings) == 0 {
		if err := in.needManifests("lint"); err != nil {
			return nil, nil, nil, err
		}
	} else {
		in.addNotRead()
	}
	o, err := in.mergeOptions(c)
	if err != nil {
		return nil, nil, nil, err
	}
	var hooks []plan.Form
	o.Checks = []plan.Check{plan.Removals, func(out *plan.Output) {
		hooks = plan.Forms(c.Context, in.Specs, out.Groups, o.Loader, &out.Report)
	}}
	out, err := in.merge(c, o)
	if err != nil {
		return nil, nil, nil, err
	}
	sizes := map[*plan.Group]lint.Finding{}
	var sized []*plan.Group
	looker := plan.Looker{Options: opts, Input: out.Input}
	for _, g := range out.Groups {
		look, err := looker.Look(g)
		if err != nil {
			return nil, nil, nil, err
		}
		g.Size, g.Brief = look.Size, look.Brief(g)
		for _, f := range look.Findings {
			if f.Code == lint.Size {
				sizes[g], sized = f, append(sized, g)
				continue
			}
			findings = append(findings, f)
		}
	}
	for _, same := range plan.SameSizes(sized) {
		f := sizes[same.Largest]
		f.Message += report.SameFor(same.Names)
		findings = append(findings, f)
	}
	for i := range hooks {
		h := &hooks[i]
		if h.Unused && len(out.Groups) < len(out.All) {
			continue // options have chosen instance groups
		}
		findings = append(findings, lint.CheckHook(&lint.Hook{Resolved: &h.Resolved, Images: imagesOf(h.Groups), Source: in.Text(h.Doc.File)})...)
	}
	return in, out, sortFindings(append(findings, otherClouds(in, out.Groups)...)), nil
}

// otherClouds looks at hooks as each instance group has them: an override may name another store for another cloud.
func otherClouds(in *inputs, groups []*plan.Group) (findings []lint.Finding) {
	type variant struct {
		doc   *hookspec.Doc
		id    string
		cloud kops.CloudProviderID
	}
	seen := map[variant]bool{}
	for _, g := range groups {
		cloud := g.Cloud()
		for i := range g.Hooks {
			h := &g.Hooks[i]
			if v := (variant{h.Doc, h.ID, cloud}); !seen[v] {
				seen[v] = true
				findings = append(findings, lint.CheckCloud(&lint.Hook{Resolved: h, Source: in.Text(h.Doc.File)}, cloud)...)
			}
		}
	}
	return findings
}

// imagesOf returns the images of instance groups.
func imagesOf(groups []*plan.Group) []string {
	var images []string
	for _, g := range groups {
		if !slices.Contains(images, g.Object.Spec.Image) {
			images = append(images, g.Object.Spec.Image)
		}
	}
	return images
}

// takeDropped makes findings of lint's of the documents that kops drops: what else is wrong in a file keeps it from being
// looked at.
func (in *inputs) takeDropped() (findings []lint.Finding) {
	in.Report.Findings = slices.DeleteFunc(in.Report.Findings, func(f report.Finding) bool {
		if f.Code == lint.DroppedDocument {
			findings = append(findings, lint.Finding{Finding: f, Rule: lint.RuleOf(f.Code)})
		}
		return f.Code == lint.DroppedDocument
	})
	return findings
}

// sortFindings orders findings by file and place, and says each once: forms of one hook share what no override changes.
func sortFindings(findings []lint.Finding) []lint.Finding {
	slices.SortStableFunc(findings, func(a, b lint.Finding) int {
		if n := strings.Compare(a.File, b.File); n != 0 {
			return n
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
	said := map[report.Finding]bool{}
	return slices.DeleteFunc(findings, func(f lint.Finding) bool {
		again := said[f.Finding]
		said[f.Finding] = true
		return again
	})
}

// applyFixes makes the fixes of findings in their files. A file that would not be read as before, but for what was fixed, is
// left alone.
func applyFixes(c *cli.Context, in *inputs, findings []lint.Finding) (bool, error) {
	var changes []change
	total := 0
	for _, m := range in.Manifests {
		old := in.Sources[m.Name]
		fixed, made := lint.Apply(m.Name, old, findings)
		if made == 0 || bytes.Equal(fixed, old) {
			continue
		}
		if err := sameGroups(m, fixed); err != nil {
			return false, fmt.Errorf("%s: fixing it would break it: %w", m.Name, err)
		}
		changes = append(changes, change{m.Name, fixed})
		total += made
	}
	if total == 0 {
		return false, nil
	}
	if err := writeFiles(c.Context, in.Sources, changes); err != nil {
		return false, err
	}
	fmt.Fprintf(c.App.ErrWriter, "kopshook: fixed %d of %d findings\n", total, len(findings))
	return true, nil
}

// sameGroups says whether a file still holds the same instance groups with the same parts, contents aside.
func sameGroups(m *plan.Manifest, fixed []byte) error {
	f, err := instancegroups.Parse(m.Name, fixed)
	if err != nil {
		return err
	}
	now := f.Groups()
	if len(now) != len(m.Groups()) || len(f.Documents()) != len(m.Documents()) {
		return fmt.Errorf("it would hold other documents")
	}
	for i, g := range m.Groups() {
		old, new := g.Object.DeepCopy(), now[i].Object.DeepCopy()
		if len(old.Spec.AdditionalUserData) != len(new.Spec.AdditionalUserData) {
			return fmt.Errorf("instance group %s would have other parts", g.Name)
		}
		old.Spec.AdditionalUserData, new.Spec.AdditionalUserData = nil, nil
		if !reflect.DeepEqual(old, new) {
			return fmt.Errorf("instance group %s would be another", g.Name)
		}
	}
	return nil
}
