package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/report"
)

// tried is what try -o json prints.
type tried struct {
	InstanceGroup string      `json:"instanceGroup"`
	Suite         string      `json:"suite"`
	Joined        bool        `json:"joined"` // in every boot but one in a warm pool
	Boots         []triedBoot `json:"boots"`
}

type triedBoot struct {
	Number  int           `json:"number"`
	Outcome boot.Outcome  `json:"outcome"`
	Warming bool          `json:"warming,omitempty"` // in a warm pool: it must not join
	Joined  bool          `json:"joined"`
	Kubelet float64       `json:"kubeletAfterSeconds,omitempty"`
	Failed  []string      `json:"failedUnits"`
	Reasons []boot.Reason `json:"reasons"`
	Events  []triedEvent  `json:"events"`
	Node    *triedNode    `json:"node,omitempty"` // what the API server knows, with --kops
}

type triedNode struct {
	Ready    bool              `json:"ready"`
	Capacity map[string]string `json:"capacity"`
	Labels   map[string]string `json:"labels"`
	Taints   []string          `json:"taints"`
}

type triedEvent struct {
	Seconds float64 `json:"seconds"` // since the boot began
	Event   string  `json:"event"`
	Unit    string  `json:"unit,omitempty"`
	Text    string  `json:"text,omitempty"`
}

// trial boots a machine and tells what happens.
type trial struct {
	c       *cli.Context
	machine *boot.Machine
	real    *realNode   // with --kops
	bastion bool        // it has no kubelet to join with
	strict  bool        // whatever fails counts
	shell   *trialShell // with --shell
	text    io.Writer

	boots, up int // those that did not end in a reboot of their own, and those of them that went as they should
	result    tried
}

// seconds of d, to the millisecond.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// selfReboots is how often a node may reboot by itself before it is said to do so forever: a hook may ask three
// times, two hooks in a row need more.
const selfReboots = 12

// run boots n times, not counting the reboots that hooks ask for. In a warm pool the first time ends with the machine
// stopped, and it joins when it is started again.
func (t *trial) run(n int, warming bool) error {
	for reboots := 0; n > 0; {
		end := boot.Reboot
		if n == 1 || warming {
			end = boot.PowerOff
		}
		number := len(t.result.Boots) + 1
		fmt.Fprintf(t.text, "boot %d of instance group %s on %s\n", number, t.result.InstanceGroup, t.result.Suite)
		o := boot.Options{End: end, Limit: t.c.Duration("timeout"), OnEvent: t.event}
		if t.real != nil {
			o.Until = t.real.watch()
		}
		o.Until = t.withShell(o.Until, n == 1 && !warming)
		r, err := t.machine.Boot(t.c.Context, o)
		if err != nil {
			return err
		}
		if t.shell != nil && t.shell.err != nil {
			return t.shell.err
		}
		again := r.Outcome == boot.Rebooted && reboots < selfReboots
		t.tell(r, again, warming)
		if again {
			reboots++
			continue
		}
		if r.Outcome != boot.Settled && r.Outcome != boot.Timeout {
			return nil
		}
		n--
		if warming {
			warming = false
			if err := t.machine.SetNodeup(boot.Nodeup{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// event prints one event, if it is one of those that people want to see.
func (t *trial) event(e boot.Event) {
	if t.real != nil {
		if e.Name == "started kubelet.service" {
			t.real.started.Store(true)
		}
		if e.Name == "log" && e.Unit == "kops-configuration.service" { // the real one says very much
			return
		}
	}
	if e.Name == "log" && !strings.HasPrefix(e.Unit, "kopshook-") && e.Unit != "kops-configuration.service" || e.Name == "end" {
		return
	}
	if strings.HasSuffix(e.Unit, ".target") || strings.HasPrefix(e.Unit, "cloud-") && strings.HasPrefix(e.Name, "stop") {
		return
	}
	fmt.Fprintln(t.text, printable(e.String()))
}

func (t *trial) notJoined() string {
	if t.real != nil {
		return "did not join"
	}
	return "would not have joined"
}

// tell prints and keeps what a boot came to.
func (t *trial) tell(r *boot.Result, again, warming bool) {
	b := triedBoot{Number: r.Number, Outcome: r.Outcome, Warming: warming, Joined: r.Joined(), Failed: r.Failed, Reasons: t.machine.Explain(r), Events: []triedEvent{}}
	if t.real != nil {
		b.Joined = t.real.joined()
		if v := t.real.seen; v != nil {
			b.Node = &triedNode{v.Ready, v.Capacity, v.Labels, append([]string{}, v.Taints...)}
		}
	}
	if after, ok := r.KubeletAfter(); ok {
		b.Kubelet = seconds(after)
	}
	if b.Failed == nil {
		b.Failed = []string{}
	}
	if b.Reasons == nil {
		b.Reasons = []boot.Reason{}
	}
	for _, e := range r.Timeline {
		b.Events = append(b.Events, triedEvent{seconds(e.At), e.Name, e.Unit, e.Text})
	}
	t.result.Boots = append(t.result.Boots, b)
	switch {
	case again:
		fmt.Fprintf(t.text, "boot %d: the node reboots by itself\n", r.Number)
	case t.bastion && r.Outcome == boot.Settled:
		fmt.Fprintf(t.text, "boot %d: the bastion is up; it runs no kubelet\n", r.Number)
	case warming && r.Warmed():
		fmt.Fprintf(t.text, "boot %d: the machine is in the warm pool, and is stopped\n", r.Number)
	case warming:
		fmt.Fprintf(t.text, "boot %d: the machine would not have come into the warm pool\n", r.Number)
	case b.Joined:
		fmt.Fprintf(t.text, "boot %d: the node joined: its kubelet started after %.1f s\n", r.Number, b.Kubelet)
	default:
		fmt.Fprintf(t.text, "boot %d: the node %s\n", r.Number, t.notJoined())
	}
	if t.real != nil && !again {
		t.real.tell(t.text)
	}
	for _, reason := range b.Reasons {
		fmt.Fprintf(t.text, "  %s\n", printable(reason.Text))
		for _, line := range reason.Log {
			fmt.Fprintf(t.text, "    | %s\n", printable(line))
		}
	}
	if again {
		return
	}
	up := b.Joined && !warming || warming && r.Warmed() || t.bastion && r.Outcome == boot.Settled
	if t.boots++; up {
		t.up++
	}
	t.result.Joined = t.result.Joined && up && !(t.strict && len(b.Reasons) > 0)
}

// summary is the last line: "2 of 2 boots joined; the slowest hook was root-ca: 0.5 s".
func (t *trial) summary() string {
	verb := "joined"
	switch {
	case t.bastion:
		verb = "came up"
	case t.c.Bool("warm-pool"):
		verb = "went as they should"
	}
	line := fmt.Sprintf("%d of %s %s", t.up, report.Count(t.boots, "boot"), verb)
	slowest, longest := "", time.Duration(0)
	took := timesOfBoots(t.result.Boots)
	for _, hook := range slices.Sorted(maps.Keys(took)) {
		if took[hook] > longest {
			slowest, longest = hook, took[hook]
		}
	}
	if slowest != "" {
		line += fmt.Sprintf("; the slowest hook was %s: %.1f s", printable(slowest), longest.Seconds())
	}
	return line
}
