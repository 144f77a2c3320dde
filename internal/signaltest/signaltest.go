// Package signaltest is for tests that send signals to the programs that they start.
package signaltest

import (
	"os"
	"os/signal"
	"syscall"
)

// Attend has the programs that tests start not ignore signals that the tests were started with ignored, as nohup and a
// script's background job do: what a program catches has its default in those that it starts. Call it in TestMain.
func Attend() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
