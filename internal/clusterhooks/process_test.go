//go:build unix

package clusterhooks

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Ctrl-C that kops got from the terminal is not for the hooks after it, however late it reaches kopshook.
func TestNoSignalThatKopsGotIsLeftForHooks(t *testing.T) {
	front := inForeground
	inForeground = func() bool { return true }
	t.Cleanup(func() { inForeground = front })
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT)
	defer signal.Stop(signals)
	for range 50 {
		// the last thing that it does is what a terminal does to both
		_, late, err := runInFront(exec.Command("/bin/sh", "-c", "kill -INT $PPID"), signals)
		if err != nil {
			t.Fatal(err)
		}
		if late != nil {
			t.Fatalf("%v is taken for one that kops did not get", late)
		}
		select {
		case s := <-signals:
			t.Fatalf("%v is left", s)
		default:
		}
	}
}

// What somebody sends to kopshook alone goes on to kops; when kops has ended by then, it is an interrupt of what follows.
func TestSignalsThatKopsCannotGetAnyMoreInterrupt(t *testing.T) {
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGUSR1, syscall.SIGTERM, syscall.SIGPIPE} {
		signals <- s
	}
	cmd := exec.Command("true")
	front := inForeground
	inForeground = func() bool { // asked about SIGINT: by then kops has ended
		for cmd.Process.Signal(syscall.Signal(0)) == nil {
			time.Sleep(time.Millisecond)
		}
		return true
	}
	t.Cleanup(func() { inForeground = front })
	_, late, err := runInFront(cmd, signals)
	if err != nil || late != syscall.SIGTERM || len(signals) != 0 {
		t.Errorf("late is %v, %d are left, %v; want %v and none", late, len(signals), err, syscall.SIGTERM)
	}
}

func TestHooksThatIgnoreSIGTERMAreKilled(t *testing.T) {
	delay := killDelay
	killDelay = 50 * time.Millisecond
	t.Cleanup(func() { killDelay = delay })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// it ignores SIGTERM, and so does its child
	cmd := exec.Command("/bin/sh", "-c", `trap "" TERM; sleep 1000 & echo $!; wait`)
	cmd.Stdout = w
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	child := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(r).ReadString('\n')
		child <- strings.TrimSpace(line)
		cancel()
	}()
	end, err := runGroup(ctx, cmd)
	w.Close()
	if err != context.Canceled || end.signal != syscall.SIGKILL {
		t.Errorf("it ended with %v, %v; want %v, killed by SIGKILL", end, err, context.Canceled)
	}
	pid := <-child
	for deadline := time.Now().Add(time.Minute); exec.Command("/bin/sh", "-c", "kill -0 "+pid).Run() == nil; time.Sleep(5 * time.Millisecond) {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil && strings.Contains(string(state), ") Z ") {
			break // dead: nobody has waited for it yet
		}
		if time.Now().After(deadline) {
			t.Fatalf("its child %s lives", pid)
		}
	}
}

func TestASecondSignalKillsAHookAtOnce(t *testing.T) {
	delay := killDelay
	killDelay = time.Hour
	t.Cleanup(func() { killDelay = delay })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", `trap "echo first" TERM; echo ready; while :; do sleep 0.01; done`)
	cmd.Stdout = w
	signals := make(chan os.Signal, 2)
	ctx, stop := untilSignal(t.Context(), signals)
	go func() {
		lines := bufio.NewReader(r)
		for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
			lines.ReadString('\n')
			signals <- s
		}
	}()
	ended := make(chan ending, 1)
	go func() {
		end, _ := runGroup(ctx, cmd)
		ended <- end
	}()
	select {
	case end := <-ended:
		if end.signal != syscall.SIGKILL {
			t.Errorf("it ended with %v, want killed by SIGKILL", end)
		}
	case <-time.After(time.Minute):
		t.Error("it still runs a minute after the second signal")
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if s := stop(); s != syscall.SIGINT {
		t.Errorf("it says %v, want the first signal", s)
	}
	w.Close()
}

func TestOnlyInterruptsEndHooks(t *testing.T) {
	var ends, typed []string
	for _, s := range Signals {
		if interrupts(s) {
			ends = append(ends, s.String())
		}
		if fromTerminal(s) {
			typed = append(typed, s.String())
		}
	}
	if want := []string{"interrupt", "terminated", "hangup", "quit"}; !slices.Equal(ends, want) {
		t.Errorf("%q end hooks, want %q", ends, want)
	}
	if want := []string{"interrupt", "quit"}; !slices.Equal(typed, want) {
		t.Errorf("%q come from terminals, want %q", typed, want)
	}
}
