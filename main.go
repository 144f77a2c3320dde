// Command kopshook turns hook specs into ordered user data of kops instance groups.
package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"kopshook.dev/kopshook/internal/cli"
)

func main() {
	if os.Getenv("GOGC") == "" {
		collect()
	}
	os.Exit(cli.Main(os.Args))
}

// collect lets the heap grow by 32 MiB between garbage collections, and by 400 % at most. Runs are short: for a few instance
// groups, that is a fifth less time than Go's 100 % takes. For 5,000 it is 0.4 times the memory that 400 % would take, for 1.6 times the time.
func collect() {
	const growth, most = 32 << 20, 400
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(int(min(most, growth*100/m.HeapAlloc)))
	// the finalizer of what nobody holds runs behind each collection
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { collect() })
}
