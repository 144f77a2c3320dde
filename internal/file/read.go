// Package file reads regular files of bounded size, and writes files at once or not at all.
package file

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"kopshook.dev/kopshook/internal/report"
)

// Read returns the bytes of a regular file. Anything else is an error, since reading it may never end: the open does not
// wait for the writer of a FIFO. So is a file of more than limit bytes. All errors are of type *fs.PathError.
func Read(name string, limit int64) ([]byte, error) {
	return read(name, limit, os.OpenFile, os.Stat)
}

// ReadIn is Read of a file in a folder: links do not lead out of it.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	return read(name, limit, root.OpenFile, root.Stat)
}

func read(name string, limit int64, open func(string, int, fs.FileMode) (*os.File, error), stat func(string) (fs.FileInfo, error)) ([]byte, error) {
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if info, statErr := stat(name); statErr == nil && !info.Mode().IsRegular() {
			err = notRegular(info.Mode()) // a socket cannot be opened
		}
		return nil, pathError(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, pathError(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, pathError(name, notRegular(info.Mode()))
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, pathError(name, err)
	}
	if int64(len(data)) > limit {
		return nil, pathError(name, fmt.Errorf("is larger than %d bytes", limit))
	}
	return data, nil
}

// Kind says what a file is that is not a regular one, as "a FIFO".
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "not a regular file"
}

func notRegular(mode fs.FileMode) error {
	return report.Hint("put a regular file there, or remove it", "is %s", Kind(mode))
}

func pathError(name string, err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		err = e.Err
	case *os.LinkError:
		err = e.Err
	}
	return &fs.PathError{Op: "read", Path: name, Err: err}
}
