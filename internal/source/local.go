package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"kopshook.dev/kopshook/internal/report"
)

// local reads a file or folder of this machine. Where it really lies, symbolic links followed, must be inside the
// spec's folder or one of AllowPaths; it is opened through an os.Root of that folder, so that a link that changes
// meanwhile leads nowhere else.
func (l *Loader) local(ref Ref) ([]File, error) {
	r := localReader{base: specDir(ref.SpecFile), allow: l.AllowPaths, left: newCollector(l.limits.Bytes)}
	name := filepath.FromSlash(ref.Source)
	if name == "" || strings.ContainsRune(name, 0) {
		return nil, report.Hint("name a file or folder", "source %q is no path", ref.Source)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.base, name)
	}
	root, rel, err := r.open(name, ref.Source)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err != nil {
		return nil, localError(ref.Source, err)
	}
	if !info.IsDir() {
		f, err := r.read(root, rel, ref.Source)
		f.Name = filepath.Base(name)
		return []File{f}, err
	}
	if !ref.Dir {
		return nil, notOneFile(ref.Source)
	}
	entries, err := readDir(root, rel, l.limits.Entries)
	if err != nil {
		return nil, localError(ref.Source, err)
	}
	var files []File
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() {
			continue
		}
		if len(files) == l.limits.Files {
			return nil, report.Hint("name a folder that holds the hook's scripts and nothing else",
				"source %q holds more than %d files", ref.Source, l.limits.Files)
		}
		f, isDir, err := r.entry(filepath.Join(name, e.Name()), ref.Source+"/"+e.Name())
		if err != nil {
			return nil, err
		}
		if !isDir {
			f.Name = e.Name()
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, report.Hint("put scripts into it; subfolders and names that begin with a dot do not count", "source %q holds no files", ref.Source)
	}
	return files, nil
}

// localReader reads files inside base and allow, together at most what left takes.
type localReader struct {
	base  string
	allow []string
	left  *collector
}

// entry reads one entry of a folder. A link to a folder is left out, as folders are.
func (r *localReader) entry(name, shown string) (f File, isDir bool, err error) {
	root, rel, err := r.open(name, shown)
	if err != nil {
		return File{}, false, err
	}
	defer root.Close()
	if info, err := root.Stat(rel); err == nil && info.IsDir() {
		return File{}, true, nil
	}
	f, err = r.read(root, rel, shown)
	return f, false, err
}

// open finds the folder that name really lies in, and name's path in it. shown is what messages call it.
func (r *localReader) open(name, shown string) (root *os.Root, rel string, err error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, "", localError(shown, err)
	}
	actual, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, "", localError(shown, err)
	}
	for _, dir := range append([]string{r.base}, r.allow...) {
		if dir, err = filepath.Abs(dir); err != nil {
			continue
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			continue
		}
		rel, err := filepath.Rel(dir, actual)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, "", localError(shown, err)
		}
		return root, rel, nil
	}
	where := ""
	if actual != abs {
		where = fmt.Sprintf(": it leads to %s", actual)
	}
	folder := actual
	if info, err := os.Stat(actual); err != nil || !info.IsDir() {
		folder = filepath.Dir(actual)
	}
	return nil, "", report.Hint("move it there, or allow its folder with --allow-path "+folder,
		"source %q lies outside the spec's folder %s%s", shown, r.base, where)
}

// read reads a regular file. The open does not wait for the writer of a FIFO.
func (r *localReader) read(root *os.Root, rel, shown string) (File, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if info, statErr := root.Stat(rel); statErr == nil && !info.Mode().IsRegular() {
			return File{}, notRegular(shown, info.Mode()) // a socket cannot be opened at all
		}
		return File{}, localError(shown, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, localError(shown, err)
	}
	if !info.Mode().IsRegular() {
		return File{}, notRegular(shown, info.Mode())
	}
	if err := r.left.read(shown, f); err != nil {
		return File{}, report.Hint(report.Remedy(err), "source %q: %w", shown, err)
	}
	return File{Content: r.left.contents[shown]}, nil
}

// readDir returns the entries of a folder, sorted by name, at most limit.
func readDir(root *os.Root, rel string, limit int) ([]fs.DirEntry, error) {
	d, err := root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	if len(entries) > limit {
		return nil, fmt.Errorf("it holds more than %d entries", limit)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// specDir is the folder that local sources of a spec are relative to.
func specDir(specFile string) string {
	if specFile == "" || specFile == "-" {
		return "."
	}
	return filepath.Dir(specFile)
}

func notRegular(shown string, mode fs.FileMode) error {
	what := "no regular file"
	switch {
	case mode&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return report.Hint("only regular files are read", "source %q is %s", shown, what)
}

// localError says what is wrong with a path, without Go's "openat".
func localError(shown string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return report.Hint("paths are relative to the spec's folder; remote sources begin with https://, git::, s3:// or gs://",
			"source %q does not exist", shown)
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if err.Error() == "EvalSymlinks: too many links" {
		err = syscall.ELOOP
	}
	return fmt.Errorf("source %q: %w", shown, err)
}
