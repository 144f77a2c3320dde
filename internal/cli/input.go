package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// inputs are the files of a command, each document told by its kind.
type inputs struct {
	specs     []*hookspec.Doc
	manifests []*plan.Manifest
	specFiles []string            // files with hook specs, in the order in which they were read
	around    []*clusterhooks.Doc // what kopshook exec runs: only the sources in them count here
	sources   map[string][]byte   // bytes by file name, for snippets
	report    report.Report
	strict    bool
	only      []string // globs of --group: the command is about these instance groups; none is all
	sizes     sizeOptions
	stderr    io.Writer
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
	in := &inputs{sources: map[string][]byte{}, strict: c.Bool("strict"), sizes: newSizeOptions(c),
		only: c.StringSlice("group"), stderr: c.App.ErrWriter}
	var names []string
	specs := specNames(c)
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
	if err := refuseTwice(names); err != nil {
		return nil, err
	}
	var errs []error
	for i, name := range names {
		data, err := readInput(c.Context, name, c.App.Reader)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		in.add(name, data, i < fromFlags)
	}
	in.refuseSameGroup()
	return in, errors.Join(errs...)
}

// refuseTwice finds a file that is named twice: its instance groups would be printed twice.
func refuseTwice(names []string) error {
	var seen []os.FileInfo
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return report.Hint("name it once", "%s: is given twice", display(name))
		}
		info, err := os.Stat(name)
		if err != nil {
			continue // reading it says so
		}
		for _, other := range seen {
			if os.SameFile(info, other) {
				return report.Hint("name it once", "%s: is given twice, under another name too", name)
			}
		}
		seen = append(seen, info)
	}
	return nil
}

// add reads the documents of one file. A file from -f may hold hook specs only.
func (in *inputs) add(name string, data []byte, specsOnly bool) {
	in.sources[name] = data
	pos := report.Position{File: name}
	if len(bytes.TrimSpace(data)) == 0 {
		in.report.Errorf(pos, "", "give a kops manifest or a hook spec", "the file is empty")
		return
	}
	var docs []*hookspec.Doc
	before := len(in.report.Findings)
	if specsOnly || bytes.Contains(data, []byte("InstanceGroupHook")) || bytes.Contains(data, []byte("kopshook.dev/")) {
		docs = hookspec.Decode(name, data, &in.report)
	}
	if len(docs) > 0 {
		in.specs = append(in.specs, docs...)
		in.specFiles = append(in.specFiles, name)
	}
	around := 0
	if bytes.Contains(data, []byte(clusterhooks.Kind)) {
		found := clusterhooks.Decode(name, data, &in.report)
		in.around = append(in.around, found...)
		around = len(found)
	}
	said := len(in.report.Findings) > before
	if specsOnly {
		if len(docs)+around == 0 && !said {
			in.report.Errorf(pos, "", fmt.Sprintf("a hook spec begins with apiVersion: %s and kind: %s", hookspec.APIVersion, hookspec.Kind),
				"holds no hook spec")
		}
		return
	}
	if said || len(docs)+around > 0 && !bytes.Contains(data, []byte("InstanceGroup\n")) && !bytes.Contains(data, []byte("kops")) {
		return
	}
	f, err := instancegroups.Parse(name, data)
	if err != nil {
		in.addManifestError(err)
		return
	}
	for _, w := range f.Warnings() {
		in.addManifestFinding(report.Warning, w)
	}
	if len(f.Groups()) > 0 || len(f.Clusters()) > 0 {
		in.manifests = append(in.manifests, &plan.Manifest{Name: name, File: f})
		return
	}
	if len(docs)+around == 0 {
		in.report.Errorf(pos, "", fmt.Sprintf("give kops manifests (kind: InstanceGroup) or hook specs (kind: %s)", hookspec.Kind),
			"holds neither instance groups nor hook specs")
	}
}

func (in *inputs) addManifestError(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			in.addManifestError(e)
		}
		return
	}
	var e *instancegroups.Error
	if errors.As(err, &e) {
		in.addManifestFinding(report.Error, e)
		return
	}
	in.report.AddError(report.Position{}, "", err)
}

func (in *inputs) addManifestFinding(severity report.Severity, e *instancegroups.Error) {
	in.report.Add(report.Finding{Severity: severity, Position: report.Position{File: e.File, Line: e.Line, Col: e.Col},
		Path: e.Path, Message: e.Message, Remedy: e.Remedy})
}

// refuseSameGroup finds an instance group that stands in two files: it is not to be known which one kops would keep.
func (in *inputs) refuseSameGroup() {
	type key struct{ cluster, name string }
	seen := map[key]report.Position{}
	for _, m := range in.manifests {
		for _, g := range m.Groups() {
			pos := report.Position{File: m.Name, Line: g.Line}
			k := key{g.Cluster, g.Name}
			if first, ok := seen[k]; ok && first.File != m.Name {
				in.report.Errorf(pos, "", "keep it in one file", "instance group %q stands in %s too", g.Name, first)
			}
			seen[k] = pos
		}
	}
}

// needManifests and needSpecs say what a command cannot do without.
func (in *inputs) needManifests(command string) error {
	if len(in.manifests) == 0 && !in.report.HasErrors() {
		return report.Hint("name kops manifests, or - for standard input; see kopshook "+command+" --help", "no instance groups given")
	}
	return nil
}

func (in *inputs) needSpecs(command string) error {
	if len(in.specs) == 0 && !in.report.HasErrors() {
		return report.Hint("give hook specs with -f or among the files; see kopshook "+command+" --help", "no hook specs given")
	}
	return nil
}

// plan decides what each instance group gets. It prints the report, and fails when that has errors.
func (in *inputs) plan(ctx context.Context, loader plan.Loader) ([]*plan.Group, error) {
	var groups []*plan.Group
	if !in.report.HasErrors() {
		groups = plan.Make(ctx, in.specs, in.manifests, loader, &in.report)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !in.report.HasErrors() {
		var err error
		if groups, err = onlyGroups(groups, in.only); err != nil {
			return nil, err
		}
		if err := in.checkSizes(ctx, groups); err != nil {
			return nil, err
		}
		in.checkArrival(groups)
	}
	return groups, in.finish()
}

// settle sorts what there is to say. With --strict, warnings become errors.
func (in *inputs) settle() {
	in.report.Sort()
	if in.strict {
		for i := range in.report.Findings {
			if f := &in.report.Findings[i]; f.Severity == report.Warning {
				f.Severity = report.Error
			}
		}
	}
}

// finish prints what there is to say, and fails when there are errors.
func (in *inputs) finish() error {
	in.settle()
	err := report.Text(in.stderr, in.report.Findings, report.TextOptions{
		Sources: in.sources, Mask: source.Mask, Snippets: isTerminal(in.stderr), Color: colored(in.stderr)})
	if err != nil {
		return err
	}
	bad := in.report.HasErrors()
	in.report.Findings = nil
	if bad {
		return failed
	}
	return nil
}

// specDir is the folder of a spec file; that of standard input is the current one.
func specDir(name string) string {
	if name == "-" {
		return "."
	}
	return filepath.Dir(name)
}
