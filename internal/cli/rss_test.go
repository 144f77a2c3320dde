package cli

import (
	"os"
	"runtime"
	"syscall"
)

// maxRSS is the largest memory that an ended process took, in bytes; Linux counts it in KiB.
func maxRSS(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "linux" {
		return usage.Maxrss * 1024
	}
	return usage.Maxrss
}
