// Package waits finds the hooks that arrive on a node, and tells how long the kubelet may wait for them. It goes by the
// units, not by the specs that made them: what a manifest holds already counts as well.
package waits

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/report"
)

// Hook is a hook as its unit tells it.
type Hook struct {
	Name      string
	Phase     generator.Phase
	EveryBoot bool
	PerImage  bool // run: once-per-image; where the image has done it, only verify runs
	Continue  bool // when it fails the node joins all the same
	Attempts  int
	Delay     time.Duration // before the second attempt; it doubles
	Timeout   time.Duration // of an attempt
	Reboots   bool          // it may ask for reboots
	Missing   bool          // the gate names it, but its unit does not arrive
	Elsewhere bool          // the gate names it, and it lies in a bucket that nobody looked into
	Before    []string      // further units that wait for it: containerd.service
	order     int           // in the gate, from 1; 0 where no gate names it
}

// Holds says whether the kubelet waits for the hook.
func (h *Hook) Holds() bool { return h.Phase.Holds() }

// Most reboots that a hook may ask for, and the longest delay between attempts (templates/v1/reboot.sh, run.sh).
const (
	mostReboots  = 3
	longestDelay = 2 * time.Minute
)

// Worst is the longest that the hook may take: all attempts up to their timeouts and the delays between them, and that
// once more for each reboot that it may ask for. The time that the machine takes to boot is not in it.
func (h *Hook) Worst() time.Duration {
	worst := time.Duration(h.Attempts) * h.Timeout
	delay := h.Delay
	for range h.Attempts - 1 {
		worst += delay
		delay = min(2*delay, longestDelay)
	}
	if h.Reboots {
		worst *= 1 + mostReboots
	}
	return worst
}

// Why is what Worst adds up: "3 × 20m + 30s of delays", "" where it is one attempt.
func (h *Hook) Why() string {
	why := ""
	if h.Attempts > 1 {
		why = fmt.Sprintf("%d × %s", h.Attempts, report.Duration(h.Timeout))
		once := *h
		once.Reboots = false
		if pauses := once.Worst() - time.Duration(h.Attempts)*h.Timeout; pauses > 0 {
			why += " + " + report.Duration(pauses) + " of delays"
		}
	}
	if h.Reboots {
		why = cmp.Or(why, report.Duration(h.Timeout)) + fmt.Sprintf(", %d times, as it may reboot", 1+mostReboots)
	}
	return why
}

// Wait is how long something may wait for hooks that run one after the other.
type Wait struct {
	Total   time.Duration
	Slowest *Hook // the one with the largest share, nil without hooks
	Unknown int   // hooks that are not in Total: they lie in a bucket that nobody looked into
}

// Of adds up what hooks of some phases may take. All hooks of a phase are a chain.
func Of(hooks []Hook, phases ...generator.Phase) Wait {
	var w Wait
	for i := range hooks {
		h := &hooks[i]
		switch {
		case !slices.Contains(phases, h.Phase) || h.Missing:
			continue
		case h.Elsewhere:
			w.Unknown++
			continue
		}
		w.Total += h.Worst()
		if w.Slowest == nil || h.Worst() > w.Slowest.Worst() {
			w.Slowest = h
		}
	}
	return w
}

// String is "1h16m, 1h30s of it for driver (3 × 20m + 30s of delays)", and what is not known; "" without hooks.
func (w Wait) String() string {
	if w.Slowest == nil {
		return ""
	}
	s := report.Duration(w.Total)
	if w.Slowest.Worst() != w.Total {
		s += ", " + report.Duration(w.Slowest.Worst()) + " of it"
	}
	s += " for " + w.Slowest.Name
	if why := w.Slowest.Why(); why != "" {
		s += " (" + why + ")"
	}
	if w.Unknown > 0 {
		s += ", and for " + report.Count(w.Unknown, "hook") + " in a bucket: give the specs to see how long"
	}
	return s
}

// Short is "1h16m (driver)", "1h16m or more" where it is not known of all hooks, "" without hooks.
func (w Wait) Short() string {
	switch {
	case w.Slowest == nil:
		return ""
	case w.Unknown > 0:
		return report.Duration(w.Total) + " or more"
	}
	return fmt.Sprintf("%s (%s)", report.Duration(w.Total), w.Slowest.Name)
}

// Kubelet is how long the kubelet may wait: pre-kubelet hooks run when those of pre-nodeup are done.
func Kubelet(hooks []Hook) Wait { return Of(hooks, generator.PreNodeup, generator.PreKubelet) }

// Nodeup is how long nodeup may wait.
func Nodeup(hooks []Hook) Wait { return Of(hooks, generator.PreNodeup) }

// fetching is what reads an archive from a bucket, with what it may take at most (templates/v1/bucket/archive.py).
var fetching = Hook{Name: "archive", Phase: generator.PreNodeup, EveryBoot: true, Attempts: 6, Delay: 5 * time.Second, Timeout: 70 * time.Second}

// Fetches says whether it reads the archive, which all hooks wait for, and is no hook of a spec.
func (h *Hook) Fetches() bool { return h.Name == fetching.Name }

// Find finds the hooks among the units that write_files makes or an archive holds, in the order in which they run.
//
// archive is what lies in a bucket, nil when that is not known: of hooks in it nothing but the names is known then.
func Find(r *cloudinit.Result, archive []generator.File) []Hook {
	var hooks []Hook
	elsewhere := false
	var gate []Hook
	for _, run := range r.Runs {
		switch {
		case run.What == "boothook" && strings.Contains(run.Name, "-gate"):
			for i, g := range generator.GateHooks(run.Content) {
				gate = append(gate, Hook{Missing: true, Name: g.Name, Phase: g.Phase, order: i + 1, Before: g.Before})
			}
		case IsArchive(run):
			files, fetched := Unpacked(run, archive)
			if fetched {
				elsewhere = archive == nil
				hooks = append(hooks, fetching)
			}
			for _, f := range files {
				if strings.HasSuffix(f.Path, ".service") {
					if h, ok := hookOfUnit(string(f.Content)); ok {
						hooks = append(hooks, h)
					}
				}
			}
		case run.File != nil && strings.HasPrefix(path.Base(run.File.Path), "kopshook-") && strings.HasSuffix(run.File.Path, ".service"):
			if h, ok := hookOfUnit(run.Content); ok {
				hooks = append(hooks, h)
			}
		}
	}
	for _, g := range gate {
		i := slices.IndexFunc(hooks, func(h Hook) bool { return h.Name == g.Name })
		if i < 0 {
			g.Missing, g.Elsewhere = !elsewhere, elsewhere
			hooks = append(hooks, g)
			continue
		}
		hooks[i].order, hooks[i].Before = g.order, g.Before
	}
	slices.SortStableFunc(hooks, func(a, b Hook) int { return cmp.Compare(a.order, b.order) })
	return hooks
}

// IsArchive says whether what runs is the part that puts an archive's files in place.
func IsArchive(run cloudinit.Run) bool {
	return run.What == "boothook" && strings.Contains(run.Name, "-archive")
}

// Unpacked returns the files of such a part; those of archive where it fetches them from a bucket.
func Unpacked(run cloudinit.Run, archive []generator.File) (files []generator.File, fetched bool) {
	files, whole := generator.Archived(run.Content)
	if _, _, ok := generator.InBucket(run.Content); ok && !whole {
		return archive, true
	}
	return files, false
}

func hookOfUnit(unit string) (Hook, bool) {
	s, ok := generator.StartOf(unit)
	return Hook{Name: s.Name, Phase: s.Phase, EveryBoot: s.Run == generator.EveryBoot, PerImage: s.Run == generator.OncePerImage,
		Continue: s.OnFailure == "continue", Attempts: s.Attempts, Delay: s.RetryDelay, Timeout: s.Timeout,
		Reboots: len(s.RebootExitCodes) > 0}, ok
}
