package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/nodeclass"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// inputs are the files of a command, and where to say what is wrong in them.
type inputs struct {
	plan.Input
	around  []*clusterhooks.Doc // what kopshook exec runs: only the sources in them count here
	classes []*nodeclass.Class
	strict  bool
	warned  int // warnings that were printed
	stderr  io.Writer
}

func newInputs(strict bool, stderr io.Writer) *inputs {
	in := &inputs{strict: strict, stderr: stderr}
	in.Sources = map[string][]byte{}
	in.Other = func(name string, data []byte, r *report.Report) int {
		classes := nodeclass.Decode(name, data, r)
		in.classes = append(in.classes, classes...)
		if !bytes.Contains(data, []byte(clusterhooks.Kind)) {
			return len(classes)
		}
		found := clusterhooks.Decode(name, data, r)
		in.around = append(in.around, found...)
		return len(found) + len(classes)
	}
	return in
}

// specFlag is -f of every command that takes hook specs.
func specFlag() cli.Flag {
	return &cli.StringSliceFlag{
		Name:    "file",
		Aliases: []string{"f"},
		Usage: "hook `SPEC`: a file, a folder of files, or - for standard input; may be repeated. Without it, those of " +
			"$KOPSHOOK_FILES, separated as in PATH",
	}
}

// specNames are what -f names, or else KOPSHOOK_FILES.
func specNames(c *cli.Context) []string {
	if names := c.StringSlice("file"); len(names) > 0 {
		return names
	}
	return slices.DeleteFunc(filepath.SplitList(os.Getenv("KOPSHOOK_FILES")), func(name string) bool { return name == "" })
}

func strictFlag() cli.Flag {
	return &cli.BoolFlag{Name: "strict", Usage: "take warnings as errors"}
}

// readInputs reads -f and the arguments. It fails when a file cannot be read or holds nothing of use; what is wrong
// inside the files is in the report.
func readInputs(c *cli.Context) (*inputs, error) {
	return readFiles(c, c.Args().Slice())
}

// readFiles is readInputs for commands whose arguments are not all files.
func readFiles(c *cli.Context, args []string) (*inputs, error) {
	return readNamed(c, specNames(c), args)
}

// readNamed reads specs, as -f names them, and other files.
func readNamed(c *cli.Context, specs, args []string) (*inputs, error) {
	var names []string
	if slices.Contains(specs, "") || slices.Contains(args, "") {
		return nil, report.Hint("a variable may not be set: quote it, and look at what it holds", "an empty name is given")
	}
	for _, f := range specs {
		files, err := specFiles(f)
		if err != nil {
			return nil, err
		}
		names = append(names, files...)
	}
	fromFlags := len(names)
	names = append(names, args...)
	remedy := "name it once"
	if len(specs) > 0 && len(c.StringSlice("file")) == 0 {
		remedy = "leave it out: the files of KOPSHOOK_FILES are read too"
	}
	if err := refuseTwice(names, remedy); err != nil {
		return nil, err
	}
	var errs []error
	var files []plan.File
	for i, name := range names {
		data, err := readInput(c.Context, name, c.App.Reader)
		if err != nil {
			if info, statErr := os.Stat(name); statErr == nil && info.IsDir() {
				err = report.Hint("name the files in it, or give a folder of hook specs with -f", "%s: is a directory", name)
			}
			errs = append(errs, err)
			continue
		}
		files = append(files, plan.File{Name: name, Data: data, SpecsOnly: i < fromFlags})
	}
	in := newInputs(c.Bool("strict"), c.App.ErrWriter)
	in.Read(files...)
	return in, errors.Join(errs...)
}

// refuseTwice finds a file that is named twice: its instance groups would be printed twice.
func refuseTwice(names []string, remedy string) error {
	var seen []os.FileInfo
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return report.Hint(remedy, "%s: is given twice", display(name))
		}
		info, err := os.Stat(name)
		if err != nil {
			continue // reading it says so
		}
		for _, other := range seen {
			if os.SameFile(info, other) {
				return report.Hint(remedy, "%s: is given twice, under another name too", name)
			}
		}
		seen = append(seen, info)
	}
	return nil
}

// needManifests and needSpecs say what a command cannot do without.
func (in *inputs) needManifests(command string) error {
	if len(in.Manifests) > 0 || in.Report.HasErrors() {
		in.addNotRead()
		return nil
	}
	for _, f := range in.NotRead() {
		return report.Hint(f.Remedy, "no instance groups given: %s: %s", f.Position, f.Message)
	}
	return report.Hint("name kops manifests, or - for standard input; see kopshook "+command+" --help", "no instance groups given")
}

func (in *inputs) addNotRead() {
	for _, f := range in.NotRead() {
		in.Report.Add(f)
	}
}

func (in *inputs) needSpecs(command string) error {
	if len(in.Specs) > 0 || in.Report.HasErrors() {
		return nil
	}
	remedy := "give hook specs with -f or among the files; see kopshook " + command + " --help"
	if command == "vendor" || command == "edit" { // of which an argument is something else
		remedy = "give hook specs with -f; see kopshook " + command + " --help"
	}
	if len(in.around) > 0 {
		return report.Hint(remedy, "no hook specs given: %s holds %s, which is for kopshook exec", display(in.around[0].File), clusterhooks.Kind)
	}
	return report.Hint(remedy, "no hook specs given")
}

// mergeOptions are those that the command's options say.
func (in *inputs) mergeOptions(c *cli.Context, checks ...plan.Check) (plan.Options, error) {
	o := plan.Options{Loader: newLoader(c), Only: c.StringSlice("group"), Clusters: c.StringSlice("cluster"), Strict: in.strict, Prune: c.Bool("prune"), Checks: checks}
	for _, arg := range c.StringSlice("base") {
		group, file, named := strings.Cut(arg, "=")
		if !named {
			group, file = "", arg
		}
		data, err := readInput(c.Context, file, c.App.Reader)
		if err != nil {
			return o, err
		}
		o.Base = append(o.Base, plan.Base{Group: group, File: file, Data: data})
	}
	return o, nil
}

// merge merges what the files hold and prints all that there is to say. It fails when that has errors. Of commands that begin with a
// verdict, warnings come behind it.
func (in *inputs) merge(c *cli.Context, o plan.Options) (*plan.Output, error) {
	out, err := plan.Merge(c.Context, &in.Input, o)
	if err != nil {
		return nil, err
	}
	if slices.Contains(verdictFirst, c.Command.Name) && !out.Report.HasErrors() {
		c.App.Metadata[warnings] = func() error { return in.print(&out.Report) }
		return out, nil
	}
	return out, in.print(&out.Report)
}

// verdictFirst are the commands that begin with a verdict.
var verdictFirst = []string{"list", "diff", "check", "explain"}

// warnings is where the app keeps what is printed when the command has ended.
const warnings = "warnings"

// printWarnings prints what there is to say behind a verdict.
func printWarnings(c *cli.Context) error {
	if print, ok := c.App.Metadata[warnings].(func() error); ok {
		return print()
	}
	return nil
}

// finish prints what there is to say about the files, and fails when there are errors.
func (in *inputs) finish() error {
	in.Report.Settle(in.strict)
	err := in.print(&in.Report)
	in.Report.Findings = nil
	return err
}

func (in *inputs) print(r *report.Report) error {
	for _, f := range r.Findings {
		if f.Severity == report.Warning {
			in.warned++
		}
	}
	err := report.Text(in.stderr, r.Findings, report.TextOptions{
		Sources: in.Sources, Mask: source.Mask, Snippets: isTerminal(in.stderr), Color: colored(in.stderr)})
	if err == nil && r.HasErrors() {
		err = failed
	}
	return err
}

// specDir is the folder of a spec file; that of standard input is the current one.
func specDir(name string) string {
	if name == "-" {
		return "."
	}
	return filepath.Dir(name)
}
