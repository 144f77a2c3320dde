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
	"kopshook.dev/kopshook/instancegroups"
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
	// Place names a place in the user's files, "ig.yaml:12", or "".
	Place func(cloudinit.At) string
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
	StageNever       = "never" // instead of those from pre-nodeup on
)

// Make makes the timeline of an instance group.
func Make(in Input) *Timeline {
	m := newMaker(in)
	t := &Timeline{config: in.Result.Config, Node: m.isNode(), Group: in.Group, Cluster: in.Cluster, Label: cmp.Or(in.Label, in.Group), Role: in.Role, Size: in.Size, Verdict: in.Verdict, CloudInit: in.Result.Version.String()}
	if in.Verdict.Kind != verdict.Never {
		t.Kubelet, t.Waits, t.Over = waits.Kubelet(m.hooks), m.waits(), waits.Exceeded(m.limits(), m.hooks)
	}
	for _, h := range m.hooks {
		if h.Holds() {
			t.Hooks++
		}
	}
	t.Stages = m.cloudInit()
	switch {
	case m.neverReached():
		m.blame(t.Stages)
		t.Stages = append(t.Stages, m.never())
	case m.isNode():
		t.Stages = append(t.Stages, m.kops()...)
	}
	t.Stages = slices.DeleteFunc(t.Stages, func(s Stage) bool { return len(s.Steps) == 0 })
	t.Lost = m.losses()
	t.clean()
	return t
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
	nodeup bool // kops' script runs
}

func newMaker(in Input) *maker {
	m := &maker{in: in, hooks: waits.Find(in.Result, in.Archive)}
	m.nodeup = slices.ContainsFunc(in.Result.Runs, m.isNodeup)
	return m
}

// ours says whether a part is kopshook's.
func (m *maker) ours(at cloudinit.At) bool {
	return at.Part >= 0 && at.Part < len(m.in.Parts) && strings.HasPrefix(m.in.Parts[at.Part].Name, instancegroups.Prefix)
}

func (m *maker) loss(l cloudinit.Loss) Loss {
	what := l.What
	if l.Name != "" && !strings.Contains(what, l.Name) {
		what += " of " + l.Name
	}
	return Loss{What: what, Why: l.Why, Place: m.in.Place(l.At), Fatal: l.Kind == cloudinit.LostAll || l.Kind == cloudinit.LostInit}
}

// cloudInit returns what cloud-init does.
func (m *maker) cloudInit() []Stage {
	init := Stage{ID: StageInit, Title: "cloud-init, init stage", Note: "before any other service"}
	config := Stage{ID: StageConfig, Title: "cloud-init, config stage", Note: "the network is up"}
	final := Stage{ID: StageFinal, Title: "cloud-init, final stage", Note: "after multi-user.target"}
	files := &Step{Name: "units and scripts", Owner: Kopshook, What: "write_files", Fails: "the gate stays shut: the node never joins", Blocks: true}
	count := 0
	for _, r := range m.in.Result.Runs {
		switch {
		case r.What == "boothook":
			s := m.boothook(r)
			if n := len(init.Steps); n > 0 && s.What == "tool" && init.Steps[n-1].What == "tool" {
				init.Steps[n-1].Detail += ", " + s.Detail
				continue
			}
			init.Steps = append(init.Steps, s)
		case r.What == "bootcmd":
			init.Steps = append(init.Steps, m.bootcmd(r)...)
		case r.File != nil && m.ours(r.At):
			if count++; count == 1 {
				init.Steps = append(init.Steps, *files)
			}
		case r.What == "write_files":
			init.Steps = append(init.Steps, m.file(r))
		case r.What == "write_files_deferred":
			final.Steps = append(final.Steps, m.file(r))
		case r.What == "runcmd": // it only writes the script, which runs among the others
		case strings.HasPrefix(r.What, "script"):
			final.Steps = append(final.Steps, m.script(r))
		default:
			s := m.module(r)
			switch r.Stage {
			case cloudinit.Init:
				init.Steps = append(init.Steps, s)
			case cloudinit.Config:
				config.Steps = append(config.Steps, s)
			default:
				final.Steps = append(final.Steps, s)
			}
		}
	}
	for i := range init.Steps {
		if s := &init.Steps[i]; s.What == "write_files" && s.Owner == Kopshook {
			s.Detail = fmt.Sprintf("%s of the hooks", report.Count(count, "file"))
		}
	}
	return []Stage{init, config, final}
}

func (m *maker) boothook(r cloudinit.Run) Step {
	s := Step{Name: r.Name, Owner: Yours, What: "boothook", EveryBoot: true, Place: m.in.Place(r.At), Fails: "the boot goes on, only a log says so"}
	if !m.ours(r.At) {
		return s
	}
	s.Owner, s.Place = Kopshook, ""
	if strings.Contains(r.Name, "-gate") {
		n := 0
		for _, h := range m.hooks {
			if h.Holds() {
				n++
			}
		}
		s.Name, s.What, s.Detail = "gate", "gate", fmt.Sprintf("nodeup and the kubelet wait for %s", report.Count(n, "hook"))
		s.Fails, s.Blocks = "neither nodeup nor the kubelet starts", true
		return s
	}
	name := strings.TrimSuffix(strings.TrimPrefix(r.Name, "kopshook-"), ".sh")
	if _, rest, ok := strings.Cut(name, "-"); ok {
		name = rest
	}
	s.Name, s.What, s.Detail = "tools of the hooks", "tool", name
	s.Fails, s.Blocks = "the hooks fail, and the node never joins", true
	return s
}

// bootcmd returns a step for each boot hook, and one for each command of the user's.
func (m *maker) bootcmd(r cloudinit.Run) []Step {
	var steps []Step
	for _, item := range r.Items {
		s := Step{Name: shorten(item.Text), Owner: Yours, What: "bootcmd", EveryBoot: true, Place: m.in.Place(item.At), Fails: "the commands behind it run all the same"}
		if m.ours(item.At) {
			s.Owner, s.Place, s.What = Kopshook, "", "boot hook"
			if h := bootHook(item.Text); h != "" {
				s.Name, s.Hook = h, &Hook{Name: h, Phase: generator.Boot, EveryBoot: true}
				s.Fails, s.Place = "the boot goes on, only a log says so", m.hookPlace(h)
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// shorten makes one short line of a command.
func shorten(s string) string {
	s = strings.Join(strings.Fields(strings.TrimPrefix(s, "#!/bin/sh")), " ")
	return s
}

func (m *maker) file(r cloudinit.Run) Step {
	f := r.File
	s := Step{Name: f.Path, Owner: Yours, What: "write_files", Place: m.in.Place(r.At), Fails: "the files behind it are missing, the boot goes on"}
	s.Detail = fmt.Sprintf("%04o %s:%s", f.Mode, orRoot(f.User), orRoot(f.Group))
	if f.Append {
		s.Detail += ", appended"
	}
	return s
}

func orRoot(s string) string {
	if s == "" {
		return "root"
	}
	return s
}

func (m *maker) module(r cloudinit.Run) Step {
	s := Step{Name: r.Name, Owner: Yours, What: r.What, Place: m.in.Place(r.At), Fails: "the boot goes on, only a log says so"}
	if m.ours(r.At) {
		s.Owner, s.Place = Kopshook, ""
	}
	if r.What == "packages" {
		var names []string
		for _, i := range r.Items {
			names = append(names, i.Text)
		}
		s.Name, s.Detail = "packages", strings.Join(names, ", ")
	} else if r.Name == r.What {
		s.Detail = ""
	} else {
		s.Detail = r.What
	}
	return s
}

// isNodeup says whether a script is kops' own. Without parts it is all of the user data, and nameless. In user data that is
// not known to be kops' it goes by its name.
func (m *maker) isNodeup(r cloudinit.Run) bool {
	switch {
	case r.What != "script":
		return false
	case m.in.Role == "":
		return r.Name == cloudinit.NodeupName
	}
	return r.At.Part < 0 && (r.Name == cloudinit.NodeupName || m.in.Role != "Bastion" && len(m.in.Parts) == 0)
}

func (m *maker) script(r cloudinit.Run) Step {
	s := Step{Name: r.Name, Owner: Yours, What: r.What, EveryBoot: r.EveryBoot, Place: m.in.Place(r.At)}
	nodeup := m.nodeup && r.What == "script"
	switch {
	case m.isNodeup(r):
		s.Name, s.Owner, s.Place, s.What = cloudinit.NodeupName, Kops, "", "kops"
		s.Detail, s.Fails = "installs nodeup, starts it and returns", "it tries again for ever"
		if m.neverReached() {
			s.Never, s.Detail, s.Fails = true, "is not reached", ""
		}
	case nodeup && r.Name > cloudinit.NodeupName:
		s.Beside = true
		s.Detail, s.Fails = "runs beside nodeup", "the node joins all the same"
	case nodeup:
		s.Detail, s.Fails = "before nodeup", "nodeup starts all the same"
	case m.isNode() && r.What == "script" && r.Name == cloudinit.NodeupName:
		s.Detail, s.Fails = "in the place of kops' script", "only a log says so"
	default:
		s.Fails = "the boot goes on, only a log says so"
	}
	if r.Name == "runcmd" && len(r.Items) > 0 {
		s.Detail = report.Count(len(r.Items), "command") + ", " + s.Detail
		s.Detail = strings.TrimSuffix(s.Detail, ", ")
	}
	return s
}

// kops returns what happens when nodeup.sh has started nodeup.
func (m *maker) kops() []Stage {
	hooks := func(phase generator.Phase) []Step {
		var steps []Step
		for i := range m.hooks {
			if h := &m.hooks[i]; h.Phase == phase {
				s := hookStep(h)
				s.Place = m.hookPlace(h.Name)
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
	if m.in.Verdict.Kind == verdict.Never {
		kubelet.Note = "the node never joins"
		kubelet.Steps[0] = Step{Name: "kubelet", Owner: Kops, What: "kops", Detail: "does not start", Never: true}
	}
	nodeup := []Step{
		{Name: "nodeup", Owner: Kops, What: "kops", EveryBoot: true, Detail: "installs containerd and the kubelet", Fails: "the node does not join; systemctl restart kops-configuration tries again", Blocks: true},
	}
	return []Stage{
		{StagePreNodeup, "pre-nodeup hooks", "nodeup and the kubelet wait for each", hooks(generator.PreNodeup)},
		{StageNodeup, "kops-configuration.service", "on every boot", m.around(nodeup)},
		{StagePreKubelet, "pre-kubelet hooks", "beside nodeup; the kubelet waits for each", hooks(generator.PreKubelet)},
		{StagePostNodeup, "post-nodeup hooks", "when nodeup has succeeded", hooks(generator.PostNodeup)},
		kubelet,
		{StagePostKubelet, "post-kubelet hooks", "when the kubelet is healthy", hooks(generator.PostKubelet)},
		{StageShutdown, "pre-shutdown hooks", "before the kubelet is stopped", hooks(generator.PreShutdown)},
	}
}

func hookStep(h *Hook) Step {
	s := Step{Name: h.Name, Owner: Kopshook, What: "hook", EveryBoot: h.EveryBoot, Hook: h, Detail: tries(h), Also: alsoWait(h), Blocks: h.Holds() && !h.Continue}
	switch {
	case h.Elsewhere:
		s.Detail, s.Blocks = "in a bucket: give its spec to see more", h.Holds()
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

// base names a file without its folders.
func base(place string) string { return path.Base(place) }
