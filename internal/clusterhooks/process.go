package clusterhooks

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ending is how a process ended.
type ending struct {
	exitCode int            // 128+N after signal N, as a shell says it
	signal   syscall.Signal // that ended it, 0 for none
	// interrupt is an interrupting signal that came while it ran in front, nil for none; it may have chosen to go on.
	interrupt os.Signal
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
		return "killed by " + signalName(e.signal)
	}
	return fmt.Sprintf("exit code %d", e.exitCode)
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
	return signalName(e.signal)
}
