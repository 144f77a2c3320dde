package machines

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"kopshook.dev/kopshook/internal/console"
	"kopshook.dev/kopshook/internal/nodestatus"
	"kopshook.dev/kopshook/internal/report"
)

// Verdict is how far a machine has come on its way to being a node.
type Verdict string

const (
	IsNode  Verdict = "node"    // the API server has it
	Failed  Verdict = "failed"  // a hook or the gate, and the machine is not a node
	Running Verdict = "running" // a hook
	Done    Verdict = "done"    // all hooks of which the console tells; nodeup or the kubelet may be at work
	Unknown Verdict = "unknown" // the console tells of no hook, or cannot be read
	Stopped Verdict = "stopped" // or not yet running: a machine of a warm pool, for one
)

// Finding is what is known of one machine.
type Finding struct {
	Machine
	Node     string // the name of its Node, or ""
	Ready    bool   // of its Node
	Verdict  Verdict
	Hooks    []nodestatus.Status // of its last boot, from its console
	Messages []string            // of the gate, from its console
	Problem  string              // why its console could not be read, or ""
}

// Reason is the hook that says most about why the machine is not a node, or nil.
func (f *Finding) Reason() *nodestatus.Status {
	want := map[Verdict]nodestatus.State{Failed: nodestatus.Failed, Running: nodestatus.Running}[f.Verdict]
	for i := range f.Hooks {
		if f.Hooks[i].State == want {
			return &f.Hooks[i]
		}
	}
	return nil
}

// atOnce is how many consoles are read at the same time: clouds limit how often they may be asked.
const atOnce = 8

// Survey lists the machines of the cluster and reads the consoles of those that are not nodes; nodes may be nil when the
// API server does not answer: then all consoles are read. Machines are in the order of their groups, oldest first.
func Survey(ctx context.Context, cloud Cloud, cluster string, nodes []Node, keep func(Machine) bool) ([]Finding, error) {
	list, err := cloud.Machines(ctx, cluster)
	if err != nil {
		return nil, err
	}
	byProvider := map[string]Node{}
	for _, n := range nodes {
		byProvider[sameID(n.ProviderID)] = n
	}
	findings := []Finding{}
	for _, m := range list {
		if keep == nil || keep(m) {
			n := byProvider[sameID(m.ProviderID)]
			findings = append(findings, Finding{Machine: m, Node: n.Name, Ready: n.Ready})
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.InstanceGroup, b.InstanceGroup), a.Launched.Compare(b.Launched), cmp.Compare(a.ID, b.ID))
	})
	var reading sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i := range findings {
		f := &findings[i]
		switch {
		case f.Node != "":
			f.Verdict = IsNode
		case f.State != "running":
			f.Verdict = Stopped
		default:
			turns <- struct{}{}
			reading.Go(func() {
				defer func() { <-turns }()
				text, err := cloud.Console(ctx, f.Machine)
				f.read(text, err)
			})
		}
	}
	reading.Wait()
	return findings, ctx.Err()
}

// sameID is a provider ID without the region that OpenStack's may have, which kops leaves out, too
// (pkg/nodeidentity/openstack/identify.go:104).
func sameID(id string) string {
	if rest, ok := strings.CutPrefix(id, "openstack://"); ok {
		return "openstack:///" + rest[strings.LastIndexByte(rest, '/')+1:]
	}
	return id
}

// read judges a machine that is running and not a node by its console.
func (f *Finding) read(text []byte, err error) {
	f.Verdict = Unknown
	if err != nil {
		f.Problem = err.Error()
		return
	}
	boot := console.Parse(text).Last()
	if boot == nil {
		return
	}
	f.Hooks, f.Messages = boot.Hooks, boot.Messages
	failed, running := boot.Failed()
	switch {
	case len(failed) > 0 || len(boot.Messages) > 0:
		f.Verdict = Failed
	case len(running) > 0:
		f.Verdict = Running
	case len(boot.Hooks) > 0:
		f.Verdict = Done
	}
}

// Says is the finding in words, for people.
func (f *Finding) Says(now time.Time) string {
	since := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return " " + Age(now.Sub(t))
	}
	if s := f.Reason(); s != nil && s.State == nodestatus.Failed {
		text := fmt.Sprintf("failed after %s", report.Count(s.Attempts, "attempt"))
		if ago := since(s.UpdatedAt); ago != "" {
			text += "," + ago + " ago"
		}
		if s.Reason != "" {
			text += ": " + s.Reason
		}
		return text
	} else if s != nil {
		text := fmt.Sprintf("running, attempt %d", max(1, s.Attempts))
		if f := since(s.StartedAt); f != "" {
			text += ", for" + f
		}
		return text
	}
	switch {
	case f.Problem != "":
		return f.Problem
	case len(f.Messages) > 0:
		return f.Messages[len(f.Messages)-1]
	case f.Verdict == Done:
		return fmt.Sprintf("%s done; look at nodeup and the kubelet", report.Count(len(f.Hooks), "hook"))
	case f.Verdict == Unknown:
		return "the console says nothing of hooks, or is still empty"
	case f.Verdict == Stopped:
		return "a machine that is " + f.State
	}
	return ""
}

// Age is a duration as kubectl prints it: 45s, 12m, 3h20m, 2d4h.
func Age(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}
