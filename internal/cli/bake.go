package cli

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func bakeCommand() *cli.Command {
	return &cli.Command{
		Name:      "bake",
		Usage:     "print a script that runs once-per-image hooks while an image is made",
		UsageText: "kopshook bake [-f SPEC...] [--group NAME] FILE...",
		Description: `The script is POSIX sh and needs nothing else. Run it as root in the image: with Packer's shell provisioner, EC2 Image
Builder, virt-customize or in a chroot. It runs the hooks of one instance group that say run: once-per-image, in order,
as a node would: attempts, timeout, verify, files, drop-ins, environment. In /var/lib/kopshook/@image it notes the hash
of each that is done, and it leaves nothing else of kopshook.

On a node of the image such a hook is done when its verify succeeds. When verify fails, or the hook has changed since,
the hook runs as ever. When a hook asks for a reboot (rebootExitCodes), the script ends with that exit status: reboot
and run it again.

Example:
   kopshook bake -f examples/recipes/nvidia-container-toolkit.yaml --group gpu-a examples/mixed/cluster.yaml > bake.sh`,
		Flags: append(append([]cli.Flag{specFlag(), strictFlag()}, sourceFlags()...),
			&cli.StringFlag{Name: "group", Aliases: []string{"g"}, Usage: "the instance group that the image is for: its `NAME` or CLUSTER/NAME, or a glob that matches one"},
			clusterFlag(),
		),
		Action: bake,
	}
}

func bake(c *cli.Context) error {
	g, err := oneGroup(c, func(g *plan.Group) bool {
		return slices.ContainsFunc(g.Hooks, func(h hookspec.Resolved) bool { return h.OncePerImage })
	})
	if err != nil {
		return err
	}
	if reason := g.Unsupported(); reason != "" {
		return report.Hint("choose another with --group NAME", "instance group %q gets no hooks: %s", g.Name, reason)
	}
	var hooks []generator.Hook
	for _, h := range g.Hooks {
		hooks = append(hooks, h.Hook)
	}
	script, err := generator.Bake(generator.InstanceGroup{Cluster: g.Cluster, Name: g.Name, Role: g.Role}, g.Runtime, hooks)
	if errors.Is(err, generator.ErrNothingToBake) {
		return report.Hint("write run: once-per-image in those hooks whose result every machine of the image may share; name their spec with -f",
			"no hook of instance group %q says run: once-per-image", g.Name)
	}
	if err != nil {
		return err
	}
	return printText(c.App.Writer, []byte(script))
}
