package clusterhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/kube"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

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
		} else if !r.command.isKops() {
			if r.Cluster != "" {
				return report.Hint("put kopshook exec in front of kops itself, or say with --operation what the command does",
					"%s is not kops: cannot tell what it does to cluster %q, so no hooks would run", r.command.Program(), r.Cluster)
			}
			r.result.Note = r.command.Program() + ": it is not kops, put kopshook exec in front of kops itself or add --operation"
		}
		return r.findProgram()
	}
	events := slices.Concat(op.Before, op.After, op.IfAll)
	if op.ByManifest && r.command.Name == "replace" {
		events = []Event{BeforeRollback, AfterRollback, BeforeUpgrade, AfterUpgrade}
	}
	wanted := slices.ContainsFunc(events, func(e Event) bool { return len(stepsOn(r.Docs, e)) > 0 })
	if !wanted {
		return r.findProgram()
	}
	if outer := r.Getenv(nestedEnv); outer != "" {
		return report.Hint("call kops itself there; the outer kopshook exec runs the hooks",
			"kopshook exec runs inside kopshook exec (%s), and has hooks for `%s`: that would go on forever", outer, r.shown())
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
	if r.Operation != "" && !r.command.isKops() {
		r.prober.cmd = ParseCommand([]string{"kops"}) // the command is another program's, terraform's for instance
	}
	targets, none, err := r.prober.targets(ctx, op, r.Cluster)
	if err != nil {
		return err
	}
	if none != "" && (r.Operation != "" || r.Cluster != "" && r.prober.unclear) {
		return report.Hint("name the cluster with --cluster, and what the command does with --operation",
			"%s: %s, so no hooks would run", r.shown(), none)
	}
	if none != "" {
		r.result.Note = r.shown() + ": " + none
		return nil
	}
	any := false
	for _, t := range targets {
		r.result.Clusters = append(r.result.Clusters, t.Cluster.Name)
		x := target{Target: t}
		if err := r.findGroups(ctx, &x); err != nil {
			return err
		}
		x.before, x.after = r.stagesOf(x.Before, x.Cluster), r.stagesOf(x.After, x.Cluster)
		any = any || len(x.before) > 0 || len(x.after) > 0
		r.targets = append(r.targets, x)
	}
	switch {
	case !any && len(op.IfAll) > 0:
		r.result.Note = "none is for the instance groups that the command names"
	case !any:
		r.result.Note = "none is for cluster " + strings.Join(r.result.Clusters, ", ")
	}
	r.notForNamespace()
	return nil
}

// notForNamespace notes the extensions that leave a cluster out by its namespace, which kops does not have.
func (r *runner) notForNamespace() {
	for _, d := range r.Docs {
		for i := range d.Extensions {
			e := &d.Extensions[i]
			for _, t := range r.targets {
				if want := e.Selector.namespace(); e.Enabled && want != "" && !e.Selector.Selects(t.Cluster) {
					r.leftOut = append(r.leftOut, fmt.Sprintf("extension %s is not for cluster %s: it wants %s, and the cluster counts as in namespace %q; "+
						"give the Cluster a label %s to say another", e.Name, t.Cluster.Name, want, t.Cluster.namespace(), namespaceLabel))
				}
			}
		}
	}
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
				r.clients[s.extension] = r.newClient(ctx, s.doc, s.extension, &found)
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
				"%q of source %q is not a script: its first two bytes are not #!", s.Name, source.Redact(*h.Source))
		}
	}
	return scripts
}

func (r *runner) newClient(ctx context.Context, d *Doc, e *Extension, found *report.Report) *client {
	base := e.path + ".clientConfig"
	config := &e.ClientConfig
	files := tlsFiles{ca: config.CABundle, serverName: config.ServerName}
	if config.CASecret != "" {
		files.ca = nil // the Secret may be newer
	}
	into := map[string]*[]byte{"caFile": &files.ca, "certFile": &files.cert, "keyFile": &files.key}
	for _, f := range e.files() {
		data, err := r.ReadFile(ctx, d, f.Name)
		if err != nil {
			found.AddError(d.Pos(f.Path), f.Path, err)
			return nil
		}
		*into[f.field] = data
	}
	address := config.URL
	if config.Service != nil {
		address = config.Service.URL()
	}
	c, err := newClient(address, files, e.Settings)
	if err == nil && (config.Service != nil || config.CASecret != "") {
		if r.api == nil {
			r.api, err = kube.Connect(r.Context)
		}
		if err == nil {
			c.goInside(r.api, config)
		}
	}
	if err != nil {
		found.AddError(d.Pos(base), base, err)
		return nil
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
