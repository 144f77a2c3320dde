package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/localcluster"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func tryCommand() *cli.Command {
	return &cli.Command{
		Name:      "try",
		Usage:     "boot a merged instance group in a local container",
		UsageText: "kopshook try [-f SPEC...] [--group NAME] [--suite SUITE] [--boots N] [--secret NAME=FILE]... [--bucket DIR] [--kops DIR] [--shell] FILE... | -",
		Description: `Boots a node with the user data of one instance group, hooks merged, in a container on this machine: real systemd and
cloud-init, and stand-ins for nodeup, containerd and the kubelet that write and start the units that kops' own do. It
prints what happens as it happens and at the end what failed and why, and exits 1 when the node would not have joined.

The hooks' scripts run for real, as root, in the container: try what you trust. They have no network unless you say
--network host. It needs Linux, root, mmdebstrap and systemd-nspawn; it says what is missing. A root file system of
the suite is built once and kept in $KOPSHOOK_CACHE, or in the user's cache folder.

What hooks read as their machine comes from files of yours: a secret from --secret, files of buckets from --bucket, and
archives of archiveURL as they would be pushed. The node asks for them as ever, of a cloud that is played inside it.

With --kops DIR nothing of the node stands in: DIR has the programs of a kops cluster. kops writes the user data, its nodeup
installs containerd and the kubelet, and the node joins an API server that runs here meanwhile. It takes minutes.

With --shell you look around in the node that did not join, as root, and try remedies; the boot goes on when you leave.

Examples:
   sudo kopshook try -f examples/root-ca/hooks.yaml --group nodes examples/mixed/cluster.yaml
   sudo kopshook try --shell -f hooks.yaml --group nodes cluster.yaml
   sudo kopshook try --suite bookworm --boots 3 -o json merged.yaml > boots.json
   sudo kopshook try --warm-pool -f examples/root-ca/hooks.yaml --group nodes examples/mixed/cluster.yaml
   sudo kopshook try --secret aws-ssm:/prod/token=token.txt -f hooks.yaml --group nodes cluster.yaml
   sudo kopshook try --kops programs --boots 1 -f examples/root-ca/hooks.yaml --group nodes examples/mixed/cluster.yaml`,
		Flags: append(append([]cli.Flag{specFlag(), strictFlag()}, sourceFlags()...),
			&cli.StringFlag{Name: "group", Aliases: []string{"g"}, Usage: "the instance group to boot: its `NAME` or CLUSTER/NAME, or a glob that matches one"},
			clusterFlag(),
			&cli.StringFlag{Name: "suite", Value: boot.Suites[0].Name, Usage: "the `SUITE` that the node is made of: " + suiteNames()},
			&cli.IntFlag{Name: "boots", Value: 2, Usage: "boot `N` times, with an orderly reboot in between"},
			&cli.BoolFlag{Name: "warm-pool", Usage: "the first boot is that of a machine in an AWS warm pool: it is stopped before its kubelet is started"},
			&cli.StringFlag{Name: "base", Usage: "`FILE` with user data that kops wrote, for its nodeup.sh in place of a stand-in"},
			&cli.StringSliceFlag{Name: "secret", Usage: "`NAME=FILE`: the node gets the content of FILE for secret: NAME; may be repeated"},
			&cli.StringFlag{Name: "bucket", Usage: "`DIR` with BUCKET/KEY, or ACCOUNT/CONTAINER/KEY, for each file of a bucket that hooks name"},
			&cli.StringFlag{Name: "kops", Usage: "`DIR` with the programs of a kops cluster: boot a real node, and let it join"},
			&cli.DurationFlag{Name: "timeout", Value: 10 * time.Minute, Usage: "how long one boot may take to settle, a `DURATION`"},
			&cli.StringFlag{Name: "network", Value: "none", Usage: "`NETWORK`: none, or host: the node shares this machine's network"},
			&cli.StringSliceFlag{Name: "package", Usage: "also install the package `NAME` on the node; may be repeated"},
			&cli.BoolFlag{Name: "shell", Usage: "open a shell in the node when it has not joined, or else at the end of the last boot"},
			&cli.StringFlag{Name: "keep", Usage: "keep the node's disk, journals and console in `DIR`, which must be empty or new"},
			formatFlag("text", "json"),
		),
		Action: try,
	}
}

func suiteNames() string {
	var names []string
	for _, s := range boot.Suites {
		names = append(names, s.Name+" ("+s.Title+")")
	}
	return strings.Join(names, ", ")
}

func try(c *cli.Context) error {
	if f := c.String("output"); f != "text" && f != "json" {
		return unknownFormat(c)
	}
	config, err := tryConfig(c)
	if err != nil {
		return err
	}
	group, parts, err := tryGroup(c)
	if err != nil {
		return err
	}
	surroundings, err := tryCloud(c, group)
	if err != nil {
		return err
	}
	var manifest []byte // for --kops
	if c.IsSet("kops") {
		manifest, err = realGroup(c, group, parts)
	} else {
		config.UserData, err = tryUserData(c, group, parts)
	}
	if err != nil {
		return err
	}
	missing, err := tryMissing(c)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		for _, m := range missing {
			fmt.Fprintf(c.App.ErrWriter, "kopshook: missing here: %s\n", m)
		}
		return failed
	}
	t := &trial{c: c, bastion: group.Role == "Bastion", strict: c.Bool("strict"), text: io.Discard,
		result: tried{InstanceGroup: group.Name, Suite: config.Suite, Joined: true}}
	if manifest != nil {
		t.real, t.machine, err = startReal(c, group.Name, manifest, config)
	} else {
		t.machine, err = boot.New(c.Context, config)
	}
	if err == nil && surroundings != nil {
		err = surround(c.Context, t.machine, surroundings)
	}
	if err != nil {
		return err
	}
	if c.String("output") == "text" {
		t.text = c.App.Writer
	}
	if c.Bool("shell") {
		t.shell = &trialShell{out: &heldWriter{w: c.App.Writer}}
		t.text = t.shell.out
	}
	warm := c.Bool("warm-pool")
	err = errors.Join(t.machine.SetNodeup(boot.Nodeup{Warming: warm}), t.run(c.Int("boots"), warm), t.machine.Close())
	if t.real != nil {
		err = errors.Join(err, t.real.cluster.Close())
	}
	if err != nil {
		return err
	}
	if dir := c.String("keep"); dir != "" {
		fmt.Fprintf(c.App.ErrWriter, "kopshook: kept in %s: boot-N/console, boot-N/journal, and the node's files in disk/root\n", dir)
	}
	fmt.Fprintln(t.text, t.summary())
	if c.String("output") == "json" {
		if err := printJSON(c.App.Writer, t.result); err != nil {
			return err
		}
	}
	if !t.result.Joined {
		return differs
	}
	return nil
}

// tryMissing lists what this machine lacks.
func tryMissing(c *cli.Context) ([]string, error) {
	suite, err := boot.FindSuite(c.String("suite"))
	if err != nil {
		return nil, err
	}
	missing := boot.Requirements(suite)
	if c.IsSet("kops") {
		missing = append(missing, localcluster.Missing(c.String("kops"))...)
	}
	return missing, nil
}

// tryUserData is what the instance gets, with nodeup.sh of --base or the stand-in.
func tryUserData(c *cli.Context, group *plan.Group, parts []cloudinit.Part) ([]byte, error) {
	nodeup := boot.NodeupScript
	if base := c.String("base"); base != "" {
		data, err := readInput(c.Context, base, c.App.Reader)
		if err != nil {
			return nil, err
		}
		if nodeup, err = cloudinit.Nodeup(data); err != nil {
			return nil, report.Hint(plan.BaseRemedy, "%s: %w", display(base), err)
		}
	}
	if c.Bool("warm-pool") && group.Role != "Node" && group.Role != "APIServer" { // upup/pkg/fi/nodeup/command.go:760 of kops 1.36.2
		return nil, report.Hint("leave out --warm-pool", "instance group %q has the role %s: kops keeps warm pools for Node and APIServer only", group.Name, group.Role)
	}
	return cloudinit.Message(nodeup, group.Role, parts), nil
}

// tryConfig is what the options say of the machine.
func tryConfig(c *cli.Context) (boot.Config, error) {
	config := boot.Config{Suite: c.String("suite"), Packages: c.StringSlice("package"), Dir: c.String("keep"), Progress: c.App.ErrWriter}
	if _, err := boot.FindSuite(config.Suite); err != nil {
		return config, err
	}
	for _, name := range config.Packages {
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.+-") != "" || name == "" || strings.HasPrefix(name, "-") {
			return config, fmt.Errorf("--package %q is no name of a package", name)
		}
	}
	switch network := c.String("network"); network {
	case "none":
	case "host":
		config.Network = true
	default:
		return config, report.Hint("say none or host", "--network %q is not known", network)
	}
	if c.Int("boots") < 1 {
		return config, report.Hint("say --boots 1 or more", "--boots %d boots nothing", c.Int("boots"))
	}
	if c.Bool("warm-pool") && c.Int("boots") < 2 {
		return config, report.Hint("say --boots 2 or more", "--warm-pool with --boots %d ends before the machine joins", c.Int("boots"))
	}
	if c.Duration("timeout") <= 0 {
		return config, report.Hint("say --timeout 10m, for instance", "--timeout %s is no time", c.Duration("timeout"))
	}
	if c.IsSet("kops") {
		if err := kopsOptions(c); err != nil {
			return config, err
		}
	}
	if c.Bool("shell") {
		if err := shellOptions(c); err != nil {
			return config, err
		}
	}
	if config.Dir != "" {
		if entries, err := os.ReadDir(config.Dir); err == nil && len(entries) > 0 {
			return config, report.Hint("remove it first, or name another folder", "%s: is not empty", config.Dir)
		}
	}
	return config, nil
}

// tryGroup chooses the instance group and returns it with all its user data, hooks merged. Without hook specs it is
// booted as it is in the manifest.
func tryGroup(c *cli.Context) (*plan.Group, []cloudinit.Part, error) {
	g, err := oneGroup(c, func(g *plan.Group) bool { return len(g.Parts) > 0 || len(g.Ours()) > 0 })
	if err != nil {
		return nil, nil, err
	}
	if reason := g.Unsupported(); reason != "" {
		return nil, nil, fmt.Errorf("instance group %q cannot be booted here: %s", g.Name, reason)
	}
	return g, g.Merged(), nil
}

// oneGroup plans and returns the group that --group names, or else the only one, or the only one of use.
func oneGroup(c *cli.Context, use func(*plan.Group) bool) (*plan.Group, error) {
	in, err := readInputs(c)
	if err != nil {
		return nil, err
	}
	if err := in.needManifests(c.Command.Name); err != nil {
		return nil, err
	}
	o := plan.Options{Loader: newLoader(c), Clusters: c.StringSlice("cluster"), Strict: in.strict, Checks: []plan.Check{plan.Sizes(report.Warning), plan.Arrival, plan.Hopeless}}
	if name := c.String("group"); name != "" {
		o.Only = []string{name}
	}
	out, err := in.merge(c, o)
	if err != nil {
		return nil, err
	}
	groups := out.Groups
	if len(groups) > 1 {
		if some := slices.DeleteFunc(slices.Clone(groups), func(g *plan.Group) bool { return !use(g) }); len(some) > 0 {
			groups = some
		}
	}
	if len(groups) != 1 {
		names := labels(groups)
		return nil, report.Hint(chooseOne(names), "%s takes one instance group at a time; there are %s", c.Command.Name, strings.Join(names, ", "))
	}
	return groups[0], nil
}
