//go:build !unix

package clusterhooks

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// unsupported says why exec cannot work on this system: process groups and signals are what it is made of.
const unsupported = "kopshook exec needs Linux or macOS"

// Signals are none: nothing is run.
var Signals = []os.Signal{os.Interrupt}

var errUnsupported = errors.New(unsupported)

func signalName(s syscall.Signal) string { return s.String() }

func runGroup(context.Context, *exec.Cmd) (ending, error) { return ending{}, errUnsupported }

func runInFront(*exec.Cmd, <-chan os.Signal) (ending, os.Signal, error) {
	return ending{}, nil, errUnsupported
}

func untilSignal(ctx context.Context, _ <-chan os.Signal) (context.Context, func() os.Signal) {
	ctx, cancel := context.WithCancel(ctx)
	return ctx, func() os.Signal { cancel(); return nil }
}

func tryLock(*os.File) (bool, error) { return false, errUnsupported }

// Raise does nothing.
func Raise(syscall.Signal) {}
