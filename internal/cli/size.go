package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func baseFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "base", Usage: "size user data exactly: `[GROUP=]FILE` holds that of the group as " +
		"kops update cluster --target=terraform wrote it; may be repeated"}
}

// sizeOptions say how user data is measured, and whether too much of it stops the command.
type sizeOptions struct {
	base     []string // [GROUP=]FILE
	tooLarge report.Severity
	stdin    io.Reader

	scripts map[string][]byte // what base holds, by instance group; "" is for all
}

// newSizeOptions makes too much an error where it would reach the cloud; commands that show things show it.
func newSizeOptions(c *cli.Context) sizeOptions {
	o := sizeOptions{base: c.StringSlice("base"), tooLarge: report.Warning, stdin: c.App.Reader}
	if slices.Contains([]string{"merge", "check", "edit"}, c.Command.Name) {
		o.tooLarge = report.Error
	}
	return o
}

// checkSizes reports user data that its cloud does not take.
func (in *inputs) checkSizes(ctx context.Context, groups []*plan.Group) error {
	if err := in.sizes.read(ctx, groups); err != nil {
		return err
	}
	plan.CheckSizes(groups, in.sizes.nodeup, in.sizes.tooLarge, &in.report)
	return nil
}

// nodeup is kops' bootstrap script for a group, nil when --base does not hold it.
func (o *sizeOptions) nodeup(g *plan.Group) []byte {
	if b, ok := o.scripts[g.Name]; ok {
		return b
	}
	return o.scripts[""]
}

// read reads the files of --base.
func (o *sizeOptions) read(ctx context.Context, groups []*plan.Group) error {
	var names, roles []string
	for _, g := range groups {
		names = append(names, g.Name)
		if len(g.Parts) > 0 && g.Role != "Bastion" && !slices.Contains(roles, g.Role) {
			roles = append(roles, g.Role)
		}
	}
	o.scripts = map[string][]byte{}
	for _, arg := range o.base {
		group, file, named := strings.Cut(arg, "=")
		if !named {
			group, file = "", arg
		}
		if named && !slices.Contains(names, group) {
			remedy := "name one of " + strings.Join(names, ", ")
			return report.Hint(remedy, "--base %s: there is no instance group %q", arg, group)
		}
		if !named && len(roles) > 1 {
			return report.Hint("give each its own: --base GROUP=FILE",
				"--base %s: groups of roles %s differ in what kops writes", arg, strings.Join(roles, " and "))
		}
		data, err := readInput(ctx, file, o.stdin)
		if err != nil {
			return err
		}
		if o.scripts[group], err = cloudinit.Nodeup(data); err != nil {
			return report.Hint("give a file such as data/aws_launch_template_GROUP.CLUSTER_user_data", "%s: %w", display(file), err)
		}
	}
	return nil
}
