package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/report"
)

// shellOptions says what does not go with --shell.
func shellOptions(c *cli.Context) error {
	if c.String("output") == "json" {
		return report.Hint("leave one out", "--shell and -o json do not go together: the shell has the output")
	}
	return nil
}

// eventsAreLate is how much later than in the node an event is told.
const eventsAreLate = 1500 * time.Millisecond

// withShell is what is done when a boot has settled: until, which may be nil, then a shell in the node. There is one, in the
// first boot on which the node has not joined, or else in the last.
func (t *trial) withShell(until func(context.Context), last bool) func(context.Context) {
	if t.shell == nil || t.shell.opened {
		return until
	}
	return func(ctx context.Context) {
		if until != nil {
			until(ctx)
		}
		joined := t.machine.Active(ctx, "kubelet.service")
		if t.real != nil {
			joined = t.real.joined()
		}
		if joined && !last {
			return
		}
		t.shell.opened = true
		select {
		case <-time.After(eventsAreLate):
		case <-ctx.Done():
			return
		}
		state := "has not joined"
		if joined {
			state = "has joined"
		}
		fmt.Fprintf(t.text, "the node %s: this is a root shell in it; the boot goes on when you leave it with exit\n", state)
		t.shell.out.hold()
		defer t.shell.out.release()
		if err := t.machine.Shell(ctx, t.c.App.Reader, t.shell.out.w, t.c.App.ErrWriter); err != nil && !errors.Is(err, context.Canceled) {
			t.shell.err = err
		}
		if t.real != nil && until != nil {
			until(ctx) // what was done in the shell may have let the node join
		}
	}
}

// trialShell is the shell of try --shell.
type trialShell struct {
	opened bool
	out    *heldWriter // what the boot prints
	err    error
}

// heldWriter keeps what is written back while somebody else has the terminal.
type heldWriter struct {
	w    io.Writer
	mu   sync.Mutex
	held *bytes.Buffer
}

func (h *heldWriter) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held != nil {
		return h.held.Write(p)
	}
	return h.w.Write(p)
}

func (h *heldWriter) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = &bytes.Buffer{}
}

func (h *heldWriter) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.w.Write(h.held.Bytes())
	h.held = nil
}
