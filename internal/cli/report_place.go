package cli

import (
	"os"
	"path/filepath"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// reportsHavePlace refuses reports in the place of what is read: of the specs and manifests, of also, and of all that the specs name,
// whether this run reads it or not. Nor may one lie in a folder of specs, named as a spec: the next command would read it. specs are
// what -f and the arguments name. It fails after printing what is wrong.
func (in *inputs) reportsHavePlace(reports, specs []string, also ...string) error {
	if len(reports) == 0 {
		return nil
	}
	for name := range in.Sources {
		also = append(also, name)
	}
	for _, r := range reports {
		for _, dir := range specs {
			real := file.Real(r)
			if info, err := os.Stat(dir); err == nil && info.IsDir() && isSpecName(filepath.Base(real)) && file.Same(filepath.Dir(real), dir) {
				return report.Hint("write to another folder", "--report: %s is or would be a hook spec of folder %s", r, display(dir))
			}
		}
		for _, name := range also {
			if err := takesPlace(r, name); err != nil {
				return err
			}
		}
	}
	sources := in.namedSources()
	err := source.CheckOutputs(refs(sources), reports)
	found := err != nil
	for _, d := range in.around {
		for _, f := range d.Files() {
			name := f.Name
			if !filepath.IsAbs(name) {
				name = filepath.Join(specDir(d.File), name)
			}
			for _, r := range reports {
				if err := takesPlace(r, name); err != nil {
					in.Report.AddError(d.Pos(f.Path), f.Path, err)
					found = true
				}
			}
		}
	}
	if !found {
		return nil
	}
	return in.addSourceErrors(sources, err)
}

func takesPlace(name, of string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil // nothing is lost of /dev/null
	}
	if of != "-" && file.Same(name, of) {
		return report.Hint("give the report a file of its own", "--report: %s is read here", name)
	}
	return nil
}

// isStream says whether a name is that of a stream of this program, as /dev/stdout is: a file there is written through the stream, and
// not replaced, since what else the program prints would be lost.
func isStream(name string, stream *os.File) bool {
	info, err := os.Stat(name)
	if err != nil || info.Mode()&os.ModeDevice != 0 {
		return false
	}
	to, err := stream.Stat()
	return err == nil && os.SameFile(info, to)
}
