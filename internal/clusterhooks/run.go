package clusterhooks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"kopshook.dev/kopshook/internal/kube"
	"kopshook.dev/kopshook/internal/report"
)

// Options say what to run, and with what.
type Options struct {
	Docs    []*Doc
	Command []string // the kops command line; Command[0] is the program
	// Operation and Cluster are set where the command line does not show them.
	Operation, Cluster string

	// Load reads a hook's source; ReadFile reads a file that a document names.
	Load     func(ctx context.Context, d *Doc, source string) ([]Script, error)
	ReadFile func(ctx context.Context, d *Doc, name string) ([]byte, error)
	WorkDir  string
	Context  string        // of the kubeconfig, for the cluster that servers of extensions are in; "" is the current one
	MaxWait  time.Duration // how long extensions may block
	DryRun   bool          // say what would run, and run nothing

	Stdin          io.Reader // handed to kops as they are
	Stdout, Stderr io.Writer // hooks and kopshook itself write to Stderr only
	Terminal       bool      // Stderr is one
	Getenv         func(string) string
	Signals        <-chan os.Signal // of Signals
}

// nestedEnv is set for everything that kopshook exec starts: by it a kopshook exec knows that it is inside another.
const nestedEnv = "KOPSHOOK_EXEC"

type runner struct {
	Options
	command *Command
	prober  *prober
	result  *Result
	clients map[*Extension]*client
	found   map[*Extension][]handler
	targets []target
	leftOut []string  // why extensions are not called
	api     *kube.API // once an extension needs it
	waiting bool      // a progress line is on the terminal
	// interrupted is the signal that interrupted kops, whatever it made of it
	interrupted os.Signal
}

// target is a cluster with the steps of its events.
type target struct {
	Target
	before, after []stage
	named         namedGroups
}

// stage is an event with what runs on it.
type stage struct {
	event Event
	steps []step
}

// Supported says on which systems hooks run, on another one.
func Supported() error {
	if unsupported != "" {
		return report.Hint("run it there, or run kops without hooks", "%s", unsupported)
	}
	return nil
}

// Run runs the hooks around the command, and the command. An error means that nothing was run.
func Run(ctx context.Context, opts Options) (*Result, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	r := &runner{Options: opts, command: ParseCommand(opts.Command), clients: map[*Extension]*client{}, found: map[*Extension][]handler{},
		result: &Result{Command: opts.Command, Clusters: []string{}, Steps: []StepResult{}}}
	defer r.closeClients()
	prepareCtx, stop := untilSignal(ctx, r.Signals)
	err := r.prepare(prepareCtx)
	interrupt := stop()
	switch {
	case interrupt != nil:
		r.say("interrupted: kops was not started")
		r.result.setExit(interrupt)
		return r.result, nil
	case err != nil:
		return nil, err
	}
	if r.result.Note != "" && !r.DryRun {
		r.say("no hooks run: %s", r.result.Note)
	}
	discoverCtx, stop := untilSignal(ctx, r.Signals)
	ok := r.discover(discoverCtx)
	interrupt = stop()
	if ok && interrupt == nil {
		if err := r.checkGroups(); err != nil {
			return nil, err
		}
	}
	for _, why := range r.leftOut {
		r.say("%s", why)
	}
	if ok && interrupt == nil {
		r.sayWhatComesLast()
	}
	if r.DryRun {
		r.result.setExit(interrupt)
		r.printPlan()
		return r.result, nil
	}
	r.result.setExit(r.run(ctx, ok, interrupt))
	return r.result, nil
}

// run is everything that may change something. ok and interrupt say how it went until then; it returns the signal that
// ended kopshook's own part of it.
func (r *runner) run(ctx context.Context, ok bool, interrupt os.Signal) os.Signal {
	hookCtx, stop := untilSignal(ctx, r.Signals)
	for i := range r.targets {
		t := &r.targets[i]
		ok = r.stages(hookCtx, t, t.before, ok && interrupt == nil)
	}
	if late := stop(); interrupt == nil {
		interrupt = late
	}
	if interrupt != nil {
		r.say("interrupted: kops was not started, the cluster is as it was")
		return interrupt
	}
	if !ok {
		r.say("kops was not started: a hook failed before it")
		return nil
	}
	first, rest, split := r.splits()
	if split {
		if ok, interrupt = r.rollControlPlane(ctx, first); interrupt != nil || !r.result.Kops.Started {
			return interrupt
		}
	} else {
		rest = r.Command
	}
	if ok && r.result.Kops.ExitCode == 0 {
		if split {
			r.say("the rest: %s", strings.Join(rest, " "))
		}
		if started, late := r.runKops(rest); !started || late != nil {
			return late
		}
	}
	hookCtx, stop = untilSignal(ctx, r.Signals)
	for i := range r.targets {
		t := &r.targets[i]
		r.refresh(hookCtx, t)
		last := t.after
		if split {
			_, last = t.parts()
		}
		ok = r.stages(hookCtx, t, last, ok)
	}
	return stop()
}

// runKops runs the command, or a part of it, unless it cannot be started. late is a signal that came too late for it.
func (r *runner) runKops(args []string) (started bool, late os.Signal) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.Stdin, r.Stdout, r.Stderr
	if r.prober != nil && r.prober.read != nil {
		cmd.Stdin = bytes.NewReader(r.prober.read)
	}
	cmd.Env = r.environ("kops")
	start := time.Now()
	end, late, err := runInFront(cmd, r.Signals)
	part := KopsPart{Command: args, Seconds: seconds(start), at: len(r.result.Steps)}
	if err != nil {
		r.say("%v", notStarted(args[0], err))
		part.ExitCode = exitNotRunable
		r.result.ran(part)
		return false, late
	}
	part.Started, part.ExitCode, part.Signal = true, end.exitCode, end.signalName()
	r.result.ran(part)
	r.result.Signal = end.signal
	r.interrupted = end.interrupt
	return true, late
}

// environ is the environment of a process that kopshook exec starts.
func (r *runner) environ(what string) []string {
	return append(os.Environ(), nestedEnv+"="+what)
}

// refresh asks kops about a cluster that the command has just made.
func (r *runner) refresh(ctx context.Context, t *target) {
	if !slices.Contains(t.Before, BeforeCreate) || r.result.Kops.ExitCode != 0 || len(t.after) == 0 {
		return
	}
	c, err := r.prober.cluster(ctx, t.Cluster.Name)
	if err != nil {
		r.say("%v", err)
		return
	}
	r.prober.locate(c)
	t.Cluster = c
}

// stages runs the steps of several events, up to the first failure that is not ignored. The rest is noted as skipped.
func (r *runner) stages(ctx context.Context, t *target, stages []stage, ok bool) bool {
	for _, st := range stages {
		if !st.event.Before() && !r.wants(st.event, Always) {
			continue
		}
		for i := range st.steps {
			s := &st.steps[i]
			if s.hook != nil && !st.event.Before() && !r.wants(st.event, s.hook.When) {
				continue
			}
			if !ok || ctx.Err() != nil {
				r.result.Steps = append(r.result.Steps, StepResult{Name: s.name(), Kind: s.kind(), Event: st.event, Cluster: t.Cluster.Name, Status: Skipped})
				continue
			}
			for _, result := range r.runStep(ctx, s, st.event, t.Cluster) {
				r.add(result)
				ok = ok && (result.Status == Succeeded || result.Status == Ignored)
			}
		}
	}
	return ok && ctx.Err() == nil
}

// wants says whether something on an after event runs, by how kops ended.
func (r *runner) wants(event Event, when When) bool {
	succeeded := r.result.Kops.ExitCode == 0
	if event.onlyAfterSuccess() && !succeeded {
		return false
	}
	return when == Always || succeeded == (when == OnSuccess)
}

func (r *runner) runStep(ctx context.Context, s *step, event Event, c *Cluster) []StepResult {
	if s.extension != nil {
		return r.callExtension(ctx, s.extension, event, c)
	}
	return []StepResult{r.runHook(ctx, s, event, c)}
}

// add notes a result, and says it.
func (r *runner) add(result StepResult) {
	r.result.Steps = append(r.result.Steps, result)
	status := string(result.Status)
	if result.Status == Ignored {
		status = "failed, which is ignored"
	}
	line := fmt.Sprintf("%s: %s: %s", result.Event, result.Name, status)
	if result.Message != "" && result.Message != status {
		line += ": " + result.Message
	}
	r.say("%s", line)
	if result.Remedy != "" {
		fmt.Fprintf(r.Stderr, "  hint: %s\n", report.OneLine(result.Remedy))
	}
	if result.Log != "" && result.Status != Succeeded {
		fmt.Fprintf(r.Stderr, "  log: %s\n", report.OneLine(result.Log))
	}
}

// say tells people something, on standard error.
func (r *runner) say(format string, args ...any) {
	if r.waiting {
		fmt.Fprint(r.Stderr, "\r\x1b[K")
		r.waiting = false
	}
	fmt.Fprintf(r.Stderr, "kopshook: %s\n", report.Clean(fmt.Sprintf(format, args...)))
}

// shown is the command as messages show it, without its values: they may be long.
func (r *runner) shown() string {
	name := r.command.Program()
	if r.command.Name != "" {
		name += " " + r.command.Name
	}
	return name
}
