// Package explain tells what a node of an instance group does, from cloud-init's first stage to the kubelet and to
// shutdown: what runs in which order, what waits for what, what is lost, and how large it all is.
//
// It says what the node will see, by the model of cloud-init: hooks are told by the units that arrive there, not by the
// specs that made them.
package explain

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/verdict"
	"kopshook.dev/kopshook/internal/waits"
)

// Input is an instance group and what the model says of it.
type Input struct {
	Group   string
	Cluster string
	Label   string // the group's name, with its cluster's where groups of several clusters are explained; "" is the name
	Role    string
	Parts   []cloudinit.Part
	Result  *cloudinit.Result
	Archive []generator.File // what lies in a bucket, nil when that is not known
	Limits  []waits.Limit    // how long others wait for the machines; nil means kops alone
	Size    *budget.Result   // nil when it is not known
	Verdict verdict.Verdict
	// HookPlace names where a hook is written, "hooks.yaml:12", or ""; it may be nil.
	HookPlace func(hook string) string
	// Took is how long hooks took where somebody measured it, by their names.
	Took map[string]time.Duration
	// Place is a place in the user's files; its zero value is one that is not in them.
	Place func(cloudinit.At) report.Position
}

// Owner is whose doing a step is.
type Owner string

const (
	Yours    Owner = "yours"
	Kopshook Owner = "kopshook"
	Kops     Owner = "kops"
)

// Step is one thing that happens.
type Step struct {
	Name      string // what the user knows it by
	Owner     Owner
	What      string // "script", "bootcmd", "hook", ...
	Detail    string
	Also      string // which further units wait for it
	EveryBoot bool
	Place     string // "ig.yaml:12"
	Fails     string // what happens when it fails
	Blocks    bool   // when it fails the node does not join
	Beside    bool   // it runs beside nodeup, though it stands in a stage before it
	Never     bool   // the node does not come that far
	Ends      bool   // it comes no further than this
	Hook      *Hook  // of kopshook
}

// Stage is a stretch of the boot. Its steps run one after the other.
type Stage struct {
	ID    string
	Title string
	Note  string // when it is, and what waits for it
	Steps []Step
}

// Loss is something that does not arrive as it was written.
type Loss struct {
	What, Why, Place string
	Fatal            bool
}

// Timeline is all that is to be told of an instance group.
type Timeline struct {
	Group, Cluster, Role string
	Label                string
	Same                 []string // labels of all groups whose timeline this is, where there are several
	CloudInit            string
	Stages               []Stage
	Lost                 []Loss
	Size                 *budget.Result
	config               *pyyaml.Value // that takes effect
	Verdict              verdict.Verdict
	Kubelet              waits.Wait    // how long it may wait
	Waits                []Wait        // for each hook that it waits for, one after the other
	Over                 []waits.Limit // that hooks may take longer than
	Hooks                int           // that hold the kubelet back
	Node                 bool          // nodeup is to run: it is no bastion, and no user data that kops has nothing to do with
}

// title is the instance group's name, or what stands for it.
func (t *Timeline) title() string {
	switch {
	case len(t.Same) > 1:
		return fmt.Sprintf("%s and %d more", t.Same[0], len(t.Same)-1)
	case t.Label == "":
		return "user data"
	}
	return t.Label
}

// The stages, in their order.
const (
	StageInit        = "init"
	StageConfig      = "config"
	StageFinal       = "final"
	StagePreNodeup   = "pre-nodeup"
	StageNodeup      = "nodeup"
	StagePreKubelet  = "pre-kubelet"
	StageKubelet     = "kubelet"
	StagePostNodeup  = "post-nodeup"
	StagePostKubelet = "post-kubelet"
	StageShutdown    = "pre-shutdown"
	StageNever       = "never" // what the machine does not come to, or does not get
)

// Make makes the timeline of an instance group.
func Make(in Input) *Timeline {
	m := newMaker(in)
	t := &Timeline{config: in.Result.Config, Node: m.isNode(), Group: in.Group, Cluster: in.Cluster, Label: cmp.Or(in.Label, in.Group), Role: in.Role, Size: in.Size, Verdict: in.Verdict, CloudInit: in.Result.Version.String()}
	if !in.Verdict.NoWait() {
		t.Kubelet, t.Waits, t.Over = waits.Kubelet(m.hooks), m.waits(), waits.Exceeded(m.limits(), m.hooks)
	}
	t.Hooks = m.holding()
	t.Stages = m.cloudInit()
	var never []Stage
	if m.neverReached() || in.Verdict.Idle() {
		never = append(never, m.never(t.Stages))
	}
	if m.isNode() && !m.neverReached() {
		t.Stages = append(t.Stages, m.kops()...)
	}
	t.Stages = append(t.Stages, never...)
	t.Stages = slices.DeleteFunc(t.Stages, func(s Stage) bool { return len(s.Steps) == 0 })
	t.Lost = m.losses()
	t.clean()
	return t
}

// runs says whether the machine does anything of what the timeline shows.
func (t *Timeline) runs() bool {
	return slices.ContainsFunc(t.Stages, func(s Stage) bool { return slices.ContainsFunc(s.Steps, func(st Step) bool { return !st.Never }) })
}

// losses tells what is lost; what kopshook's parts lose for one reason is one loss.
func (m *maker) losses() []Loss {
	var losses []Loss
	together := map[string]int{}
	for _, l := range m.in.Result.Lost {
		if !m.ours(l.At) {
			losses = append(losses, m.loss(l))
			continue
		}
		i, ok := together[l.Why]
		if !ok {
			i = len(losses)
			together[l.Why] = i
			losses = append(losses, Loss{What: "of hooks:", Why: l.Why})
		}
		name := strings.TrimSuffix(l.Name, ".yaml")
		if f := strings.SplitN(name, "-", 3); len(f) == 3 {
			name = f[2]
		}
		if !strings.HasSuffix(losses[i].What, " "+name) {
			losses[i].What = strings.TrimSuffix(losses[i].What, ",") + " " + name
		}
	}
	return losses
}

type maker struct {
	in     Input
	hooks  []Hook
	nodeup bool // kops' script is there
	end    end
}

func newMaker(in Input) *maker {
	m := &maker{in: in, hooks: waits.Find(in.Result, in.Archive)}
	m.nodeup = slices.ContainsFunc(in.Result.Runs, m.isNodeup)
	m.findEnd()
	return m
}

// ours says whether a part is kopshook's.
func (m *maker) ours(at cloudinit.At) bool {
	return at.Part >= 0 && at.Part < len(m.in.Parts) && generator.IsPart(m.in.Parts[at.Part].Name)
}

func (m *maker) loss(l cloudinit.Loss) Loss {
	what := l.What
	if l.Name != "" && !strings.Contains(what, l.Name) {
		what += " of " + l.Name
	}
	return Loss{What: what, Why: l.Why, Place: m.place(l.At), Fatal: l.Kind == cloudinit.LostAll || l.Kind == cloudinit.LostInit}
}

// kops returns what happens when nodeup.sh has started nodeup.
func (m *maker) kops() []Stage {
	hooks := func(phase generator.Phase) []Step {
		var steps []Step
		for i := range m.hooks {
			if h := &m.hooks[i]; h.Phase == phase && !m.in.Verdict.Idle() {
				s := hookStep(h)
				s.Place = m.hookPlace(h.Name)
				switch {
				case !m.hookRuns(i) && h.Missing:
					s = s.never("does not arrive")
				case !m.hookRuns(i):
					s = s.never("does not run")
				case i == m.end.hook:
					s.Fails, s.Ends = "", true
					if !h.Missing {
						s.Detail = "cannot succeed"
					}
				}
				steps = append(steps, s)
			}
		}
		return steps
	}
	waits := ""
	if len(hooks(generator.PreKubelet)) > 0 {
		waits = "; it waits for the hooks"
	}
	kubelet := Stage{StageKubelet, "kubelet.service", "the node joins" + waits, []Step{
		{Name: "kubelet", Owner: Kops, What: "kops", EveryBoot: true, Detail: "the node joins the cluster", Fails: "it starts again every 2 s; hooks do not run again"},
	}}
	if m.in.Verdict.NoNode() {
		kubelet.Note, kubelet.Steps[0] = "the node never joins", kubelet.Steps[0].never("does not start")
	}
	nodeup := []Step{
		{Name: "nodeup", Owner: Kops, What: "kops", EveryBoot: true, Detail: "installs containerd and the kubelet", Fails: "the node does not join; systemctl restart kops-configuration tries again", Blocks: true},
	}
	nodeup = m.around(nodeup)
	for i := range nodeup {
		if !m.nodeupRuns() {
			nodeup[i] = nodeup[i].never("does not run")
		}
	}
	posts := "post-nodeup hooks"
	if len(hooks("")) > 0 { // in a bucket, and the gate does not tell
		posts = "post-nodeup or post-kubelet hooks"
	}
	return []Stage{
		{StagePreNodeup, "pre-nodeup hooks", "nodeup and the kubelet wait for each", hooks(generator.PreNodeup)},
		{StageNodeup, "kops-configuration.service", "on every boot", nodeup},
		{StagePreKubelet, "pre-kubelet hooks", "beside nodeup; the kubelet waits for each", hooks(generator.PreKubelet)},
		{StagePostNodeup, posts, "when nodeup has succeeded", append(hooks(generator.PostNodeup), hooks("")...)},
		kubelet,
		{StagePostKubelet, "post-kubelet hooks", "when the kubelet is healthy", hooks(generator.PostKubelet)},
		{StageShutdown, "pre-shutdown hooks", "before the kubelet is stopped", hooks(generator.PreShutdown)},
	}
}

func hookStep(h *Hook) Step {
	s := Step{Name: h.Name, Owner: Kopshook, What: "hook", EveryBoot: h.EveryBoot, Hook: h, Detail: tries(h), Also: alsoWait(h), Blocks: h.Holds() && !h.Continue}
	switch {
	case h.Elsewhere:
		s.Detail, s.Blocks = "in a bucket: give its spec to see more", false // it may be one that does not block
	case h.Missing && h.Holds():
		s.Detail, s.Blocks = "does not arrive: the node never joins", true
	case h.Missing:
		s.Detail = "does not arrive: it never runs"
	case s.Blocks && h.Phase == generator.PreNodeup:
		s.Fails = "neither nodeup nor the kubelet starts: the node never joins"
	case s.Blocks:
		s.Fails = "the kubelet does not start: the node never joins"
	case h.Holds():
		s.Fails = "it is recorded, and the node joins"
	case h.Phase == generator.PreShutdown:
		s.Fails = "it is recorded, and the shutdown goes on"
	default:
		s.Fails = "it is recorded"
	}
	return s
}

// detail is what is to be said of a step beside its name.
func (s Step) detail() string {
	if s.Detail == "" && s.What != s.Name {
		return s.What
	}
	return s.Detail
}

// base names a file without its folders.
func base(place string) string { return path.Base(place) }
