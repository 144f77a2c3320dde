package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"
	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/krm"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func fnCommand() *cli.Command {
	return &cli.Command{
		Name:      "fn",
		Usage:     "run as a KRM function, for kustomize and kpt",
		UsageText: "kopshook fn [-f SPEC...] [--fetch] < RESOURCELIST",
		Description: `Reads a ResourceList on standard input and prints it with hooks merged into its instance groups. Hook specs are
functionConfig, items, or files given with -f; functionConfig may also be a ConfigMap with the options strict and
fetch. All other items pass through as they are. What there is to say stands in results, and on standard error.

Sources of a spec are looked up from the folder of its file, as the annotation internal.config.kubernetes.io/path says,
or from the current folder. Nothing is fetched without --fetch: remote sources have to be vendored or cached.

Examples:
   kopshook fn < examples/kustomize/resourcelist.yaml
   kopshook fn -f examples/gpu/hooks.yaml < examples/kustomize/resourcelist.yaml`,
		Flags: append([]cli.Flag{specFlag(), strictFlag()}, offlineFlags()...),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return report.Hint("give hook specs with -f", "fn takes no files: it reads a %s on standard input", krm.Kind)
			}
			if slices.Contains(specNames(c), "-") {
				return report.Hint("name a file", "-f -: standard input is the %s", krm.Kind)
			}
			out, results, err := runFunction(c)
			if c.Context.Err() != nil {
				return c.Context.Err() // and no answer
			}
			if err != nil {
				return err
			}
			if err := printResults(c.App.ErrWriter, results); err != nil {
				return err
			}
			if _, err := c.App.Writer.Write(out); err != nil {
				return err
			}
			if slices.ContainsFunc(results, func(r krm.Result) bool { return r.Severity == report.Error.String() }) {
				return failed
			}
			return nil
		},
	}
}

// function is one call of fn.
type function struct {
	*inputs
	list   *krm.List
	inList map[string]bool // file names of what stands in the list
}

// runFunction returns what fn prints: the list with everything merged or, where anything is wrong, as it came. What is
// no list, or cannot be answered with it, is answered by a list without items.
func runFunction(c *cli.Context) (out []byte, results []krm.Result, err error) {
	in, err := readFiles(c, nil)
	if in == nil {
		in = newInputs(c.Bool("strict"), c.App.ErrWriter)
	}
	f := &function{inputs: in, inList: map[string]bool{"": true, "-": true}}
	f.addError(err)
	data, err := readInput(c.Context, "-", c.App.Reader)
	f.addError(err)
	data = krm.Normalize(data)
	if err == nil {
		f.readList(data)
	}
	if f.list == nil {
		results = f.results()
		out, err = krm.Failed(results)
		return out, results, err
	}
	fetch := c.Bool("fetch")
	f.options(&fetch)
	merged := f.merge(c.Context, data, newOfflineLoader(c, fetch))
	results = f.results()
	if !f.Report.HasErrors() {
		data = merged
	}
	if out, err = f.list.Write(data, results); err != nil {
		f.addError(err)
		results = f.results()
		out, err = krm.Failed(results)
	}
	return out, results, err
}

// addError takes err for a finding about no place, unless it is nil.
func (f *function) addError(err error) {
	if err != nil {
		f.Report.AddError(report.Position{}, "", err)
	}
}

// readList reads the list and the hook specs in it.
func (f *function) readList(data []byte) {
	f.Sources["-"] = data
	if len(bytes.TrimSpace(data)) == 0 {
		f.addError(report.Hint("kustomize and kpt send one; see kopshook fn --help", "there is no %s on standard input", krm.Kind))
		return
	}
	lists := 0
	docs := hookspec.DecodeNested("-", data, func(root *yaml.Node) []*yaml.Node {
		if lists++; lists > 1 {
			return nil
		}
		list, err := krm.Read(root)
		if err != nil {
			f.addError(err)
			return nil
		}
		f.list = list
		var nodes []*yaml.Node
		for _, item := range list.Items {
			nodes = append(nodes, item.Node)
		}
		if list.Config != nil {
			nodes = append(nodes, list.Config.Node)
		}
		return nodes
	}, &f.Report)
	switch {
	case lists > 1:
		f.list = nil
		f.addError(report.Hint("send one", "standard input holds %d documents", lists))
	case lists == 0 && !f.Report.HasErrors():
		f.addError(fmt.Errorf("standard input is not a %s", krm.Kind))
	}
	if f.list == nil { // and so nobody asks where in it a spec stands
		return
	}
	for _, d := range docs {
		pos := d.Pos("")
		if item := f.list.At(pos.Line, pos.Col); item != nil && filepath.IsLocal(filepath.FromSlash(item.Path)) {
			d.File = filepath.FromSlash(item.Path) // sources are relative to it
			f.inList[d.File] = true
		}
	}
	f.Specs = append(f.Specs, docs...)
}

// options takes functionConfig for options, when it is no hook spec.
func (f *function) options(fetch *bool) {
	config := f.list.Config
	if config == nil || config.Kind == hookspec.Kind {
		return
	}
	line, col := config.Node.Line, config.Node.Column
	pos := report.Position{File: "-", Line: line, Col: col}
	if config.Kind != "ConfigMap" {
		f.Report.Errorf(pos, "kind", fmt.Sprintf("make it a hook spec (kind: %s), or a ConfigMap with options", hookspec.Kind),
			"functionConfig is a %q", config.Kind)
		return
	}
	known := map[string]*bool{"strict": &f.strict, "fetch": fetch}
	for key, s := range config.Options() {
		option := known[key]
		if option == nil {
			f.Report.Errorf(pos, "data."+key, "the options are strict and fetch", "functionConfig has the unknown option %q", key)
			continue
		}
		on, err := strconv.ParseBool(s)
		if err != nil {
			f.Report.Errorf(pos, "data."+key, `write "true" or "false"`, "option %s of functionConfig is %q", key, s)
		}
		*option = on
	}
}

// merge returns the list with all hooks merged; it is of use only when the report has no errors.
func (f *function) merge(ctx context.Context, data []byte, loader plan.Loader) []byte {
	if len(f.Specs) == 0 && !f.Report.HasErrors() {
		f.addError(report.Hint("give them as functionConfig, as items, or with -f",
			"there are no hook specs for the instance groups"))
	}
	in := &f.Input
	if _, ok := in.AddManifest("-", data); !ok || in.Report.HasErrors() {
		return nil
	}
	// one of several transformers knows its own spec alone
	alone := f.list.Config != nil && f.list.Config.Kind == hookspec.Kind && len(f.Specs) == 1
	o := plan.Options{Loader: loader, Strict: f.strict, Partial: alone, Write: true, Checks: []plan.Check{plan.Sizes(report.Error), plan.Arrival, plan.Hopeless}}
	if alone {
		o.Checks = append(o.Checks, plan.OthersHooks)
	} else {
		o.Checks = append(o.Checks, plan.Removals)
	}
	out, err := plan.Merge(ctx, in, o)
	if err != nil {
		f.addError(err)
		return nil
	}
	f.Report = out.Report
	if f.Report.HasErrors() {
		return nil
	}
	for _, g := range out.Groups {
		if len(g.Parts) > 0 {
			f.Report.Add(report.Finding{Severity: report.Info, Position: report.Position{File: "-", Line: g.Line}, Path: "spec.additionalUserData",
				Message: fmt.Sprintf("%s in %s of user data", count(len(g.Hooks), "hook"), count(len(g.Parts), "part"))})
		}
	}
	if len(out.Files) == 0 {
		return data // there are no instance groups
	}
	return out.Files[0].Bytes()
}

// results returns what the report says. With strict, warnings are errors.
func (f *function) results() []krm.Result {
	f.Report.Settle(f.strict)
	var results []krm.Result
	for _, finding := range f.Report.Findings {
		if finding.Severity == report.Info && f.Report.HasErrors() {
			continue // nothing was merged
		}
		list := f.list
		if !f.inList[finding.File] {
			list = nil // it is about a file that was given with -f, or that a spec names
		}
		if place := finding.Position.String(); list == nil && place != "" {
			finding.Message = place + ": " + finding.Message
		}
		results = append(results, list.NewResult(finding))
	}
	return results
}

// printResults says errors and warnings on standard error too: kustomize drops results.
func printResults(w io.Writer, results []krm.Result) error {
	for _, r := range results {
		if r.Severity == report.Info.String() {
			continue
		}
		where := "kopshook"
		if r.File != nil {
			where = r.File.Path
		}
		if r.ResourceRef != nil {
			where += fmt.Sprintf(": %s %s", r.ResourceRef.Kind, r.ResourceRef.Name)
		}
		f := report.Finding{Message: r.Message, Position: report.Position{File: where}}
		if r.Severity == report.Warning.String() {
			f.Severity = report.Warning
		}
		if err := report.Text(w, []report.Finding{f}, report.TextOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// count is "1 hook" or "2 hooks".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
