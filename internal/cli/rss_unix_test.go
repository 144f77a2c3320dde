//go:build unix

package cli

import (
	"os"
	"runtime"
	"syscall"
)

// maxMemory is the largest memory that a process that ended took, in KiB.
func maxMemory(p *os.ProcessState) (int64, error) {
	kib := p.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS == "darwin" {
		kib /= 1024 // there it is in bytes
	}
	return kib, nil
}
