package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/convert"
	"kopshook.dev/kopshook/internal/report"
)

func convertCommand() *cli.Command {
	return &cli.Command{
		Name:      "convert",
		Usage:     "turn hooks of other systems into specs",
		UsageText: "kopshook convert --from SYSTEM [OPTIONS] FILE | -",
		Description: `Prints specs that do what the hooks of another system's file do. What cannot be converted is reported, each thing where
it stands, and stands as a comment above the result.

   tke              spec.features of a TKE cluster, JSON with comments or YAML
   eggo             the additions of a deploy configuration; folders of scripts with --prehook and its like
   kops             spec.hooks of Cluster and InstanceGroup manifests
   kubeadm          files and commands of Cluster API's KubeadmConfig, KubeadmControlPlane and their templates
   extensionconfig  Cluster API's ExtensionConfig; kopshook exec -f takes it as it is, too
   eksctl           preBootstrapCommands of a ClusterConfig
   helm             hooks of a rendered chart, or of a simple template in its chart's folder

Examples:
   kopshook convert --from kubeadm examples/convert/kubeadm.yaml > hooks.yaml
   kopshook convert --from eggo --prehook examples/convert/eggo/pre,worker > hooks.yaml`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "the `SYSTEM`: " + strings.Join(convert.Systems(), ", ")},
			strictFlag(),
			&cli.GenericFlag{Name: "prehook", Value: new(repeated), Usage: "eggo: `PATH,ROLE` of a script or folder; may be repeated"},
			&cli.GenericFlag{Name: "posthook", Value: new(repeated), Usage: "eggo: `PATH,ROLE` of a script or folder; may be repeated"},
			&cli.StringSliceFlag{Name: "cluster-prehook", Usage: "eggo: `PATH` of a script or folder; may be repeated"},
			&cli.StringSliceFlag{Name: "cluster-posthook", Usage: "eggo: `PATH` of a script or folder; may be repeated"},
			&cli.StringFlag{Name: "operator", Value: "deploy", Usage: "eggo: the `COMMAND` that had these options: deploy, join, cleanup or delete"},
			&cli.StringFlag{Name: "release", Usage: "helm: the `NAME` of the release (default: the chart's)"},
			&cli.StringFlag{Name: "namespace", Usage: "helm: the `NAMESPACE` of the release"},
		},
		Action: convertAction,
	}
}

func convertAction(c *cli.Context) error {
	in := newInputs(c.Bool("strict"), c.App.ErrWriter)
	opts := convert.Options{
		Eggo: convert.EggoOptions{
			PreHooks: *c.Generic("prehook").(*repeated), PostHooks: *c.Generic("posthook").(*repeated),
			ClusterPreHooks: c.StringSlice("cluster-prehook"), ClusterPostHooks: c.StringSlice("cluster-posthook"),
			Operator: c.String("operator"),
		},
		Helm: convert.HelmOptions{Release: c.String("release"), Namespace: c.String("namespace")},
	}
	from := c.String("from")
	if from == "" {
		return report.Hint("give it with --from: "+strings.Join(convert.Systems(), ", "), "the system is not named")
	}
	if err := convert.CheckSystem(from); err != nil {
		return err
	}
	for _, o := range [][2]string{{"prehook", "eggo"}, {"posthook", "eggo"}, {"cluster-prehook", "eggo"}, {"cluster-posthook", "eggo"},
		{"operator", "eggo"}, {"release", "helm"}, {"namespace", "helm"}} {
		if c.IsSet(o[0]) && from != o[1] {
			return report.Hint("leave it out", "--%s is for --from %s", o[0], o[1])
		}
	}
	e := &opts.Eggo
	byOption := len(e.PreHooks)+len(e.PostHooks)+len(e.ClusterPreHooks)+len(e.ClusterPostHooks) > 0
	name, dir := "", "."
	switch {
	case c.NArg() == 1:
		name = c.Args().First()
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			remedy := "name a file of it"
			if from == "helm" {
				remedy += ", or render the chart: helm template RELEASE CHART | kopshook convert --from helm -"
			}
			return report.Hint(remedy, "%s: is a directory", name)
		}
		data, err := readInput(c.Context, name, c.App.Reader)
		if err != nil {
			return err
		}
		in.Sources[name] = data
		dir = specDir(name)
	case c.NArg() > 1:
		return report.Hint("convert them one by one", "more than one file is given")
	case !byOption:
		return report.Hint("name a file, or - for standard input", "there is nothing to convert")
	}
	// converters see all paths from the file's folder
	for _, paths := range [][]string{e.PreHooks, e.PostHooks, e.ClusterPreHooks, e.ClusterPostHooks} {
		for i, p := range paths {
			if rel, err := filepath.Rel(dir, p); err == nil {
				paths[i] = rel
			}
		}
	}
	opts.ReadFile = func(file string) ([]byte, error) { return readInput(c.Context, relativeTo(dir, file), nil) }
	opts.ReadDir = func(folder string) ([]string, error) { return regularFiles(relativeTo(dir, folder)) }
	out := convert.Convert(from, name, in.Sources[name], opts, &in.Report)
	in.Sources = nil // printed lines of a cluster's description may hold passwords
	if err := in.finish(); err != nil {
		return err
	}
	_, err := bytes.NewReader(out).WriteTo(c.App.Writer)
	return err
}

func relativeTo(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// regularFiles lists the regular files of a folder, sorted, without those whose names begin with a dot.
func regularFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// repeated is an option that may be given several times; unlike cli.StringSlice it keeps commas.
type repeated []string

func (r *repeated) Set(s string) error {
	*r = append(*r, s)
	return nil
}

func (r *repeated) String() string { return strings.Join(*r, " ") }
