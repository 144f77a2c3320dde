//go:build unix

package source

import (
	"context"
	"os/exec"
	"strconv"
	"syscall"
)

// boundedCommand is exec.CommandContext for a program that may take so many bytes of memory, it and each of its children:
// what a server sends, or packs into little, is no bound. The limit is on data (RLIMIT_DATA): address space, which some
// credential helpers reserve far more of than they use, does not count.
func boundedCommand(ctx context.Context, bytes int64, name string, args ...string) *exec.Cmd {
	const script = `ulimit -d "$1" 2>/dev/null; shift; exec "$@"`
	return exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", script, "sh", strconv.FormatInt(bytes>>10, 10), name}, args...)...)
}

// endWithChildren has a command end with all the processes that it starts: git has children of its own.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
