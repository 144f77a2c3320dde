package boot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Ending is how a boot ends once all is settled and the scenario has run.
type Ending string

const (
	PowerOff Ending = "poweroff" // orderly; the default
	Reboot   Ending = "reboot"   // orderly
	Cut      Ending = "now"      // at once, nothing is stopped or synced
)

// Options of one boot.
type Options struct {
	// Scenario is bash, run as root in the node once all is settled, or the node's limit is over.
	Scenario string
	End      Ending
	// CutAt cuts the power when an event of this name is seen.
	CutAt string
	// Limit is how long the node may take to settle; then the boot goes on as if it had settled, with the outcome
	// Timeout. 0 means two minutes.
	Limit time.Duration
	// Until is called when the node has settled, or its limit is over; the scenario runs when it returns. The time that it
	// takes does not count.
	Until func(context.Context)
	// OnEvent is called with each event as it happens, a second late, and in order unless the node is very slow.
	OnEvent func(Event)
}

// Outcome is how a boot went.
type Outcome string

const (
	Settled  Outcome = "settled"  // cloud-init was done and systemd had nothing left to do
	Timeout  Outcome = "timeout"  // not so within Options.Limit
	CutOff   Outcome = "cut off"  // Options.CutAt happened
	Rebooted Outcome = "rebooted" // the node rebooted or powered off by itself
	Stuck    Outcome = "stuck"    // the node did not even say that it took too long; it was killed
)

// Result is what was seen of one boot.
type Result struct {
	Number   int // of this machine's boots, from 1
	Outcome  Outcome
	Timeline Timeline
	Console  string
	Scenario string                       // the scenario's output
	Failed   []string                     // units that had failed at the end
	Jobs     []string                     // what systemd still had to do at the end: "UNIT KIND STATE"
	Units    map[string]map[string]string // properties of units of interest, by name; as of the end
	Versions map[string]string            // virt, systemd, cloud-init

	dir  string // what the node left
	real bool   // it has a real kubelet, which tells us nothing
}

// Journal is what a unit printed in this boot, a line each. The machine must not be closed yet.
func (r *Result) Journal(unit string) string {
	file, err := os.ReadFile(filepath.Join(r.dir, "journal"))
	if err != nil {
		return ""
	}
	var b strings.Builder
	for line := range bytes.Lines(file) {
		var e entry
		if json.Unmarshal(line, &e) == nil && e.From == unit {
			b.WriteString(text(e.Message) + "\n")
		}
	}
	return b.String()
}

// RawConsole is what the node wrote to its console, with what a terminal takes as commands. The machine must not be closed
// yet.
func (r *Result) RawConsole() ([]byte, error) { return os.ReadFile(filepath.Join(r.dir, "console")) }

// Joined says whether the node would have joined its cluster: its kubelet was started. Whether a machine with Config.Join
// has joined, its cluster knows better.
func (r *Result) Joined() bool { return r.Timeline.Count(r.kubeletStarts()) > 0 }

// kubeletStarts is the event of a kubelet that starts.
func (r *Result) kubeletStarts() string {
	if r.real {
		return "started kubelet.service"
	}
	return "kubelet-start"
}

// Warmed says whether nodeup has made the machine ready for a warm pool: all is there, and no kubelet was started.
func (r *Result) Warmed() bool {
	return r.Timeline.Count("lifecycle-action-completed") > 0 && !r.Joined()
}

// grace is what a node has to shut down, beyond its limit.
const grace = 60 * time.Second

// Boot boots the machine once and waits for its end. An error means that the machine itself could not be run, not that
// the node failed.
func (m *Machine) Boot(ctx context.Context, o Options) (*Result, error) {
	if o.End == "" {
		o.End = PowerOff
	}
	if o.Limit == 0 {
		o.Limit = 2 * time.Minute
	}
	m.boots++
	out := filepath.Join(m.dir, fmt.Sprintf("boot-%d", m.boots))
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	for name, content := range map[string]string{
		"scenario": o.Scenario, "end": string(o.End), "limit": fmt.Sprintf("%d", int(o.Limit.Seconds())), "hold": hold(o),
	} {
		if err := m.setTrial(name, content); err != nil {
			return nil, err
		}
	}

	r := &Result{Number: m.boots, dir: out, real: m.config.Join != nil}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	deadline := time.AfterFunc(o.Limit+grace, func() { stop(context.DeadlineExceeded) })
	defer deadline.Stop()
	running, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	var following sync.WaitGroup
	s := &stream{dir: out, emit: func(e Event) {
		r.Timeline = append(r.Timeline, e)
		if o.OnEvent != nil {
			o.OnEvent(e)
		}
	}, seen: func(name string) {
		if o.CutAt != "" && name == o.CutAt {
			cut(errCut)
		}
		if o.Until != nil && (name == string(Settled) || name == string(Timeout)) {
			following.Go(func() {
				deadline.Stop()
				o.Until(running)
				deadline.Reset(o.Limit + grace)
				m.setTrial("hold", "")
			})
		}
	}}
	ended := make(chan struct{})
	following.Go(func() { s.follow(ended) })
	run := m.runContainer
	if m.config.VM {
		run = m.runVM
	}
	err := run(running, out)
	close(ended)
	following.Wait()
	slices.SortStableFunc(r.Timeline, func(a, b Event) int { return cmp.Compare(a.At, b.At) })

	switch {
	case errors.Is(context.Cause(running), errCut):
		r.Outcome, err = CutOff, nil
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		r.Outcome, err = Stuck, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if s.err != nil {
		return nil, s.err
	}
	return r, r.read(out)
}

// hold is what keeps the node from going on once it has settled.
func hold(o Options) string {
	if o.Until == nil {
		return ""
	}
	return "until the machine's owner is done"
}

var errCut = errors.New("the power was cut")

// read adds what the node left in dir.
func (r *Result) read(dir string) error {
	console, err := r.RawConsole()
	if err != nil {
		return err
	}
	r.Console = plain(string(console))
	scenario, _ := os.ReadFile(filepath.Join(dir, "scenario"))
	r.Scenario = string(scenario)
	state, _ := os.ReadFile(filepath.Join(dir, "state")) // a node that was cut off has none
	r.parseState(string(bytes.ReplaceAll(state, []byte("\r"), nil)))
	if r.Outcome == "" {
		r.Outcome = Rebooted
	}
	return nil
}

// controls are what a terminal takes as commands, such as colors.
var controls = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-9;:?!]*[A-Za-z]|[^\\[])|[\x00-\x08\x0b-\x1f]")
})

// plain is what a terminal shows of text.
func plain(text string) string { return controls().ReplaceAllString(text, "") }

// parseState reads what the stand-in "watch" reports.
func (r *Result) parseState(state string) {
	r.Units, r.Versions = map[string]map[string]string{}, map[string]string{}
	unit := map[string]string{}
	if !strings.HasSuffix(state, "end\n") {
		return
	}
	for line := range strings.Lines(state) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch kind {
		case "outcome":
			if r.Outcome == "" {
				r.Outcome = Outcome(rest)
			}
		case "job":
			if !strings.HasPrefix(rest, "trial") {
				r.Jobs = append(r.Jobs, rest)
			}
		case "failed":
			r.Failed = append(r.Failed, rest)
		case "virt", "systemd", "cloud-init":
			r.Versions[kind] = rest
		case "show":
			key, value, ok := strings.Cut(rest, "=")
			if !ok { // between two units
				unit = map[string]string{}
				continue
			}
			unit[key] = value
			if key == "Id" {
				r.Units[value] = unit
			}
		}
	}
	slices.Sort(r.Failed)
}
