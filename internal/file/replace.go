package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
)

// Change is a file's new content.
type Change struct {
	Name string
	// Old is what New was made of: a file that holds something else by now is not replaced.
	Old []byte
	New []byte
}

// rename is os.Rename; a test makes it fail.
var rename = os.Rename

// pending is a change whose new content lies beside the file.
type pending struct {
	Change
	path        string // where the file really lies
	tmp, backup string
}

// Replace replaces files, all or none: the new contents are written beside them and synced first, then renamed over
// them; when a rename fails, those before it are taken back. Mode and owner stay; a symbolic link stays one. Refused are
// files that are not regular, that their owner may not write to, and that have changed since they were read. A cancelled
// ctx stops before the first rename, never between two. Errors are joined ones of type *fs.PathError, or ctx's.
func Replace(ctx context.Context, changes []Change) error {
	var todo []*pending
	defer func() {
		for _, p := range todo {
			discard(p.tmp)
			if p.backup != "" {
				discard(p.backup)
			}
		}
	}()
	for _, c := range changes {
		path, err := filepath.EvalSymlinks(c.Name)
		if err != nil {
			return pathError(c.Name, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			return pathError(c.Name, err)
		}
		if err := replaceable(path, info); err != nil {
			return pathError(c.Name, err)
		}
		tmp, err := writeBeside(path, c.New, info.Mode().Perm(), ownerOf(info))
		if err != nil {
			return pathError(c.Name, err)
		}
		todo = append(todo, &pending{Change: c, path: path, tmp: tmp})
	}
	if err := renameAll(ctx, todo); err != nil {
		return err
	}
	for _, p := range todo {
		syncDir(filepath.Dir(p.path))
	}
	return nil
}

func replaceable(path string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return report.Hint("name a regular file, or print the result", "cannot be written in place: it is not a regular file")
	case info.Mode()&0o200 == 0:
		return report.Hint("chmod u+w "+shell.File(path), "cannot be written in place: it is read-only")
	}
	return nil
}

// renameAll takes the place of all files, after a last look at each. No signal ends the program meanwhile.
func renameAll(ctx context.Context, todo []*pending) error {
	temporary.Lock()
	defer temporary.Unlock()
	var errs []error
	for _, p := range todo {
		now, err := Read(p.path, int64(len(p.Old)))
		if err == nil && bytes.Equal(now, p.Old) {
			continue
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			err = report.Hint("run the command again", "has changed while kopshook was reading: it is left as it is")
		}
		errs = append(errs, pathError(p.Name, err))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, p := range todo {
		if len(todo) > 1 {
			p.backup = p.tmp + ".old"
			temporary.paths[p.backup] = true
			if err := os.Link(p.path, p.backup); err != nil {
				return pathError(p.Name, err)
			}
		}
	}
	for i, p := range todo {
		if err := rename(p.tmp, p.path); err != nil {
			err = pathError(p.Name, err)
			for _, done := range todo[:i] {
				if back := rename(done.backup, done.path); back != nil {
					err = errors.Join(err, pathError(done.Name, fmt.Errorf("could not be restored: %w", back)))
				}
			}
			return err
		}
	}
	return nil
}

// Write writes a file. One that is there already keeps its mode and owner, a new one gets mode less the umask, and a
// symbolic link is replaced itself. What is not a regular file, or is read-only, is refused. Errors are of type *fs.PathError.
func Write(name string, data []byte, mode fs.FileMode) error {
	var of owner
	info, err := os.Lstat(name)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
	case err == nil:
		if err := replaceable(name, info); err != nil {
			return pathError(name, err)
		}
		mode, of = info.Mode().Perm(), ownerOf(info)
	case !errors.Is(err, fs.ErrNotExist):
		return pathError(name, err)
	}
	tmp, err := writeBeside(name, data, mode, of)
	if err != nil {
		return pathError(name, err)
	}
	defer discard(tmp)
	temporary.Lock()
	err = rename(tmp, name)
	temporary.Unlock()
	if err != nil {
		return pathError(name, err)
	}
	syncDir(filepath.Dir(name))
	return nil
}

// ownerError says that a file would have another owner: only root may give files away.
func ownerError(path string, of owner, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return report.Hint(fmt.Sprintf("run kopshook as its owner, or make the file yours: cp %[1]s %[2]s && mv %[2]s %[1]s", shell.File(path), shell.File(path+".new")),
		"cannot be written in place: its owner %d:%d cannot be kept: %w", of.uid, of.gid, err)
}
