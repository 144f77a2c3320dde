//go:build unix

package clusterhooks

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unsupported says why exec cannot work on this system, "" where it can.
const unsupported = ""

// killDelay is how long processes have after SIGTERM before SIGKILL comes.
var killDelay = 5 * time.Second

// settleDelay is how long a signal may take on its way to us: one that came before kops ended was kops'.
const settleDelay = 20 * time.Millisecond

func signalName(s syscall.Signal) string { return unix.SignalName(s) }

// runGroup runs a command in a process group of its own. When ctx ends all of the group is ended: SIGTERM first,
// SIGKILL after killDelay or at a second signal. A process that was left in the background on purpose stays.
func runGroup(ctx context.Context, cmd *exec.Cmd) (ending, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for the output that a background process holds open
	if err := cmd.Start(); err != nil {
		return ending{}, err
	}
	group := -cmd.Process.Pid
	done := make(chan struct{})
	var killer sync.WaitGroup
	killer.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		syscall.Kill(group, syscall.SIGTERM)
		// also once the script itself is gone: its children may not be
		hurry, _ := ctx.Value(secondSignal{}).(chan struct{})
		late := time.After(killDelay)
		for waiting := true; waiting && syscall.Kill(group, 0) == nil; {
			select {
			case <-hurry:
				waiting = false
			case <-late:
				waiting = false
			case <-time.After(20 * time.Millisecond):
			}
		}
		syscall.Kill(group, syscall.SIGKILL)
	})
	err := cmd.Wait()
	close(done)
	killer.Wait()
	if ctx.Err() != nil {
		return endingOf(cmd.ProcessState), ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return ending{}, err
	}
	return endingOf(cmd.ProcessState), nil
}

// Signals are those that exec takes care of: an interrupt ends hooks, everything goes on to kops. SIGPIPE is among
// them so that a closed standard error ends neither.
var Signals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE}

// interrupts says whether a signal ends what kopshook itself does.
func interrupts(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// secondSignal is the key of a channel in a context: it is closed when the second interrupting signal comes.
type secondSignal struct{}

// untilSignal returns a context that ends when an interrupting signal comes. A second one ends at once what runs in
// groups. stop must be called; it returns the first signal, or nil.
func untilSignal(ctx context.Context, signals <-chan os.Signal) (_ context.Context, stop func() os.Signal) {
	second := make(chan struct{})
	ctx, cancel := context.WithCancel(context.WithValue(ctx, secondSignal{}, second))
	var got os.Signal
	stopped, finished := make(chan struct{}), make(chan struct{})
	take := func(s os.Signal) {
		switch {
		case !interrupts(s):
		case got == nil:
			got = s
			cancel()
		default:
			select {
			case <-second:
			default:
				close(second)
			}
		}
	}
	go func() {
		defer close(finished)
		for {
			select {
			case <-stopped:
				return
			case s := <-signals:
				take(s)
			}
		}
	}()
	return ctx, func() os.Signal {
		cancel()
		close(stopped)
		<-finished
		select { // one that came at the last moment
		case s := <-signals:
			take(s)
		default:
		}
		return got
	}
}

// runInFront runs a command with this process' terminal, streams and process group, and passes signals on to it. It
// returns when the command ends, not before; late is an interrupting signal that came too late for it. The ending says
// which interrupting signal came before.
//
// What came before the end does not stay in signals: it is not for the hooks that run next.
func runInFront(cmd *exec.Cmd, signals <-chan os.Signal) (_ ending, late os.Signal, err error) {
	if err := cmd.Start(); err != nil {
		return ending{}, nil, err
	}
	var came os.Signal
	pass := func(s os.Signal) {
		if interrupts(s) {
			came = s
		}
		if s == syscall.SIGPIPE || fromTerminal(s) && inForeground() {
			return
		}
		if cmd.Process.Signal(s) != nil && interrupts(s) {
			late = s
		}
	}
	done := make(chan struct{})
	var forwarder sync.WaitGroup
	forwarder.Go(func() {
		ended, settled := done, (<-chan time.Time)(nil)
		for {
			select {
			case s := <-signals:
				pass(s)
			case <-ended:
				ended, settled = nil, time.After(settleDelay)
			case <-settled:
				for {
					select {
					case s := <-signals:
						pass(s)
					default:
						return
					}
				}
			}
		}
	})
	err = cmd.Wait()
	close(done)
	forwarder.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return ending{}, late, err
	}
	e := endingOf(cmd.ProcessState)
	e.interrupt = came
	return e, late, nil
}

// tryLock takes an exclusive lock on a file, unless another process has it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// fromTerminal says whether a terminal may have sent the signal: then every process in its foreground has got it.
func fromTerminal(s os.Signal) bool { return s == syscall.SIGINT || s == syscall.SIGQUIT }

// inForeground says whether this process is in the foreground of its terminal. Tests say it.
var inForeground = func() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Raise ends this process by a signal, as the command that it ran was: shells look at that to end loops on Ctrl-C. It
// returns where the signal does not end processes.
func Raise(s syscall.Signal) {
	signal.Reset(s)
	syscall.Kill(os.Getpid(), s)
	time.Sleep(100 * time.Millisecond) // it comes to some thread, soon
}
