package clusterhooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"time"

	"kopshook.dev/kopshook/internal/report"
)

const maxRetryDelay = 2 * time.Minute

// runHook runs a hook for an event: all of its attempts.
func (r *runner) runHook(ctx context.Context, s *step, event Event, c *Cluster) (result StepResult) {
	h := s.hook
	result = StepResult{Name: h.Name, Kind: "hook", Event: event, Cluster: c.Name, Status: Failed}
	start := time.Now()
	defer func() { result.Seconds = seconds(start) }()
	lockCtx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	dir, err := openWorkDir(lockCtx, r.WorkDir, c, h, s.scripts)
	if err != nil {
		result.fail(ctx, err)
		return result
	}
	result.Log = filepath.Join(dir.path, "log")
	out := &prefixWriter{w: r.Stderr, prefix: h.Name + " | "}
	var kept tail
	sink := io.MultiWriter(dir.log, out, &kept)
	delay := h.RetryDelay
	for result.Attempts = 1; ; result.Attempts++ {
		err = r.attempt(ctx, s, event, c, dir, sink, &result)
		out.flush()
		if err == nil {
			result.Status, result.Message = Succeeded, ""
			break
		}
		result.fail(ctx, err)
		if ctx.Err() != nil || result.Attempts == h.Attempts {
			break
		}
		r.say("%s: %s: attempt %d of %d: %v; again in %s", event, h.Name, result.Attempts, h.Attempts, err, delay)
		select {
		case <-ctx.Done():
			result.fail(ctx, ctx.Err())
		case <-time.After(delay):
		}
		if ctx.Err() != nil {
			break
		}
		delay = min(2*delay, maxRetryDelay)
	}
	result.Output = kept.String()
	if removed, err := dir.finish(h, result.Status == Succeeded); err != nil {
		r.say("%s: %s: cannot remove the work folder: %v", event, h.Name, err)
	} else if removed {
		result.Log = ""
	}
	if result.Status != Succeeded && result.Status != Interrupted && h.Ignore {
		result.Status = Ignored
	}
	return result
}

// attempt runs the hook's scripts once, up to the first that fails.
func (r *runner) attempt(ctx context.Context, s *step, event Event, c *Cluster, dir *workDir, sink io.Writer, result *StepResult) error {
	h := s.hook
	runCtx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	for _, script := range s.scripts {
		cmd := exec.Command(filepath.Join(dir.scripts(), script.Name))
		cmd.Stdout, cmd.Stderr = sink, sink
		cmd.Env = append(r.environ(string(event)), c.env(event)...)
		cmd.Env = append(cmd.Env, "KOPSHOOK_HOOK="+h.Name, fmt.Sprintf("KOPSHOOK_ATTEMPT=%d", result.Attempts), "KOPSHOOK_WORK_DIR="+dir.path)
		if !event.Before() {
			cmd.Env = append(cmd.Env, fmt.Sprintf("KOPSHOOK_KOPS_EXIT_CODE=%d", r.result.Kops.ExitCode))
		}
		for name, value := range h.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		end, err := runGroup(runCtx, cmd)
		result.ExitCode, result.Signal = end.exitCode, end.signalName()
		which := ""
		if len(s.scripts) > 1 {
			which = script.Name + ": "
		}
		switch {
		case errors.Is(err, fs.ErrPermission):
			return report.Hint("choose a file system that allows execution with --work-dir", "%scannot be started: %w", which, err)
		case errors.Is(err, fs.ErrNotExist):
			return report.Hint("install the interpreter that its first line names", "%scannot be started: %w", which, err)
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("%sno end after %s; killed", which, h.Timeout)
		case err != nil:
			return err
		case end != ending{}:
			return fmt.Errorf("%s%s", which, end)
		}
	}
	return nil
}
