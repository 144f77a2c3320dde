package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// peakMemory runs a program and returns the largest memory that it took, in bytes. The system counts what a process
// held before exec, too, so a small process must start it: this test program, called as "peak-memory".
func peakMemory(b *testing.B, program string, args ...string) float64 {
	cmd := exec.Command(os.Args[0], append([]string{program}, args...)...)
	cmd.Args[0] = "peak-memory"
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	var kib float64
	if _, err := fmt.Sscan(strings.TrimSpace(string(out)), &kib); err != nil {
		b.Fatal(err)
	}
	return kib * 1024
}

// peakMemoryMain runs os.Args[1:] and prints its largest memory in KiB.
func peakMemoryMain() int {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	kib, err := maxMemory(cmd.ProcessState)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(kib)
	return 0
}
