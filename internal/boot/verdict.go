package boot

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"kopshook.dev/kopshook/internal/nodestatus"
)

// Reason is one thing that went wrong in a boot, and the last lines of what there is to read about it.
type Reason struct {
	Text string   `json:"text"`
	Log  []string `json:"log,omitempty"`
}

// logLines is how many lines of a log a reason has.
const logLines = 10

// Explain says what went wrong in r, the last boot of m: first why the node did not join, if it did not. Nothing went
// wrong when the list is empty.
func (m *Machine) Explain(r *Result) []Reason {
	var reasons []Reason
	say := func(log string, format string, args ...any) {
		lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
		if log == "" {
			lines = nil
		}
		reasons = append(reasons, Reason{fmt.Sprintf(format, args...), lines[max(0, len(lines)-logLines):]})
	}
	if r.closed() {
		say(complaints(r.Timeline.logOf("cloud-")), "the gate could not be set up, so nothing may start: cloud-init's log says why")
	}
	told := map[string]bool{}
	for _, s := range m.statuses() {
		unit := "kopshook-" + s.Hook + ".service"
		if s.State != nodestatus.Failed || r.Timeline.Count("starting "+unit) == 0 {
			continue
		}
		told[unit] = true
		say(r.Timeline.Log(unit), "hook %s failed: %s", s.Hook, s.Reason)
	}
	for _, unit := range r.lost() {
		told[unit] = true
		say(complaints(r.Timeline.logOf("cloud-")), "%s is not there, though others wait for it: cloud-init lost the part of the user data that holds it, or stopped before it", unit)
	}
	if r.Timeline.Count("nodeup-failed") > 0 {
		told["kops-configuration.service"] = true
		say(r.Timeline.Log("kops-configuration.service"), "nodeup failed")
	}
	var cloudInit []string // units of its stages; they share their log
	for _, unit := range r.Failed {
		switch {
		case told[unit]:
		case strings.HasPrefix(unit, "cloud-"):
			cloudInit = append(cloudInit, unit)
		default:
			say(r.Timeline.Log(unit), "%s failed", unit)
		}
	}
	if len(cloudInit) > 0 {
		log := complaints(r.Timeline.logOf("cloud-"))
		if r.closed() { // said above
			log = ""
		}
		say(log, "cloud-init failed: %s", strings.Join(cloudInit, ", "))
	}
	for _, e := range r.Timeline {
		if e.Name == "ordering cycle" {
			say("", "systemd left a unit out to break an ordering cycle: %s", e.Text)
		}
	}
	switch r.Outcome {
	case Timeout, Stuck:
		log := ""
		if r.real && slices.ContainsFunc(r.Jobs, func(job string) bool { return strings.HasPrefix(job, "kops-configuration.service ") }) {
			log = r.Timeline.Log("kops-configuration.service") // nodeup tries again forever
		}
		say(log, "the node did not settle in time; it still had to do: %s", strings.Join(r.Jobs, ", "))
	case CutOff:
		say("", "the power was cut")
	}
	hasNodeup := bytes.Contains(m.config.UserData, []byte("nodeup")) // a bastion has none
	if len(reasons) == 0 && !r.Joined() && hasNodeup && r.Number == 1 && r.Timeline.Count("nodeup-installed") == 0 && !r.real {
		say(r.Timeline.logOf("cloud-"), "kops' nodeup.sh did not get as far as installing nodeup's unit")
	}
	return reasons
}

// complaints are the first lines of cloud-init's log that say that something is wrong; all, when none does.
func complaints(log string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(log) {
		if n == logLines {
			break
		}
		for _, word := range []string{"WARNING", "ERROR", "CRITICAL", "Error", "error", "ailed", "annot", "W: ", "E: ", "No space", "Read-only"} {
			if strings.Contains(line, word) {
				b.WriteString(line)
				n++
				break
			}
		}
	}
	if b.Len() == 0 {
		return log
	}
	return b.String()
}

// closed says whether the gate shut itself. What it then writes is in /run, and nothing else of ours is; where there is
// no unit to shut, cloud-init says that the gate failed.
func (r *Result) closed() bool {
	for _, unit := range []string{"kops-configuration.service", "kubelet.service"} {
		if strings.Contains(r.Units[unit]["DropInPaths"], "/run/systemd/system/") {
			return true
		}
	}
	for line := range strings.Lines(r.Timeline.logOf("cloud-")) {
		if strings.Contains(line, "kopshook-000-gate") && strings.Contains(line, "execution error") {
			return true
		}
	}
	return false
}

// lost lists hooks' units that are named by others and are not there.
func (r *Result) lost() []string {
	var units []string
	for name, unit := range r.Units {
		if strings.HasPrefix(name, "kopshook-") && unit["LoadState"] == "not-found" {
			units = append(units, name)
		}
	}
	slices.Sort(units)
	return units
}

// logOf is what all units whose names begin with prefix printed.
func (t Timeline) logOf(prefix string) string {
	var b strings.Builder
	for _, e := range t {
		if e.Name == "log" && strings.HasPrefix(e.Unit, prefix) {
			b.WriteString(e.Text + "\n")
		}
	}
	return b.String()
}

// statuses reads the status files that are there and whole.
func (m *Machine) statuses() []nodestatus.Status {
	names, _ := m.Glob(nodestatus.Dir + "/*.json")
	var list []nodestatus.Status
	for _, name := range names {
		data, err := m.ReadFile(name)
		if err != nil {
			continue
		}
		if s, err := nodestatus.Parse(data); err == nil {
			list = append(list, s)
		}
	}
	nodestatus.Sort(list)
	return list
}

// KubeletAfter returns how long after the boot began the kubelet started.
func (r *Result) KubeletAfter() (time.Duration, bool) {
	e, ok := r.Timeline.First(r.kubeletStarts())
	return e.At, ok
}
