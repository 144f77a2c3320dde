package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	"kopshook.dev/kopshook/internal/report"
)

// maxInput bounds what is read of one file: no manifest of people comes near.
const maxInput = 64 << 20

// readInput reads a file, or standard input when name is "-".
func readInput(ctx context.Context, name string, stdin io.Reader) ([]byte, error) {
	var r io.Reader = stdin
	if name != "-" {
		info, err := os.Stat(name)
		if err != nil {
			return nil, fileError(name, err)
		}
		if info.IsDir() {
			return nil, report.Hint("name the files in it, or give a folder of hook specs with -f", "%s: is a directory", name)
		}
		if info.Mode()&(os.ModeDevice|os.ModeSocket) != 0 && info.Mode()&os.ModeCharDevice == 0 {
			return nil, fmt.Errorf("%s: is not a regular file", name)
		}
		r = &lateFile{name: name}
	}
	data, err := readAll(ctx, io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fileError(name, err)
	}
	if len(data) > maxInput {
		return nil, report.Hint("give kops manifests and hook specs only", "%s: is larger than %d MiB", display(name), maxInput>>20)
	}
	return data, nil
}

// lateFile is a file that is opened by its first Read: opening a FIFO waits for a writer.
type lateFile struct {
	name string
	file *os.File
}

func (l *lateFile) Read(p []byte) (int, error) {
	if l.file == nil {
		f, err := os.Open(l.name)
		if err != nil {
			return 0, err
		}
		l.file = f
	}
	n, err := l.file.Read(p)
	if err != nil {
		l.file.Close()
	}
	return n, err
}

// readAll is io.ReadAll that ends with ctx: standard input and FIFOs may never say a word.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(r)
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// specFiles lists what -f names: the file itself, or the YAML and JSON files of a folder, sorted, without its
// subfolders. In folders it takes regular files and links to them only: a FIFO that nobody writes to would be waited
// for, and leaving it out in silence would take its hooks out.
func specFiles(name string) ([]string, error) {
	if name == "-" {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fileError(name, err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, fileError(name, err)
	}
	var files []string
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".yaml", ".yml", ".json":
			if e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "kopshook.lock.yaml" {
				continue
			}
			file := filepath.Join(name, e.Name())
			info, err := os.Stat(file)
			if err == nil && !info.Mode().IsRegular() {
				return nil, report.Hint("take it out of the folder, or name it with -f", "%s: is not a regular file", file)
			}
			files = append(files, file) // reading it says what err is
		}
	}
	if len(files) == 0 {
		return nil, report.Hint("put hook specs there as .yaml, .yml or .json files", "%s: holds no hook specs", name)
	}
	sort.Strings(files)
	return files, nil
}

// fileError says "name: what is wrong" without Go's "open".
func fileError(name string, err error) error {
	return fmt.Errorf("%s: %w", display(name), fileCause(err))
}

// fileCause takes away what Go puts before the cause of an error of a file.
func fileCause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	return err
}

func display(name string) string {
	if name == "-" {
		return "<stdin>"
	}
	return name
}

// change is a file's new content.
type change struct {
	name string
	data []byte
}

// rename is os.Rename; a test makes it fail.
var rename = os.Rename

// writeFiles replaces files, all or none: the new contents are written beside them and synced first, then renamed
// over them; when a rename fails, those before it are taken back. Mode and owner stay; a symbolic link stays one.
// What is no regular file is refused. A cancelled ctx stops before the first rename, never between two.
func writeFiles(ctx context.Context, changes []change) (err error) {
	type pending struct{ name, path, tmp, backup string }
	var todo []pending
	defer func() {
		for _, p := range todo {
			os.Remove(p.tmp)
			if p.backup != "" {
				os.Remove(p.backup)
			}
		}
	}()
	for _, c := range changes {
		path, err := filepath.EvalSymlinks(c.name)
		if err != nil {
			return fileError(c.name, err)
		}
		tmp, err := writeBeside(path, c.data)
		if err != nil {
			return fileError(c.name, err)
		}
		todo = append(todo, pending{name: c.name, path: path, tmp: tmp})
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range todo {
		p := &todo[i]
		if len(todo) > 1 {
			p.backup = p.tmp + ".old"
			if err := os.Link(p.path, p.backup); err != nil {
				return fileError(p.name, err)
			}
		}
	}
	for i, p := range todo {
		if err := rename(p.tmp, p.path); err != nil {
			err = fileError(p.name, err)
			for _, done := range todo[:i] {
				if back := rename(done.backup, done.path); back != nil {
					err = errors.Join(err, fmt.Errorf("%s: could not be restored: %w", done.name, back))
				}
			}
			return err
		}
	}
	for _, p := range todo {
		syncDir(filepath.Dir(p.path))
	}
	return nil
}

// writeBeside writes data to a new synced file in path's folder, with path's mode and owner, and returns its name.
// On an error it leaves nothing behind.
func writeBeside(path string, data []byte) (tmp string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", report.Hint("name a regular file, or print the result", "cannot be written in place: it is not a regular file")
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return "", err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && (int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid()) {
		if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return "", ownerError(path, st, err)
		}
	}
	return f.Name(), f.Sync()
}

// ownerError says that a file would have another owner: only root may give files away.
func ownerError(path string, st *syscall.Stat_t, err error) error {
	return report.Hint(fmt.Sprintf("run kopshook as its owner, or make the file yours: cp %[1]s %[1]s.new && mv %[1]s.new %[1]s", path),
		"cannot be written in place: its owner %d:%d cannot be kept: %v", st.Uid, st.Gid, fileCause(err))
}

func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
