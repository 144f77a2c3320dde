package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// sharersName is the file in a vendor folder that lists the lock files whose copies lie there, one on a line, relative to the
// folder: the specs of one folder say nothing of those of another one.
const sharersName = "LOCKFILES"

// sharers are the lock files that share a vendor folder.
type sharers struct {
	known bool            // the folder lists one of the lock files that are given
	names []string        // as in sharersName, sorted
	keep  map[string]bool // folders in dir of sources that are not to be vendored now, and that other lock files name
}

// sharersOf returns the lock files of all, and those that share dir with them by an earlier run and still do.
//
// One that pins a source of pins to other bytes is an error: the copies are of one of the two.
func (l *Loader) sharersOf(dir string, all []*specFolder, pins map[string]*Entry) (*sharers, error) {
	s := &sharers{keep: map[string]bool{}}
	for _, f := range all {
		rel, err := relativeTo(dir, f.path)
		if err != nil {
			return nil, err
		}
		s.names = append(s.names, filepath.ToSlash(rel))
	}
	listed, err := file.Read(filepath.Join(dir, sharersName), maxLock)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cause(err)
	}
	n := 0
	for name := range strings.Lines(strings.TrimPrefix(string(listed), "\ufeff")) {
		n++
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if slices.Contains(s.names, name) {
			s.known = true
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); err != nil || filepath.Base(path) != LockName {
			return nil, report.Hint("if it is gone, remove the line; if it has moved, write where it is",
				"%s:%d: there is no lock file %q, whose copies would be removed", filepath.Join(dir, sharersName), n, name)
		}
		lock, err := l.lockFile(path)
		if err != nil {
			return nil, err
		}
		if !isVendoredIn(dir, path, lock) {
			continue // it has a folder of its own by now
		}
		s.names = append(s.names, name)
		for i := range lock.Sources {
			e := &lock.Sources[i]
			if pins[e.Source] != nil {
				if err := l.agree(e, path); err != nil {
					return nil, err
				}
			}
			s.keep[vendorName(e.Source)] = true
		}
	}
	slices.Sort(s.names)
	return s, nil
}

// keeps says whether a copy, by its path in the vendor folder, is another lock file's.
func (s *sharers) keeps(name string) bool {
	folder, _, _ := strings.Cut(name, "/")
	return s.keep[folder]
}

// isVendoredIn says whether a lock file names dir as the folder of its copies.
func isVendoredIn(dir, path string, lock *LockFile) bool {
	v := vendorDir(path, lock)
	if v == "" {
		return false
	}
	rel, err := relativeTo(v, dir)
	return err == nil && rel == "."
}
