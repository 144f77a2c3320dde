package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
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
			return nil, report.Hint("name a file in it", "%s: is a directory", name)
		}
		if info.Mode()&(os.ModeDevice|os.ModeSocket) != 0 && info.Mode()&os.ModeCharDevice == 0 {
			return nil, fmt.Errorf("%s: is not a regular file", name)
		}
		r = &lateFile{name: name}
	}
	data, err := file.ReadAll(ctx, io.LimitReader(r, maxInput+1))
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
		if e.IsDir() || !isSpecName(e.Name()) {
			continue
		}
		path := filepath.Join(name, e.Name())
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() {
			return nil, report.Hint("take it out of the folder, or name it with -f", "%s: is not a regular file", path)
		}
		files = append(files, path) // reading it says what err is
	}
	if len(files) == 0 {
		return nil, report.Hint("put hook specs there as .yaml, .yml or .json files", "%s: holds no hook specs", name)
	}
	sort.Strings(files)
	return files, nil
}

// isSpecName says whether a file of a folder of specs is read as one.
func isSpecName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(name, ".") && !besideSpecs(name)
	}
	return false
}

// besideSpecs says whether a file of a folder of specs is one that kopshook itself wants there, and no spec.
func besideSpecs(name string) bool { return name == source.LockName || name == schemaFile }

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

// writeFiles replaces files that were read, all or none. One that somebody has edited since then stays as it is.
func writeFiles(ctx context.Context, read map[string][]byte, changes []change) error {
	var all []file.Change
	for _, c := range changes {
		all = append(all, file.Change{Name: c.name, Old: read[c.name], New: c.data})
	}
	return fileErrors(file.Replace(ctx, all))
}

// fileErrors says "name: what is wrong" of each of joined errors.
func fileErrors(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, fileErrors(e))
		}
		return errors.Join(all...)
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return fileError(path.Path, err)
	}
	return err
}
