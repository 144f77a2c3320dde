package clusterhooks

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"syscall"
	"time"

	"kopshook.dev/kopshook/internal/report"
)

// Status is how a step ended.
type Status string

const (
	Succeeded   Status = "succeeded"
	Failed      Status = "failed"
	Ignored     Status = "ignored" // failed, with failurePolicy: Ignore
	Interrupted Status = "interrupted"
	Skipped     Status = "skipped" // not run: one before it failed
)

// StepResult is what became of a hook, or of a handler of an extension. It is part of the JSON report.
type StepResult struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"` // "hook" or "extension"
	Event    Event   `json:"event"`
	Cluster  string  `json:"cluster"`
	Status   Status  `json:"status"`
	Attempts int     `json:"attempts,omitempty"` // of an extension: how often it was asked
	Seconds  float64 `json:"seconds"`
	ExitCode int     `json:"exitCode,omitempty"`
	Signal   string  `json:"signal,omitempty"`
	Message  string  `json:"message,omitempty"`
	Remedy   string  `json:"remedy,omitempty"`
	Log      string  `json:"log,omitempty"`    // file; "" when its folder was removed
	Output   string  `json:"output,omitempty"` // the end of it
}

// KopsResult is what became of the kops command.
type KopsResult struct {
	Started  bool    `json:"started"`
	ExitCode int     `json:"exitCode"`
	Signal   string  `json:"signal,omitempty"`
	Seconds  float64 `json:"seconds"`
	// Parts are the commands that kops was run with, where it was in parts: the control plane first. The fields above are
	// of the last one then, but for the seconds, which are all.
	Parts []KopsPart `json:"parts,omitempty"`
}

// KopsPart is a run of kops: the command as it was given, or a part of it.
type KopsPart struct {
	Command  []string `json:"command"`
	Started  bool     `json:"started"`
	ExitCode int      `json:"exitCode"`
	Signal   string   `json:"signal,omitempty"`
	Seconds  float64  `json:"seconds"`

	at int // how many steps ran before it
}

// ran notes a run of kops.
func (r *Result) ran(part KopsPart) {
	k := &r.Kops
	r.runs = append(r.runs, part)
	if len(r.runs) > 1 || !slices.Equal(part.Command, r.Command) {
		k.Parts = r.runs
	}
	k.Started, k.ExitCode, k.Signal = k.Started || part.Started, part.ExitCode, part.Signal
	k.Seconds += part.Seconds
}

// inOrder calls kops for each part of the command and step for each step, in the order in which they ran.
func (r *Result) inOrder(kops func(KopsPart), step func(*StepResult)) {
	parts := r.runs
	if len(parts) == 0 {
		parts = []KopsPart{{Command: r.Command, at: len(r.Steps)}}
	}
	for i := range r.Steps {
		for len(parts) > 0 && parts[0].at <= i {
			kops(parts[0])
			parts = parts[1:]
		}
		step(&r.Steps[i])
	}
	for _, p := range parts {
		kops(p)
	}
}

// Result is what kopshook exec did. It is the JSON report.
type Result struct {
	Command  []string `json:"command"`
	Clusters []string `json:"clusters"`
	// Note says why no hooks ran, where none did.
	Note  string       `json:"note,omitempty"`
	Steps []StepResult `json:"steps"`
	Kops  KopsResult   `json:"kops"`
	Exit  int          `json:"exitCode"` // of kopshook

	// Signal is the one that ended kops, or kopshook's own work; 0 for none.
	Signal syscall.Signal `json:"-"`

	runs []KopsPart // of kops
}

// Exit codes of kopshook's own, as env, timeout and container runtimes have them, so that kops' own codes can be told
// from them.
const (
	ExitHookFailed = 125
	exitNotRunable = 126
	exitNotFound   = 127
)

// fail notes an error. An interrupt is no failure of the step's.
func (s *StepResult) fail(ctx context.Context, err error) {
	s.Status, s.Message, s.Remedy = Failed, err.Error(), report.Remedy(err)
	if errors.Is(ctx.Err(), context.Canceled) {
		s.Status, s.Message = Interrupted, "interrupted"
	}
}

// failed says whether a step stopped those behind it.
func (r *Result) failed() bool {
	return slices.ContainsFunc(r.Steps, func(s StepResult) bool { return s.Status == Failed || s.Status == Interrupted })
}

// setExit computes the exit code: kops' own, unless hooks failed and kops did not.
func (r *Result) setExit(interrupt os.Signal) {
	if s, ok := interrupt.(syscall.Signal); ok && r.Kops.ExitCode == 0 {
		r.Signal = s
		r.Exit = 128 + int(s)
		return
	}
	switch {
	case r.Kops.ExitCode != 0:
		r.Exit = r.Kops.ExitCode
	case r.failed():
		r.Exit = ExitHookFailed
	}
}

// seconds since start, in whole milliseconds.
func seconds(start time.Time) float64 {
	return math.Round(time.Since(start).Seconds()*1000) / 1000
}
