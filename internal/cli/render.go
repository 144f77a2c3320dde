package cli

import (
	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/nodeclass"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func renderCommand() *cli.Command {
	return &cli.Command{
		Name:      "render",
		Usage:     "print the user data alone, in one of several forms",
		UsageText: "kopshook render [-f SPEC...] [-o yaml|json|mime|tree|ec2nodeclass] FILE... | -",
		Description: `Forms:
   yaml   a list of {instanceGroup, cluster, additionalUserData: [{name, type, content}]}
   json   the same as JSON: other programs build on it
   mime   the message that kops sends to a node of one instance group, with all parts of the manifest; the place of
          kops' own nodeup.sh is marked, or filled from --base, a user-data file that kops wrote
   tree   what lands on the nodes as plain files, for reviewers; files that are the same in all groups are shown
          once, under all/. With --dir they are written to a folder
   ec2nodeclass   for instance groups with manager: Karpenter, whose nodes get no additionalUserData from kops: their
          EC2NodeClass objects, which kops made and which are among the files, with the message as user data.
          See docs/karpenter.md

Examples:
   kopshook render -o json examples/gpu/hooks.yaml examples/mixed/cluster.yaml
   kopshook render -o mime --group gpu-a examples/gpu/hooks.yaml examples/mixed/cluster.yaml
   kopshook render -o tree examples/gpu/hooks.yaml examples/mixed/cluster.yaml
   kubectl get ec2nodeclass -o yaml | kopshook render -o ec2nodeclass -f hooks.yaml cluster.yaml - | kubectl apply -f -`,
		Flags: append(planFlags(), pruneFlag(),
			formatFlag("yaml", "json", "mime", "tree", ec2NodeClass),
			groupFlag(), clusterFlag(),
			&cli.StringFlag{Name: "dir", Aliases: []string{"d"}, Usage: "with -o tree: write the files to `DIR`, which must be empty or new"},
		),
		Action: render,
	}
}

// ec2NodeClass is the form that Karpenter reads.
const ec2NodeClass = "ec2nodeclass"

func render(c *cli.Context) error {
	format := c.String("output")
	see := shown
	var classes []*nodeclass.Class
	if format == "mime" || format == ec2NodeClass {
		see = func(c *cli.Context) (out *plan.Output, err error) {
			out, classes, err = withNodeClasses(c)
			return out, err
		}
	}
	out, err := see(c)
	if err != nil {
		return err
	}
	if c.IsSet("dir") && format != "tree" {
		return report.Hint("add -o tree", "--dir goes with -o tree only")
	}
	switch format {
	case "yaml", "json":
		return renderParts(c, out.Groups, format)
	case "mime":
		return renderMIME(c, out.Groups)
	case "tree":
		return renderTree(c, out)
	case ec2NodeClass:
		return renderNodeClasses(c, out.Groups, classes)
	}
	return unknownFormat(c)
}

// rendered is what render -o json prints of an instance group; other programs build on it.
type rendered struct {
	InstanceGroup      string               `json:"instanceGroup"`
	Cluster            string               `json:"cluster,omitempty"`
	AdditionalUserData []generator.UserData `json:"additionalUserData"`
}

func renderParts(c *cli.Context, groups []*plan.Group, format string) error {
	list := []rendered{}
	for _, g := range groups {
		r := rendered{InstanceGroup: g.Name, Cluster: g.Cluster, AdditionalUserData: g.Parts}
		if r.AdditionalUserData == nil {
			r.AdditionalUserData = []generator.UserData{}
		}
		list = append(list, r)
	}
	if format == "json" {
		return printJSON(c.App.Writer, list)
	}
	out, err := yaml.Marshal(list)
	if err != nil {
		return err
	}
	return printText(c.App.Writer, out)
}

func renderMIME(c *cli.Context, groups []*plan.Group) error {
	if len(groups) != 1 {
		return report.Hint(chooseOne(labels(groups)), "-o mime prints the message of one instance group, not of %d", len(groups))
	}
	g := groups[0]
	nodeup := g.Nodeup
	if nodeup == nil {
		nodeup = []byte(cloudinit.NodeupPlaceholder)
	}
	return printText(c.App.Writer, g.Message(nodeup))
}
