package clusterhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kopshook.dev/kopshook/internal/report"
)

// minRetry keeps a server from being asked all the time.
const minRetry = time.Second

// discovery stands for the event where an extension is asked what it has.
const discovery Event = "discovery"

// discover asks every extension that is needed what it has, before anything else runs. ok is false when one of them
// does not say, and its failurePolicy is Fail.
func (r *runner) discover(ctx context.Context) (ok bool) {
	ok = true
	done := map[*Extension]bool{}
	r.eachStep(func(s *step) {
		e := s.extension
		if e == nil || done[e] || !ok {
			return
		}
		done[e] = true
		start := time.Now()
		handlers, err := r.clients[e].discover(ctx)
		if err == nil {
			r.found[e] = handlers
			return
		}
		result := StepResult{Name: e.Name, Kind: "extension", Event: discovery, Attempts: 1, Seconds: seconds(start)}
		result.fail(ctx, err)
		if result.Status == Failed && e.Ignore {
			result.Status = Ignored
		}
		r.add(result)
		ok = result.Status == Ignored
	})
	return ok
}

// callExtension calls all handlers of an extension that are for event, up to the first that fails.
func (r *runner) callExtension(ctx context.Context, e *Extension, event Event, c *Cluster) []StepResult {
	var results []StepResult
	for _, h := range r.found[e] {
		if !h.isFor(event) {
			continue
		}
		result := r.callUntilFree(ctx, e, &h, event, c)
		results = append(results, result)
		if result.Status != Succeeded && result.Status != Ignored {
			break
		}
	}
	return results
}

// callUntilFree calls a handler, and again for as long as it blocks.
func (r *runner) callUntilFree(ctx context.Context, e *Extension, h *handler, event Event, c *Cluster) (result StepResult) {
	result = StepResult{Name: h.Name + "." + e.Name, Kind: "extension", Event: event, Cluster: c.Name, Status: Failed}
	start := time.Now()
	defer func() { result.Seconds = seconds(start) }()
	for result.Attempts = 1; ; result.Attempts++ {
		resp, err := r.clients[e].callHandler(ctx, h, event, c)
		if err != nil {
			result.fail(ctx, err)
			var call callError
			if result.Status == Failed && errors.As(err, &call) && h.ignoresErrors() {
				result.Status = Ignored
			}
			return result
		}
		if resp.RetryAfterSeconds == 0 {
			result.Status, result.Message = Succeeded, resp.Message
			return result
		}
		pause := max(minRetry, time.Duration(resp.RetryAfterSeconds)*time.Second)
		waited := time.Since(start)
		if waited+pause > r.MaxWait {
			result.Message = fmt.Sprintf("still blocks after %s, and would again for %s", waited.Round(time.Second), pause)
			if resp.Message != "" {
				result.Message += ": " + resp.Message
			}
			result.Remedy = "wait longer with --max-wait, or make the extension let the cluster go"
			return result
		}
		r.progress("%s: %s blocks; asked %s, again in %s (%s of %s)%s", event, result.Name, times(result.Attempts), pause,
			waited.Round(time.Second), r.MaxWait, after(": ", resp.Message))
		select {
		case <-ctx.Done():
			result.fail(ctx, ctx.Err())
			return result
		case <-time.After(pause):
		}
	}
}

// progress shows that something is being waited for: on a terminal one line that is overwritten, else a line each.
func (r *runner) progress(format string, args ...any) {
	line := "kopshook: " + report.OneLine(fmt.Sprintf(format, args...))
	if r.Terminal {
		fmt.Fprintf(r.Stderr, "\r\x1b[K%s", line)
		r.waiting = true
		return
	}
	fmt.Fprintln(r.Stderr, line)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// after puts sep before s, if there is an s.
func after(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}
