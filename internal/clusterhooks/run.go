package clusterhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

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
	ReadFile func(d *Doc, name string) ([]byte, error)
	WorkDir  string
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
	waiting bool // a progress line is on the terminal
}

// target is a cluster with the steps of its events.
type target struct {
	Target
	before, after []stage
}

// stage is an event with what runs on it.
type stage struct {
	event Event
	steps []step
}

// Run runs the hooks around the command, and the command. An error means that nothing was run.
func Run(ctx context.Context, opts Options) (*Result, error) {
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
	if r.DryRun {
		r.printPlan()
		return r.result, nil
	}
	r.result.setExit(r.run(ctx))
	return r.result, nil
}

// run is everything that may change something. It returns the signal that ended kopshook's own part of it.
func (r *runner) run(ctx context.Context) (interrupt os.Signal) {
	hookCtx, stop := untilSignal(ctx, r.Signals)
	ok := r.discover(hookCtx)
	for i := range r.targets {
		t := &r.targets[i]
		ok = r.stages(hookCtx, t, t.before, ok)
	}
	if interrupt = stop(); interrupt != nil {
		r.say("interrupted: kops was not started, the cluster is as it was")
		return interrupt
	}
	if !ok {
		r.say("kops was not started: a hook failed before it")
		return nil
	}
	if !r.runKops() {
		return nil
	}
	hookCtx, stop = untilSignal(ctx, r.Signals)
	for i := range r.targets {
		t := &r.targets[i]
		r.refresh(hookCtx, t)
		ok = r.stages(hookCtx, t, t.after, ok)
	}
	return stop()
}

// prepare finds out what is to run, and reads all that it needs, so that what can be wrong is found before anything
// runs.
func (r *runner) prepare(ctx context.Context) error {
	op := r.command.Operation()
	if r.Operation != "" {
		op = operationNamed(r.Operation)
	}
	if op.isNothing() {
		if op.None != "" {
			r.result.Note = r.shown() + ": " + op.None
		}
		return r.findProgram()
	}
	events := slices.Concat(op.Before, op.After)
	if op.ByManifest && r.command.Name == "replace" {
		events = []Event{BeforeRollback, AfterRollback, BeforeUpgrade, AfterUpgrade}
	}
	wanted := slices.ContainsFunc(events, func(e Event) bool { return len(stepsOn(r.Docs, e)) > 0 })
	if !wanted {
		return r.findProgram()
	}
	if outer := r.Getenv(nestedEnv); outer != "" {
		return report.Hint("call kops itself there; the outer kopshook exec runs the hooks",
			"kopshook exec runs inside kopshook exec (%s), and has hooks for `%s`: that would go on for ever", outer, r.shown())
	}
	if r.command.Doubt != "" && r.command.Option("name") == "" && r.Cluster == "" && r.Operation == "" {
		return report.Hint("write it with =, and name the cluster with --name",
			"cannot tell whether the last word of `%s` is the option's value or the cluster's name: this kopshook does not know the option", r.command.Doubt)
	}
	if err := r.findProgram(); err != nil {
		return err
	}
	if err := r.findTargets(ctx, op); err != nil {
		return err
	}
	return r.load(ctx)
}

// NotStarted is an error that kept the command from being started. Code is the exit code for it.
type NotStarted struct {
	Code int
	error
}

func (e *NotStarted) Unwrap() error { return e.error }

// findProgram sees to it that the command can be started at all, before hooks run for it.
func (r *runner) findProgram() error {
	if _, err := exec.LookPath(r.Command[0]); err != nil {
		return notStarted(r.Command[0], err)
	}
	return nil
}

func notStarted(program string, err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return &NotStarted{exitNotFound, report.Hint("install it, or give its full path behind --", "%s: not found; no hook was run", program)}
	}
	return &NotStarted{exitNotRunable, fmt.Errorf("%s: %w; no hook was run", program, err)}
}

// findTargets asks kops what the command is about, and keeps the hooks that are for that.
func (r *runner) findTargets(ctx context.Context, op Operation) error {
	r.prober = &prober{cmd: r.command, getenv: r.Getenv, stdin: r.Stdin}
	if r.Operation != "" && !strings.HasPrefix(r.command.Program(), "kops") {
		r.prober.cmd = ParseCommand([]string{"kops"}) // the command is another program's, terraform's for instance
	}
	targets, none, err := r.prober.targets(ctx, op, r.Cluster)
	if err != nil {
		return err
	}
	if none != "" {
		r.result.Note = r.shown() + ": " + none
		return nil
	}
	any := false
	for _, t := range targets {
		r.result.Clusters = append(r.result.Clusters, t.Cluster.Name)
		x := target{Target: t, before: r.stagesOf(t.Before, t.Cluster), after: r.stagesOf(t.After, t.Cluster)}
		any = any || len(x.before) > 0 || len(x.after) > 0
		r.targets = append(r.targets, x)
	}
	if !any {
		r.result.Note = "none is for cluster " + strings.Join(r.result.Clusters, ", ")
	}
	return nil
}

func (r *runner) stagesOf(events []Event, c *Cluster) []stage {
	var stages []stage
	for _, e := range events {
		steps := slices.DeleteFunc(stepsOn(r.Docs, e), func(s step) bool { return !s.selects(c) })
		if len(steps) > 0 {
			stages = append(stages, stage{e, steps})
		}
	}
	return stages
}

// eachStep calls f for every step of every target.
func (r *runner) eachStep(f func(s *step)) {
	for i := range r.targets {
		for _, stages := range [][]stage{r.targets[i].before, r.targets[i].after} {
			for j := range stages {
				for k := range stages[j].steps {
					f(&stages[j].steps[k])
				}
			}
		}
	}
}

// load reads the scripts and certificates of all steps. It reports what is wrong with all of them.
func (r *runner) load(ctx context.Context) error {
	var found report.Report
	loaded := map[*Hook][]Script{}
	r.eachStep(func(s *step) {
		if s.extension != nil {
			if _, done := r.clients[s.extension]; !done {
				r.clients[s.extension] = r.newClient(s.doc, s.extension, &found)
			}
			return
		}
		if _, done := loaded[s.hook]; !done {
			loaded[s.hook] = r.scripts(ctx, s.doc, s.hook, &found)
		}
		s.scripts = loaded[s.hook]
	})
	if found.HasErrors() {
		found.Sort()
		return &ReportError{found}
	}
	return nil
}

// ReportError is an error that is several, each with a position.
type ReportError struct{ Report report.Report }

func (e *ReportError) Error() string { return e.Report.Findings[0].Message }

func (r *runner) scripts(ctx context.Context, d *Doc, h *Hook, found *report.Report) []Script {
	if h.Script != nil {
		return []Script{{Name: "script", Content: []byte(*h.Script)}}
	}
	scripts, err := r.Load(ctx, d, *h.Source)
	path := h.path + ".source"
	if err != nil {
		found.AddError(d.Pos(path), path, err)
		return nil
	}
	for _, s := range scripts {
		if !bytes.HasPrefix(s.Content, []byte("#!")) && !bytes.HasPrefix(s.Content, []byte("\x7fELF")) {
			found.Errorf(d.Pos(path), path, "begin it with a line such as #!/bin/sh",
				"%q of source %q is no script: its first two bytes are not #!", s.Name, *h.Source)
		}
	}
	return scripts
}

func (r *runner) newClient(d *Doc, e *Extension, found *report.Report) *client {
	base := e.path + ".clientConfig"
	config := &e.ClientConfig
	files := tlsFiles{ca: config.CABundle, serverName: config.ServerName}
	for _, f := range []struct {
		field, name string
		into        *[]byte
	}{{"caFile", config.CAFile, &files.ca}, {"certFile", config.CertFile, &files.cert}, {"keyFile", config.KeyFile, &files.key}} {
		if f.name == "" {
			continue
		}
		data, err := r.ReadFile(d, f.name)
		if err != nil {
			found.AddError(d.Pos(base+"."+f.field), base+"."+f.field, err)
			return nil
		}
		*f.into = data
	}
	c, err := newClient(config.URL, files, e.Settings)
	if err != nil {
		found.AddError(d.Pos(base), base, err)
	}
	return c
}

func (r *runner) closeClients() {
	for _, c := range r.clients {
		if c != nil {
			c.close()
		}
	}
}

// runKops runs the command itself. It returns false when it could not be started.
func (r *runner) runKops() bool {
	cmd := exec.Command(r.Command[0], r.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.Stdin, r.Stdout, r.Stderr
	if r.prober != nil && r.prober.read != nil {
		cmd.Stdin = bytes.NewReader(r.prober.read)
	}
	cmd.Env = r.environ("kops")
	start := time.Now()
	end, err := runInFront(cmd, r.Signals)
	k := &r.result.Kops
	k.Seconds = seconds(start)
	if err != nil {
		r.say("%v", notStarted(r.Command[0], err))
		k.ExitCode = exitNotRunable
		return false
	}
	k.Started, k.ExitCode, k.Signal = true, end.exitCode, end.signalName()
	r.result.Signal = end.signal
	return true
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
	if result.Message != "" {
		line += ": " + result.Message
	}
	r.say("%s", line)
	if result.Remedy != "" {
		fmt.Fprintf(r.Stderr, "  hint: %s\n", result.Remedy)
	}
	if result.Log != "" && result.Status != Succeeded {
		fmt.Fprintf(r.Stderr, "  log: %s\n", result.Log)
	}
}

// say tells people something, on standard error.
func (r *runner) say(format string, args ...any) {
	if r.waiting {
		fmt.Fprint(r.Stderr, "\r\x1b[K")
		r.waiting = false
	}
	fmt.Fprintf(r.Stderr, "kopshook: "+format+"\n", args...)
}

// shown is the command as messages show it, without its values: they may be long.
func (r *runner) shown() string {
	name := r.command.Program()
	if r.command.Name != "" {
		name += " " + r.command.Name
	}
	return name
}

// printPlan says what would run.
func (r *runner) printPlan() {
	if r.result.Note != "" {
		fmt.Fprintf(r.Stdout, "no hooks: %s\n", r.result.Note)
	}
	print := func(t *target, stages []stage) {
		for _, st := range stages {
			for _, s := range st.steps {
				fmt.Fprintf(r.Stdout, "%-26s %-10s %s (%s)\n", st.event, s.kind(), s.name(), t.Cluster.Name)
			}
		}
	}
	for i := range r.targets {
		print(&r.targets[i], r.targets[i].before)
	}
	fmt.Fprintf(r.Stdout, "%-26s %-10s %s\n", "", "kops", strings.Join(r.Command, " "))
	for i := range r.targets {
		print(&r.targets[i], r.targets[i].after)
	}
}
