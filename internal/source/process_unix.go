//go:build unix

package source

import (
	"os/exec"
	"syscall"
)

// endWithChildren has a command end with all the processes that it starts: git has children of its own.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
