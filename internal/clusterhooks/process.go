package clusterhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killDelay is how long processes have after SIGTERM before SIGKILL comes.
const killDelay = 5 * time.Second

// ending is how a process ended.
type ending struct {
	exitCode int            // 128+N after signal N, as a shell says it
	signal   syscall.Signal // that ended it, 0 for none
}

func endingOf(state *os.ProcessState) ending {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return ending{exitCode: 128 + int(status.Signal()), signal: status.Signal()}
	}
	return ending{exitCode: state.ExitCode()}
}

// String is "exit code 1" or "killed by SIGKILL".
func (e ending) String() string {
	if e.signal != 0 {
		return "killed by " + unix.SignalName(e.signal)
	}
	return fmt.Sprintf("exit code %d", e.exitCode)
}

// runGroup runs a command in a process group of its own. When ctx ends all of the group is ended: SIGTERM first,
// SIGKILL after killDelay. A process that was left in the background on purpose stays.
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
		for deadline := time.Now().Add(killDelay); time.Now().Before(deadline) && syscall.Kill(group, 0) == nil; {
			time.Sleep(20 * time.Millisecond)
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

// untilSignal returns a context that ends when an interrupting signal comes. stop must be called; it returns that
// signal, or nil.
func untilSignal(ctx context.Context, signals <-chan os.Signal) (_ context.Context, stop func() os.Signal) {
	ctx, cancel := context.WithCancel(ctx)
	var got os.Signal
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-signals:
				if interrupts(s) {
					got = s
					cancel()
					return
				}
			}
		}
	}()
	return ctx, func() os.Signal {
		cancel()
		<-finished
		if got == nil { // one that came at the last moment
			select {
			case s := <-signals:
				if interrupts(s) {
					got = s
				}
			default:
			}
		}
		return got
	}
}

// runInFront runs a command with this process' terminal, streams and process group, and passes signals on to it. It
// returns when the command ends, not before.
func runInFront(cmd *exec.Cmd, signals <-chan os.Signal) (ending, error) {
	if err := cmd.Start(); err != nil {
		return ending{}, err
	}
	done := make(chan struct{})
	var forwarder sync.WaitGroup
	forwarder.Go(func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if s != syscall.SIGPIPE && !(fromTerminal(s) && inForeground()) {
					cmd.Process.Signal(s)
				}
			}
		}
	})
	err := cmd.Wait()
	close(done)
	forwarder.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return ending{}, err
	}
	return endingOf(cmd.ProcessState), nil
}

// fromTerminal says whether a terminal may have sent the signal: then every process in its foreground has got it.
func fromTerminal(s os.Signal) bool { return s == syscall.SIGINT || s == syscall.SIGQUIT }

// inForeground says whether this process is in the foreground of its terminal.
func inForeground() bool {
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

// prefixWriter begins each line with a prefix. It writes whole lines.
type prefixWriter struct {
	w      io.Writer
	prefix string
	rest   []byte
}

func (p *prefixWriter) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		p.line(p.rest[:i])
		p.rest = p.rest[i+1:]
	}
}

func (p *prefixWriter) line(b []byte) {
	io.WriteString(p.w, p.prefix+string(bytes.TrimSuffix(b, []byte("\r")))+"\n")
}

// flush writes what has no line end.
func (p *prefixWriter) flush() {
	if len(p.rest) > 0 {
		p.line(p.rest)
		p.rest = nil
	}
}

// tail keeps the last bytes that were written to it.
type tail struct{ b []byte }

const maxTail = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if over := len(t.b) - maxTail; over > maxTail {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(b), nil
}

// String is what was kept, whole lines of it.
func (t *tail) String() string {
	b := t.b
	if over := len(b) - maxTail; over > 0 {
		b = b[over:]
		b = b[bytes.IndexByte(b, '\n')+1:]
	}
	return string(bytes.ToValidUTF8(b, []byte("?")))
}

// signalName is "SIGKILL", "" when no signal ended it.
func (e ending) signalName() string {
	if e.signal == 0 {
		return ""
	}
	return unix.SignalName(e.signal)
}
