//go:build !unix

package source

import "os/exec"

// endWithChildren leaves a command as it is: this system has no process groups, and only git itself ends.
func endWithChildren(*exec.Cmd) {}
