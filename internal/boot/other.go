//go:build !linux

package boot

import (
	"context"
	"errors"
	"io"
	"os"
)

var errNotLinux = errors.New("nodes are booted on Linux only")

// Requirements says what this machine lacks for booting nodes.
func Requirements(Suite) []string {
	return []string{"Linux: nodes are containers; use a Linux machine, or a virtual one"}
}

func (m *Machine) runContainer(context.Context, string) error     { return errNotLinux }
func (m *Machine) runVM(context.Context, string) error            { return errNotLinux }
func (m *Machine) Chroot(context.Context, []byte) ([]byte, error) { return nil, errNotLinux }

// Shell runs a shell in the machine.
func (m *Machine) Shell(context.Context, io.Reader, io.Writer, io.Writer) error { return errNotLinux }

// Active says whether a unit of the machine is active.
func (m *Machine) Active(context.Context, string) bool { return false }

type cgroup struct{}

func lockFile(context.Context, string) (unlock func(), err error) { return nil, errNotLinux }
func mountMemory(dir string, size int64) error                    { return errNotLinux }
func unmount(dir string) error                                    { return errNotLinux }
func copyAttributes(info os.FileInfo, path string) error          { return errNotLinux }
func isWhiteout(info os.FileInfo) bool                            { return false }
func makeWhiteout(path string) error                              { return errNotLinux }
func onOverlay(dir string) bool                                   { return false }
