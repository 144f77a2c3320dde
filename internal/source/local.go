package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// local reads a file or folder of this machine. Where it really lies, symbolic links followed, must be inside the
// spec's folder or one of AllowPaths; it is opened through an os.Root of that folder, so that a link that changes
// meanwhile leads nowhere else.
func (l *Loader) local(ref Ref) ([]File, error) {
	base := specDir(ref.SpecFile)
	name := filepath.FromSlash(ref.Source)
	if !filepath.IsAbs(name) {
		name = filepath.Join(base, name)
	}
	limits := l.Limits.withDefaults()
	root, rel, err := l.open(base, name, ref.Source)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err != nil {
		return nil, pathError(ref.Source, err)
	}
	if !info.IsDir() {
		f, err := readRegular(root, rel, ref.Source, limits.Bytes)
		if err != nil {
			return nil, err
		}
		f.Name = filepath.Base(name)
		return []File{f}, nil
	}
	if !ref.Dir {
		return nil, &Error{Msg: fmt.Sprintf("source %q is a folder", ref.Source), Remedy: "name one file: only a hook's source may be a folder of scripts"}
	}
	entries, err := readDir(root, rel, limits.Entries)
	if err != nil {
		return nil, pathError(ref.Source, err)
	}
	var files []File
	left := limits.Bytes
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() {
			continue
		}
		if len(files) == limits.Files {
			return nil, &Error{Msg: fmt.Sprintf("source %q holds more than %d files", ref.Source, limits.Files), Remedy: "name a folder that holds the hook's scripts and nothing else"}
		}
		shown := ref.Source + "/" + e.Name()
		f, skip, err := l.entry(base, filepath.Join(name, e.Name()), shown, left)
		if err != nil {
			return nil, err
		}
		if skip {
			continue
		}
		f.Name = e.Name()
		left -= int64(len(f.Content))
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, &Error{Msg: fmt.Sprintf("source %q holds no files", ref.Source), Remedy: "put scripts into it; subfolders and names that begin with a dot do not count"}
	}
	return files, nil
}

// entry reads one entry of a folder. A link to a folder is left out, as folders are.
func (l *Loader) entry(base, name, shown string, limit int64) (f File, skip bool, err error) {
	root, rel, err := l.open(base, name, shown)
	if err != nil {
		return File{}, false, err
	}
	defer root.Close()
	if info, err := root.Stat(rel); err == nil && info.IsDir() {
		return File{}, true, nil
	}
	f, err = readRegular(root, rel, shown, limit)
	return f, false, err
}

// open finds the allowed folder that name really lies in, and name's path in it. shown is what messages call it.
func (l *Loader) open(base, name, shown string) (root *os.Root, rel string, err error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, "", pathError(shown, err)
	}
	actual, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, "", pathError(shown, err)
	}
	for _, dir := range append([]string{base}, l.AllowPaths...) {
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
			return nil, "", pathError(shown, err)
		}
		return root, rel, nil
	}
	where := ""
	if actual != abs {
		where = fmt.Sprintf(" (it leads to %s)", actual)
	}
	return nil, "", &Error{
		Msg:    fmt.Sprintf("source %q lies outside the spec's folder %s%s", shown, base, where),
		Remedy: "move it there, or allow its folder with --allow-path " + filepath.Dir(actual),
	}
}

// readRegular reads a regular file of at most limit bytes. The open does not wait for the writer of a FIFO.
func readRegular(root *os.Root, rel, shown string, limit int64) (File, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if info, statErr := root.Stat(rel); statErr == nil && !info.Mode().IsRegular() {
			return File{}, notRegular(shown, info.Mode()) // a socket cannot be opened at all
		}
		return File{}, pathError(shown, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, pathError(shown, err)
	}
	if !info.Mode().IsRegular() {
		return File{}, notRegular(shown, info.Mode())
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return File{}, pathError(shown, err)
	}
	if int64(len(content)) > limit {
		return File{}, tooLarge(shown, limit)
	}
	return File{Content: content, Executable: info.Mode()&0o111 != 0}, nil
}

// readDir returns the entries of a folder, sorted by name, at most limit.
func readDir(root *os.Root, rel string, limit int) ([]fs.DirEntry, error) {
	d, err := root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
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
	return &Error{Msg: fmt.Sprintf("source %q is %s", shown, what), Remedy: "only regular files are read"}
}

func tooLarge(shown string, limit int64) error {
	return &Error{
		Msg:    fmt.Sprintf("source %q is larger than %s", shown, size(limit)),
		Remedy: "user data takes 16 KiB on AWS and little more elsewhere: let the node download it with files[].url and sha256",
	}
}

// pathError says what is wrong with a path, without Go's "openat".
func pathError(shown string, err error) error {
	cause := err
	var path *fs.PathError
	if errors.As(err, &path) {
		cause = path.Err
	}
	e := &Error{Msg: fmt.Sprintf("source %q: %v", shown, cause), Err: err}
	if errors.Is(err, fs.ErrNotExist) {
		e.Msg = fmt.Sprintf("source %q does not exist", shown)
		e.Remedy = "paths are relative to the spec's folder; remote sources begin with https://, git::, s3:// or gs://"
	}
	return e
}

// size is a number of bytes for people: "512 bytes", "1 MiB".
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.3g MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%.3g KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
