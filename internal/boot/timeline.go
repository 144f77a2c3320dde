package boot

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Event is one thing that happened during a boot.
//
// Name is one of these, with the name of a systemd unit behind the verb:
//
//	starting UNIT, started UNIT, stopping UNIT, stopped UNIT
//	skipped UNIT             a condition of the unit does not hold
//	refused UNIT             an assertion of the unit does not hold
//	failed UNIT              Text is systemd's word for why: exit-code, timeout, dependency, ...
//	nodeup-installed, nodeup-start, nodeup-end, nodeup-failed, nodeup-known, containerd-start, kubelet-start, kubelet-stop
//	lifecycle-action-completed  in a warm pool nodeup says so when the machine may be stopped
//	settled                  cloud-init is done and systemd has no jobs left; or "timeout"
//	log                      Text is a line that a hook's unit or cloud-init printed
//	anything else            from /trial/bin/event NAME, run in the node
type Event struct {
	At   time.Duration // since the boot began
	Name string
	Unit string
	Text string
}

// String is what people read: "  1.234s  failed kopshook-a.service: exit-code".
func (e Event) String() string {
	text := e.Name
	switch {
	case e.Name == "log":
		text = strings.TrimSuffix(e.Unit, ".service") + ": " + e.Text
	case e.Text != "":
		text += ": " + e.Text
	}
	return fmt.Sprintf("%8.3fs  %s", e.At.Seconds(), text)
}

// Timeline is what happened during one boot, in order.
type Timeline []Event

// Count returns how often name happened.
func (t Timeline) Count(name string) int {
	n := 0
	for _, e := range t {
		if e.Name == name {
			n++
		}
	}
	return n
}

// First returns the first event called name.
func (t Timeline) First(name string) (Event, bool) {
	i := slices.IndexFunc(t, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{}, false
	}
	return t[i], true
}

// Before says whether a happened, and b did not happen before it.
func (t Timeline) Before(a, b string) bool {
	first, ok := t.First(a)
	if !ok {
		return false
	}
	then, ok := t.First(b)
	return !ok || first.At <= then.At
}

// Only returns the names of those events that are in names, in the order in which they happened.
func (t Timeline) Only(names ...string) []string {
	var out []string
	for _, e := range t {
		if slices.Contains(names, e.Name) {
			out = append(out, e.Name)
		}
	}
	return out
}

// Log returns what unit printed, one line each; with an empty unit, what all of them did.
func (t Timeline) Log(unit string) string {
	var b strings.Builder
	for _, e := range t {
		if e.Name == "log" && (unit == "" || e.Unit == unit) {
			b.WriteString(e.Text + "\n")
		}
	}
	return b.String()
}

// String is the whole timeline, a line for each event.
func (t Timeline) String() string {
	var b strings.Builder
	for _, e := range t {
		b.WriteString(e.String() + "\n")
	}
	return b.String()
}
