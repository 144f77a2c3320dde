package cli

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
	"kopshook.dev/kopshook/internal/source"
)

func lockCommand() *cli.Command {
	return &cli.Command{
		Name:      "lock",
		Usage:     "pin the remote sources of specs",
		UsageText: "kopshook lock [-f SPEC...] [--update [NAME...] | --check] [--key FILE] [SPEC...]",
		Description: `Fetches the remote sources that are not locked yet and writes what they are now into kopshook.lock.yaml, in the folder
of the specs: commit it. All other commands use those bytes and no others. A lock file is for all specs of its folder;
sources that none of them names are removed. When one source cannot be fetched, no file is written.

--update takes what is there now, of all sources or of the hooks or sources that are named. --check writes and
fetches nothing: exit code 1 when a source is missing in a lock file, or no longer named, or a copy that kopshook vendor
made is missing or was edited.

--key FILE is for sources of registries, oci://: they are locked only when cosign's key has signed them. FILE is the public key, and
the lock file keeps it, so that later updates need a signature too. With --key none they do not.

Examples:
   kopshook lock -f examples/gpu
   kopshook lock -f examples/gpu --update
   kopshook lock -f examples/gpu --check
   kopshook lock -f examples/oci --check`,
		Flags: append([]cli.Flag{
			specFlag(),
			&cli.BoolFlag{Name: "update", Usage: "take what is there now, of all sources, or of the hooks and sources named as arguments"},
			&cli.BoolFlag{Name: "check", Usage: "write nothing; exit 1 when something would be written"},
			&cli.StringFlag{Name: "key", Usage: "the public key in `FILE` must have signed what is locked of registries; none: no key"},
		}, sourceFlags()...),
		Action: lock,
	}
}

func lock(c *cli.Context) error {
	if c.Bool("update") && c.Bool("check") {
		return report.Hint("run one, then the other", "--update and --check exclude each other")
	}
	files, names := c.Args().Slice(), []string(nil)
	if c.Bool("update") {
		files, names = splitNames(files)
	}
	in, err := readSpecs(c, files)
	if err != nil {
		return err
	}
	sources := in.namedSources()
	update, err := updateOf(sources, c.Bool("update"), names)
	if err != nil {
		return err
	}
	loader := newLoader(c)
	if loader.Key, err = keyFlag(c, sources); err != nil {
		return err
	}
	var changes []source.Change
	if c.Bool("check") {
		changes, err = loader.CheckLock(refs(sources))
	} else {
		changes, err = loader.Lock(c.Context, refs(sources), update)
	}
	if c.Context.Err() != nil {
		return c.Context.Err()
	}
	err = in.addSourceErrors(sources, err)
	if err != nil && changes == nil {
		return err
	}
	written := writeLocks(c, changes)
	if err != nil { // copies that are missing or edited: --check was asked for that
		return differs
	}
	if written == nil {
		sayVendor(c, changes)
	}
	return written
}

// sayVendor says where copies are of what was locked before: all commands refuse them. It names all specs that were given and
// share the folder: one command brings the copies of all.
func sayVendor(c *cli.Context, changes []source.Change) {
	specs, stale := map[string]string{}, map[string]bool{}
	for _, ch := range changes {
		if ch.New.Vendor == "" {
			continue
		}
		folder := filepath.Dir(ch.Path)
		dir := filepath.Join(folder, filepath.FromSlash(ch.New.Vendor))
		specs[dir] += " -f " + shell.Word(folder)
		stale[dir] = stale[dir] || len(ch.Added())+len(ch.Changed()) > 0
	}
	for _, dir := range slices.Sorted(maps.Keys(specs)) {
		if stale[dir] {
			fmt.Fprintf(c.App.ErrWriter, "kopshook: %s does not hold what is locked now: run `kopshook vendor%s %s`\n",
				report.OneLine(dir), report.OneLine(specs[dir]), report.OneLine(shell.Word(dir)))
		}
	}
}

// keyFlag reads what --key names.
func keyFlag(c *cli.Context, sources []namedSource) (string, error) {
	name := c.String("key")
	switch {
	case !c.IsSet("key"):
		return "", nil
	case c.Bool("check"):
		return "", report.Hint("leave out one of them", "--key is for what is locked, and --check locks nothing")
	case !slices.ContainsFunc(sources, func(s namedSource) bool { return source.IsRegistry(s.Source) }):
		return "", report.Hint("leave it out", "--key is for sources of registries, oci://, and no spec has one")
	case name == source.NoKey:
		return name, nil
	}
	return source.ReadKey(name)
}

// writeLocks writes the lock files that change, unless --check, and prints how.
func writeLocks(c *cli.Context, changes []source.Change) error {
	changed := false
	for _, ch := range changes {
		if ch.Empty() {
			continue
		}
		changed = true
		if !c.Bool("check") {
			if err := ch.Write(); err != nil {
				return err
			}
		}
		fmt.Fprintf(c.App.Writer, "%s:\n", report.OneLine(ch.Path))
		for _, line := range slices.Concat(prefixed("+ ", ch.Added()), prefixed("~ ", ch.Changed()), prefixed("- ", ch.Removed())) {
			fmt.Fprintln(c.App.Writer, "  "+report.OneLine(line))
		}
		if ch.Old.Vendor != ch.New.Vendor {
			fmt.Fprintf(c.App.Writer, "  vendor: %s\n", report.OneLine(ch.New.Vendor))
		}
	}
	if changed && c.Bool("check") {
		return differs
	}
	return nil
}

func prefixed(prefix string, lines []string) []string {
	var out []string
	for _, l := range lines {
		out = append(out, prefix+l)
	}
	return out
}

// namedSource is a source and the place in a spec that names it.
type namedSource struct {
	source.Ref
	hook string
	pos  report.Position
	path string
}

// readSpecs reads specs alone, and with them all other specs in their folders: a lock file is for all of these.
func readSpecs(c *cli.Context, files []string) (*inputs, error) {
	in, err := readFiles(c, files)
	if err != nil {
		return nil, err
	}
	if len(in.around) == 0 {
		if err := in.needSpecs(c.Command.Name); err != nil {
			return nil, err
		}
	}
	read := map[string]bool{}
	for name := range in.Sources {
		read[filepath.Clean(name)] = true
	}
	named := slices.Clone(in.SpecFiles)
	for _, d := range in.around {
		named = append(named, d.File)
	}
	for _, name := range named {
		beside, err := specFiles(specDir(name))
		if err != nil {
			continue // there is only the one spec, of standard input or not named as one
		}
		for _, other := range beside {
			if read[filepath.Clean(other)] {
				continue
			}
			read[filepath.Clean(other)] = true
			data, err := readInput(c.Context, other, c.App.Reader)
			if err != nil {
				return nil, err
			}
			if bytes.Contains(data, []byte("kind: "+hookspec.Kind)) || bytes.Contains(data, []byte(`"`+hookspec.Kind+`"`)) {
				in.Sources[other] = data
				in.Specs = append(in.Specs, hookspec.Decode(other, data, &in.Report)...)
			}
			if bytes.Contains(data, []byte(clusterhooks.Kind)) {
				in.Sources[other] = data
				in.around = append(in.around, clusterhooks.Decode(other, data, &in.Report)...)
			}
		}
	}
	return in, in.finish()
}

// namedSources lists the sources that the specs name, in their order, overrides and hooks that are off included.
func (in *inputs) namedSources() []namedSource {
	var all []namedSource
	for _, d := range in.Specs {
		add := func(name, path string, h *hookspec.Hook) {
			if h.Source != nil {
				p := path + ".source"
				all = append(all, namedSource{source.Ref{SpecFile: d.File, Source: *h.Source, Dir: true}, name, d.Pos(p), p})
			}
			for i, f := range h.Files {
				if f.Source != nil {
					p := fmt.Sprintf("%s.files[%d].source", path, i)
					all = append(all, namedSource{source.Ref{SpecFile: d.File, Source: *f.Source}, name, d.Pos(p), p})
				}
			}
		}
		for i := range d.Spec.Spec.Hooks {
			h := &d.Spec.Spec.Hooks[i]
			add(h.Name, fmt.Sprintf("spec.hooks[%d]", i), h)
		}
		for i, o := range d.Spec.Spec.Overrides {
			for _, name := range slices.Sorted(maps.Keys(o.Hooks)) {
				h := o.Hooks[name]
				add(name, fmt.Sprintf("spec.overrides[%d].hooks.%s", i, name), &h)
			}
		}
	}
	for _, d := range in.around {
		for i, h := range d.Hooks {
			if h.Source != nil {
				p := fmt.Sprintf("spec.hooks[%d].source", i)
				all = append(all, namedSource{source.Ref{SpecFile: d.File, Source: *h.Source, Dir: true}, h.Name, d.Pos(p), p})
			}
		}
	}
	// a spec without remote sources still has its folder's lock file looked at
	var files []string
	for _, d := range in.Specs {
		files = append(files, d.File)
	}
	for _, d := range in.around {
		files = append(files, d.File)
	}
	for _, file := range files {
		if !slices.ContainsFunc(all, func(s namedSource) bool { return s.SpecFile == file }) {
			all = append(all, namedSource{Ref: source.Ref{SpecFile: file, Source: "."}})
		}
	}
	return all
}

func refs(sources []namedSource) []source.Ref {
	var out []source.Ref
	for _, s := range sources {
		out = append(out, s.Ref)
	}
	return out
}

// splitNames tells the files among the arguments of --update from names of hooks and sources.
func splitNames(args []string) (files, names []string) {
	for _, a := range args {
		if info, err := os.Stat(a); a == "-" || err == nil && !info.IsDir() {
			files = append(files, a)
		} else {
			names = append(names, a)
		}
	}
	return files, names
}

// updateOf returns which sources --update means.
func updateOf(sources []namedSource, update bool, names []string) (func(source.Ref) bool, error) {
	if !update {
		return nil, nil
	}
	if len(names) == 0 {
		return func(source.Ref) bool { return true }, nil
	}
	keys := map[string]bool{}
	var known []string
	for _, s := range sources {
		if s.hook == "" || !source.IsRemote(s.Source) {
			continue
		}
		key := source.Redact(s.Source)
		known = append(known, s.hook, key)
		if slices.Contains(names, s.hook) || slices.Contains(names, key) || slices.Contains(names, s.Source) {
			keys[key] = true
		}
	}
	for _, n := range names {
		if !slices.Contains(known, source.Redact(n)) {
			remedy := "name a hook that has a remote source, or the source as the spec has it"
			if near := report.Nearest(n, known); near != "" {
				remedy = fmt.Sprintf("did you mean %q?", near)
			}
			return nil, report.Hint(remedy, "--update %s: no such hook or source", source.Redact(n))
		}
	}
	return func(r source.Ref) bool { return keys[source.Redact(r.Source)] }, nil
}

// addSourceErrors puts errors of Loader at the places in the specs that they are about, and prints them.
func (in *inputs) addSourceErrors(sources []namedSource, err error) error {
	var each func(error)
	each = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				each(e)
			}
			return
		}
		var at namedSource
		var ref *source.RefError
		if errors.As(err, &ref) {
			i := slices.IndexFunc(sources, func(s namedSource) bool { return s.Ref == ref.Ref })
			at = sources[max(0, i)]
		}
		in.Report.AddError(at.pos, at.path, err)
	}
	if err != nil {
		each(err)
	}
	return in.finish()
}
