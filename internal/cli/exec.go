package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

const execUsage = "kopshook exec [OPTIONS] [-f] SPEC... -- kops COMMAND..."

func execCommand() *cli.Command {
	return &cli.Command{
		Name:      "exec",
		Usage:     "run hooks around a kops command",
		UsageText: execUsage,
		Description: `Runs the hooks of SPEC (kind: ClusterHooks, or an ExtensionConfig of Cluster API) on this machine, before and after the
kops command. What the command is, and for which cluster, is read from its words; without --yes no hooks run. What starts kops in its turn, such as env or
sudo, belongs in front of kopshook. A hook that fails before the command keeps it from starting. Where something is to run on
AfterControlPlaneUpgrade, rolling-update and reconcile run in two parts: the control plane first, the nodes after that.

The command's output, terminal, signals and exit code pass through. Exit codes of kopshook's own: 125 when a hook
failed or a report could not be written, 126 when the command cannot be started, 127 when it is not found, 2 when the
specs or options are wrong and nothing ran.

When a rolling update, a reconcile or a validation fails, kopshook says which machines are not nodes and why, as
kopshook status --cluster does.

Examples:
   kopshook exec examples/cluster-hooks/cluster-hooks.yaml -- kops rolling-update cluster --name main.example.com --yes
   kopshook exec --dry-run examples/cluster-hooks/cluster-hooks.yaml -- kops delete cluster --name main.example.com --yes`,
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{Name: "file", Aliases: []string{"f"}, Usage: "the same as `SPEC` before --: a file, a folder of files, or - for standard input; may be repeated"},
			&cli.StringSliceFlag{Name: "report", Usage: "write what ran to `FILE`: JSON if it ends in .json, JUnit if it ends in .xml, else text; may be repeated. Not with --dry-run"},
			&cli.DurationFlag{Name: "max-wait", Value: 30 * time.Minute, Usage: "how long extensions may hold the command back, a `DURATION`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would run, and the handlers of extensions; run nothing"},
			&cli.StringFlag{Name: "operation", Usage: "treat the command as `OPERATION` (" + strings.Join(clusterhooks.Operations, ", ") + "), whatever its arguments are"},
			&cli.StringFlag{Name: "cluster", Usage: "treat the command as one for the cluster `NAME`, whatever its arguments are"},
			&cli.StringFlag{Name: "context", Usage: "take Services and Secrets of extensions from the cluster of the kubeconfig's context `NAME` (default: the current one)"},
			&cli.StringFlag{Name: "work-dir", EnvVars: []string{"KOPSHOOK_WORK"}, Usage: "keep the hooks' work folders in `DIR` (default: $XDG_STATE_HOME/kopshook)"},
		}, sourceFlags()...),
		Action: execAction,
	}
}

func execAction(c *cli.Context) error {
	if err := clusterhooks.Supported(); err != nil {
		return err
	}
	specs, command, err := splitExec(c.StringSlice("file"), c.Args().Slice())
	if err != nil {
		return err
	}
	if err := checkExecOptions(c); err != nil {
		return err
	}
	in, err := readClusterHooks(c, specs)
	if err != nil {
		return err
	}
	if err := in.reportsHavePlace(c.StringSlice("report"), specs); err != nil {
		return err
	}
	workDir, err := workDirOf(c)
	if err != nil {
		return err
	}
	reports, err := openReports(c.StringSlice("report"))
	if err != nil {
		return err
	}
	// an interrupt is for the hooks, or for kops: not for the context of this program
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, notIgnored(clusterhooks.Signals...)...)
	defer signal.Stop(signals)
	if in := interruptionsOf(c.Context); in != nil {
		in.release()
	}
	if err := c.Context.Err(); err != nil {
		discardReports(reports)
		return err
	}
	stdout := c.App.Writer
	if w, ok := stdout.(*checkedWriter); ok && !c.Bool("dry-run") {
		stdout = w.w // the file itself: it may be the terminal that kops is to have
	}
	loader := newLoader(c)
	result, err := clusterhooks.Run(context.WithoutCancel(c.Context), clusterhooks.Options{
		Docs: in.around, Command: command, Operation: c.String("operation"), Cluster: c.String("cluster"),
		Load: func(ctx context.Context, d *clusterhooks.Doc, name string) ([]clusterhooks.Script, error) {
			return loadScripts(ctx, loader, d, name)
		},
		ReadFile: func(ctx context.Context, d *clusterhooks.Doc, name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(specDir(d.File), name)
			}
			return readInput(ctx, name, nil)
		},
		WorkDir: workDir, Context: c.String("context"), MaxWait: c.Duration("max-wait"), DryRun: c.Bool("dry-run"),
		Stdin: c.App.Reader, Stdout: stdout, Stderr: c.App.ErrWriter, Terminal: isTerminal(c.App.ErrWriter),
		Getenv: os.Getenv, Signals: signals,
	})
	if err != nil {
		discardReports(reports)
		return execError(c, err)
	}
	if c.Bool("dry-run") { // nothing ran, and a report of what did may lie there
		discardReports(reports)
		return endAs(c, result, nil)
	}
	reportErr := writeReports(reports, result)
	sayWhyNotNodes(c, result)
	signal.Stop(signals)
	return endAs(c, result, reportErr)
}

func checkExecOptions(c *cli.Context) error {
	if op := c.String("operation"); c.IsSet("operation") && !slices.Contains(clusterhooks.Operations, op) {
		remedy := "choose one of " + strings.Join(clusterhooks.Operations, ", ")
		if near := report.Nearest(op, clusterhooks.Operations); near != "" {
			remedy = "did you mean " + near + "?"
		}
		return report.Hint(remedy, "there is no operation %q", op)
	}
	if c.Duration("max-wait") < 0 {
		return report.Hint("0 fails as soon as an extension blocks", "--max-wait is %s, less than no time", c.Duration("max-wait"))
	}
	return nil
}

// endAs ends as kops did, by a signal too, or as a hook that failed.
func endAs(c *cli.Context, result *clusterhooks.Result, reportErr error) error {
	if result.Signal != 0 {
		if reportErr != nil {
			exitCode(reportErr, c.App.ErrWriter)
		}
		clusterhooks.Raise(result.Signal)
	}
	if result.Exit != 0 {
		return &exitError{code: result.Exit, err: reportErr}
	}
	if reportErr != nil { // 2 would say that nothing ran
		return &exitError{code: clusterhooks.ExitHookFailed, err: reportErr}
	}
	return nil
}

func workDirOf(c *cli.Context) (string, error) {
	dir := c.String("work-dir")
	if dir == "" {
		var err error
		if dir, err = clusterhooks.DefaultWorkDir(os.Getenv); err != nil {
			return "", err
		}
	}
	return filepath.Abs(dir)
}

// splitExec splits "SPEC... -- kops COMMAND...". named are the specs of -f.
func splitExec(named, args []string) (specs, command []string, err error) {
	const usage = "write " + execUsage
	i := slices.Index(args, "--")
	if i < 0 {
		return nil, nil, report.Hint(usage, "there is no -- between the specs and the kops command")
	}
	specs, command = args[:i], args[i+1:]
	for _, s := range specs {
		if strings.HasPrefix(s, "-") && s != "-" {
			return nil, nil, report.Hint(usage, "option %s stands behind a spec", s)
		}
	}
	specs = append(slices.Clone(named), specs...)
	if len(specs) == 0 || len(command) == 0 {
		return nil, nil, report.Hint(usage, "a spec and a kops command are needed")
	}
	return specs, command, nil
}

// readClusterHooks reads and checks all specs. It fails after printing what is wrong.
func readClusterHooks(c *cli.Context, names []string) (*inputs, error) {
	in := newInputs(false, c.App.ErrWriter)
	var errs []error
	var all []string
	for _, arg := range names {
		files, err := specFiles(arg)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, files...)
		if err := refuseTwice(all, "name it once, also where it lies in a folder that is named"); err != nil {
			return nil, err
		}
		// a folder may hold other files too, but nothing at all would be kops without the hooks that somebody counts on
		known, said := len(in.around), len(in.Report.Findings)+len(errs)
		for _, name := range files {
			data, err := readInput(c.Context, name, c.App.Reader)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			in.Sources[name] = data
			in.around = append(in.around, clusterhooks.Decode(name, data, &in.Report)...)
			if bytes.Contains(data, []byte(hookspec.Kind)) { // whose files no report may overwrite; else they are not of interest here
				in.Specs = append(in.Specs, hookspec.Decode(name, data, &report.Report{})...)
			}
		}
		if len(in.around) == known && len(in.Report.Findings)+len(errs) == said {
			in.Report.Errorf(report.Position{File: arg}, "",
				fmt.Sprintf("such a document begins with apiVersion: %s and kind: %s, or is an ExtensionConfig of Cluster API", hookspec.APIVersion, clusterhooks.Kind),
				"holds no cluster hooks")
		}
	}
	clusterhooks.CheckNames(in.around, &in.Report)
	if len(errs) > 0 {
		in.finish()
		return nil, errors.Join(errs...)
	}
	return in, in.finish()
}

func loadScripts(ctx context.Context, loader *source.Loader, d *clusterhooks.Doc, name string) ([]clusterhooks.Script, error) {
	files, err := loader.Load(ctx, source.Ref{SpecFile: d.File, Source: name, Dir: true})
	var scripts []clusterhooks.Script
	for _, f := range files {
		scripts = append(scripts, clusterhooks.Script{Name: f.Name, Content: f.Content})
	}
	return scripts, err
}

// execError prints errors that have positions; the command was not started.
func execError(c *cli.Context, err error) error {
	var several *clusterhooks.ReportError
	if errors.As(err, &several) {
		in := newInputs(false, c.App.ErrWriter)
		in.Report = several.Report
		return in.finish()
	}
	var not *clusterhooks.NotStarted
	if errors.As(err, &not) {
		return &exitError{code: not.Code, err: err}
	}
	return err
}
