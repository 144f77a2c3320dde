package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"kopshook.dev/kopshook/internal/file"
)

// interruptions are the signals that end a program. The first one cancels the context, and so everything that waits; the
// second ends the program wherever it is, without its temporary files.
type interruptions struct {
	signals chan os.Signal
	done    chan struct{}
	first   atomic.Int32 // number of the first signal, 0 before it
}

type interruptionsKey struct{}

// patience is how long a program that was interrupted may take before it says how to end it at once.
const patience = time.Second

// catchInterruptions begins to catch signals. What the parent ignores stays ignored: nohup asks for that.
func catchInterruptions(stderr io.Writer) (context.Context, *interruptions) {
	in := &interruptions{signals: make(chan os.Signal, 4), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), interruptionsKey{}, in))
	signal.Notify(in.signals, notIgnored(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)...)
	go func() {
		select {
		case s := <-in.signals:
			in.first.Store(int32(number(s)))
			cancel()
		case <-in.done:
			return
		}
		late := time.After(patience)
		for {
			select {
			case s := <-in.signals:
				file.RemoveTemporary()
				os.Exit(128 + number(s))
			case <-late:
				fmt.Fprintln(stderr, "kopshook: interrupted; a second signal ends it at once")
			case <-in.done:
				return
			}
		}
	}()
	return ctx, in
}

// release stops catching signals: they are somebody else's now.
func (in *interruptions) release() {
	signal.Stop(in.signals)
	close(in.done)
}

// exitCode returns the code for an interrupted program, as a shell has it, in place of that for SIGINT.
func (in *interruptions) exitCode(code int) int {
	if n := in.first.Load(); n != 0 && code == exitInterrupted {
		return 128 + int(n)
	}
	return code
}

// interruptionsOf returns what catches signals, nil in a program that does it itself.
func interruptionsOf(ctx context.Context) *interruptions {
	in, _ := ctx.Value(interruptionsKey{}).(*interruptions)
	return in
}

// notIgnored returns the signals that the parent has not asked to ignore. Never empty: without arguments Notify means all.
func notIgnored(signals ...os.Signal) []os.Signal {
	var out []os.Signal
	for _, s := range signals {
		if !signal.Ignored(s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return signals[:1]
	}
	return out
}

func number(s os.Signal) int {
	n, _ := s.(syscall.Signal)
	return int(n)
}
