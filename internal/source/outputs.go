package source

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// CheckOutputs says of files that a command is to write whether one would take the place of what the sources of refs are read from:
// a script, the lock file, a copy in a vendor folder. It asks that of all refs, also those that this run does not read: the next one
// may. In a folder of scripts, a file would itself be a script of the next run. Nothing is fetched.
//
// Errors are joined; those of local sources are RefErrors.
func CheckOutputs(refs []Ref, outputs []string) error {
	var errs []error
	looked, seen := map[string]bool{}, map[Ref]bool{}
	for _, ref := range refs {
		if !IsRemote(ref.Source) && ref.Source != "" && !seen[ref] {
			seen[ref] = true
			for _, output := range outputs {
				if shown := readsFrom(ref, output); shown != "" {
					errs = append(errs, &RefError{ref, report.Hint("write to a file that is not read, in another folder than hooks are in",
						"source %q: this command is to write %s", shown, output)})
				}
			}
		}
		path := lockPath(ref.SpecFile)
		if looked[path] || len(outputs) == 0 {
			continue
		}
		looked[path] = true
		lock, err := readLock(path)
		if err != nil {
			lock = &LockFile{} // who needs it says what is wrong with it
		}
		for _, output := range outputs {
			if file.Same(output, path) {
				errs = append(errs, report.Hint("write to a file that is not read", "%s: this command is to write it, and it is the lock file", output))
			}
			if dir := vendorDir(ref.SpecFile, lock); dir != "" && isIn(dir, output) {
				errs = append(errs, report.Hint("write to another folder", "%s: this command is to write it, and %s holds copies of sources", output, dir))
			}
		}
	}
	return errors.Join(errs...)
}

// readsFrom returns the part of a local source that output is or would be, as messages call it, "" when it is none.
func readsFrom(ref Ref, output string) string {
	name := filepath.FromSlash(ref.Source)
	if !filepath.IsAbs(name) {
		name = filepath.Join(specDir(ref.SpecFile), name)
	}
	entries, err := os.ReadDir(name)
	if err != nil { // no folder
		if file.Same(name, output) {
			return ref.Source
		}
		return ""
	}
	if !ref.Dir {
		return ""
	}
	inside := func(base string) string { return strings.TrimSuffix(ref.Source, "/") + "/" + base }
	real := file.Real(output)
	if base := filepath.Base(real); file.Same(filepath.Dir(real), name) && !strings.HasPrefix(base, ".") {
		return inside(base)
	}
	i := slices.IndexFunc(entries, func(e os.DirEntry) bool {
		return !strings.HasPrefix(e.Name(), ".") && file.Same(filepath.Join(name, e.Name()), output)
	})
	if i < 0 {
		return ""
	}
	return inside(entries[i].Name())
}

// isIn says whether a file lies, or would lie, somewhere below dir.
func isIn(dir, name string) bool {
	rel, err := relativeTo(file.Real(dir), file.Real(name))
	return err == nil && filepath.IsLocal(rel)
}
