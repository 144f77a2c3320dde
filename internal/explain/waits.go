package explain

import (
	"time"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// Wait is how long the kubelet may wait for a hook. Hooks run one after the other.
type Wait struct {
	Hook  string
	Start time.Duration // when all before it have taken as long as they may
	Worst time.Duration
	Took  time.Duration // as somebody measured it; 0 when nobody did
}

// waits returns those for all hooks that the kubelet waits for, in the order in which they run.
func (m *maker) waits() []Wait {
	var list []Wait
	start := time.Duration(0)
	for i := range m.hooks {
		h := &m.hooks[i]
		if !h.Holds() || h.Missing || h.Elsewhere {
			continue
		}
		list = append(list, Wait{Hook: h.Name, Start: start, Worst: h.Worst(), Took: m.in.Took[h.Name]})
		start += h.Worst()
	}
	return list
}

func (m *maker) limits() []waits.Limit {
	if m.in.Limits == nil {
		return waits.Limits(nil)
	}
	return m.in.Limits
}

// place is "ig.yaml:12", or "".
func (m *maker) place(at cloudinit.At) string {
	p := m.in.Place(at)
	if p.Line == 0 {
		return ""
	}
	return report.Position{File: p.File, Line: p.Line}.String()
}

func (m *maker) hookPlace(hook string) string {
	if m.in.HookPlace == nil {
		return ""
	}
	return m.in.HookPlace(hook)
}

// scale is how much time the bars show: all that hooks may take, and at least as long as kops waits.
func (t *Timeline) scale() time.Duration { return max(t.Kubelet.Total, waits.KopsGivesUp) }

// took says whether any hook was measured, and how long those took that were.
func (t *Timeline) took() (total time.Duration, any bool) {
	for _, w := range t.Waits {
		total += w.Took
		any = any || w.Took > 0
	}
	return total, any
}

// late says that somebody may give up on machines that would join.
func (t *Timeline) late() bool { return t.Verdict.MayBeLate(len(t.Over) > 0) }

// headline is what becomes of the machines, in a sentence.
func (t *Timeline) headline() string { return Sentence(t.Verdict, len(t.Over) > 0) }

// waitsFor is "the kubelet waits at most 1h16m, 1h30s of it for driver; ...", "" without hooks.
func (t *Timeline) waitsFor() string {
	if len(t.Waits) == 0 {
		return ""
	}
	s := "the kubelet waits at most " + t.Kubelet.String()
	for _, l := range t.Over {
		s += "; " + l.Short()
	}
	if total, any := t.took(); any {
		s += "; measured: " + seconds(total)
	}
	return s
}

// seconds prints what was measured.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return report.Duration(d.Round(time.Second))
}
