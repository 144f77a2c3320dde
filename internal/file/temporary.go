package file

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"kopshook.dev/kopshook/internal/report"
)

// temporary holds what must not stay behind when a signal ends the program at once. Whoever renames holds the lock, so
// that RemoveTemporary never comes between the renames of several files.
var temporary = struct {
	sync.Mutex
	paths map[string]bool
}{paths: map[string]bool{}}

// RemoveTemporary removes all temporary files and folders that are there. It is the last thing that a program does: it
// keeps the lock, and so nothing makes or renames a file afterwards.
func RemoveTemporary() {
	temporary.Lock()
	for path := range temporary.paths {
		os.RemoveAll(path)
	}
}

// TempDir makes a folder for temporary files, in parent or, when that is "", where the system has them. remove removes it
// with all that is in it.
func TempDir(parent, pattern string) (dir string, remove func(), err error) {
	temporary.Lock()
	defer temporary.Unlock()
	dir, err = os.MkdirTemp(parent, pattern)
	if err != nil {
		return "", func() {}, err
	}
	temporary.paths[dir] = true
	return dir, func() { discard(dir) }, nil
}

// discard removes a temporary file or folder.
func discard(path string) {
	os.RemoveAll(path)
	temporary.Lock()
	delete(temporary.paths, path)
	temporary.Unlock()
}

// owner is a file's, where the system has such.
type owner struct {
	uid, gid int
	known    bool
}

// Tests see when a file goes to the disk, and to whom it is given, and refuse to make one.
var (
	syncFile   = (*os.File).Sync
	chown      = (*os.File).Chown
	createTemp = newFile
)

// newFile is os.CreateTemp with a mode, of which the umask takes bits away as of any new file.
func newFile(dir, prefix string, mode fs.FileMode) (f *os.File, err error) {
	for range 10000 {
		name := filepath.Join(dir, fmt.Sprint(prefix, rand.Uint32()))
		if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// writeBeside writes data to a new file in path's folder, and returns its name. It is on the disk then. The file gets exactly the
// mode and owner of the one it replaces; without such an owner it gets the mode less the umask. On an error nothing is left.
func writeBeside(path string, data []byte, mode fs.FileMode, of owner) (tmp string, err error) {
	first := mode
	if of.known {
		first = 0o600 // somebody else may not open it meanwhile
	}
	temporary.Lock()
	f, err := createTemp(filepath.Dir(path), "."+filepath.Base(path)+".", first)
	if err == nil {
		temporary.paths[f.Name()] = true
	}
	temporary.Unlock()
	if errors.Is(err, fs.ErrPermission) {
		return "", report.Hint("what is new is written beside the file first: make the folder "+filepath.Dir(path)+" writable",
			"cannot be written: its folder may not be written to")
	}
	if err != nil {
		return "", err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			discard(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if mine := ownerOf(info); of.known && mine != of {
		if err := chown(f, of.uid, of.gid); err != nil {
			return "", ownerError(path, of, err)
		}
	}
	if of.known {
		if err := f.Chmod(mode); err != nil { // behind chown, which takes bits away
			return "", err
		}
	}
	return f.Name(), syncFile(f)
}

func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		syncFile(d)
		d.Close()
	}
}
