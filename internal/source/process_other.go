//go:build !unix

package source

import (
	"context"
	"os/exec"
)

// boundedCommand is exec.CommandContext: this system has no limit for memory that a command could set.
func boundedCommand(ctx context.Context, _ int64, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}

// endWithChildren leaves a command as it is: this system has no process groups, and only git itself ends.
func endWithChildren(*exec.Cmd) {}
