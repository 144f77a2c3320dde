package cli

import (
	"bytes"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/nodeclass"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// withNodeClasses is shown for commands that bring user data to the nodes of groups that Karpenter manages: the script of
// kops' own is that of the group's EC2NodeClass, where one is among the files.
func withNodeClasses(c *cli.Context) (*plan.Output, []*nodeclass.Class, error) {
	in, err := readInputs(c)
	if err != nil {
		return nil, nil, err
	}
	if err := in.needSpecs(c.Command.Name); err != nil {
		return nil, nil, err
	}
	printed := c.String("output") == ec2NodeClass
	tooLarge := report.Warning
	if printed {
		tooLarge = report.Error
	}
	out, err := in.planned(c, plan.Options{NodeClasses: true}, func(out *plan.Output) { useNodeClasses(out, in.classes, printed) },
		plan.Sizes(tooLarge), plan.Arrival, plan.Hopeless, plan.Names(false), plan.Removals, slowForKarpenter)
	return out, in.classes, err
}

// classOf returns the class of a group, nil without one.
func classOf(g *plan.Group, classes []*nodeclass.Class) *nodeclass.Class {
	i := slices.IndexFunc(classes, func(c *nodeclass.Class) bool {
		return c.Name == g.Name && (c.Cluster == "" || g.Cluster == "" || c.Cluster == g.Cluster)
	})
	if i < 0 {
		return nil
	}
	return classes[i]
}

// useNodeClasses gives groups the script of their classes. all says that each group with hooks needs one.
func useNodeClasses(out *plan.Output, classes []*nodeclass.Class, all bool) {
	r := &out.Report
	used := map[*nodeclass.Class]bool{}
	for _, g := range out.All {
		used[classOf(g, classes)] = true
	}
	for _, c := range classes {
		if !used[c] && all {
			r.Warnf(c.Pos("metadata", "name"), "metadata.name", "give the manifest of its instance group",
				"EC2NodeClass %q is left out: no instance group of its cluster is called so", c.Name)
		}
	}
	if all { // the others have no class
		out.Groups = slices.DeleteFunc(slices.Clone(out.Groups), func(g *plan.Group) bool { return !g.InNodeClass() })
	}
	for _, g := range out.Groups {
		if !g.InNodeClass() || len(g.Hooks) == 0 {
			continue
		}
		c := classOf(g, classes)
		switch {
		case c != nil:
			g.Nodeup = scriptOf(c, g, r)
		case all:
			r.Errorf(report.Position{File: g.Manifest.Name, Line: g.Line}, "",
				"give it beside the manifests: kubectl get ec2nodeclass "+g.Name+" -o yaml", "instance group %q: its EC2NodeClass is not given", g.Label())
		}
	}
}

// scriptOf returns kops' script out of the class, which is to be the group's and to hold nothing that would be lost.
func scriptOf(c *nodeclass.Class, g *plan.Group, r *report.Report) []byte {
	const remedy = "give the class as kops made it"
	pos := c.Pos("spec", "userData")
	if c.Family != "Custom" {
		r.Errorf(c.Pos("spec", "amiFamily"), "spec.amiFamily", remedy+", with amiFamily: Custom",
			"EC2NodeClass %q: for amiFamily %q Karpenter writes a part of the user data itself", c.Name, c.Family)
		return nil
	}
	data := []byte(c.UserData)
	if bytes.HasSuffix(data, []byte("--")) { // some writers of YAML take the last line break away
		data = append(data, '\n')
	}
	nodeup, has, err := cloudinit.Parts(data)
	if err != nil || !cloudinit.IsNodeup(nodeup) {
		r.Errorf(pos, "spec.userData", remedy, "EC2NodeClass %q: its user data does not begin with kops' nodeup.sh", c.Name)
		return nil
	}
	if name := kubeEnv(nodeup, "InstanceGroupName"); name != "" && name != g.Name {
		r.Errorf(pos, "spec.userData", remedy, "EC2NodeClass %q: its script is that of instance group %q", c.Name, name)
	}
	for _, p := range has {
		known := slices.ContainsFunc(g.Own(), func(own generator.UserData) bool { return cloudinit.Part(own) == p })
		if !known && !generator.IsPart(p.Name) {
			r.Errorf(pos, "spec.userData", "put it into additionalUserData of the instance group",
				"EC2NodeClass %q holds part %q, which is not in the manifest and would be lost", c.Name, p.Name)
		}
	}
	return nodeup
}

// karpenterGivesUp is how long Karpenter waits for the node of a machine that it has launched (registrationTimeout in
// pkg/controllers/nodeclaim/lifecycle/liveness.go of sigs.k8s.io/karpenter). No option sets it.
const karpenterGivesUp = 15 * time.Minute

// slowForKarpenter says which groups' hooks may take longer than that.
func slowForKarpenter(out *plan.Output) {
	for _, g := range out.Groups {
		if !g.InNodeClass() || len(g.Parts) == 0 {
			continue
		}
		look, err := (&plan.Looker{Input: out.Input}).Look(g)
		if err != nil {
			out.Report.AddError(report.Position{File: g.Manifest.Name, Line: g.Line}, "", err)
			continue
		}
		if total := waits.Kubelet(look.Hooks).Total; total > karpenterGivesUp {
			out.Report.Warnf(report.Position{File: g.Manifest.Name, Line: g.Line}, "", "lower attempts and timeout of the hooks, or bake them into the image",
				"instance group %q: the kubelet may wait %s for hooks, and Karpenter deletes a machine that is no node after %s",
				g.Label(), report.Duration(total), report.Duration(karpenterGivesUp))
		}
	}
}

// renderNodeClasses prints the classes of the groups that have hooks, with their user data.
func renderNodeClasses(c *cli.Context, groups []*plan.Group, classes []*nodeclass.Class) error {
	var b bytes.Buffer
	for _, g := range groups {
		class := classOf(g, classes)
		if class == nil || len(g.Parts) == 0 {
			continue
		}
		text, err := class.With(string(g.Message(g.Nodeup)))
		if err != nil {
			return err
		}
		if b.Len() > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	if b.Len() == 0 {
		return report.Hint("compare the specs' selectors with `kopshook list`", "no hook is for an instance group that Karpenter manages (manager: Karpenter)")
	}
	return printText(c.App.Writer, b.Bytes())
}
