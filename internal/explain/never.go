package explain

import (
	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/report"
)

// isNode says whether the user data is to make a node: that of a bastion has no nodeup.sh, and of user data without a role
// it is known only when it is there.
func (m *maker) isNode() bool { return m.nodeup || m.in.Role != "Bastion" && m.in.Role != "" }

// neverReached says whether the machine does not come as far as nodeup.
func (m *maker) neverReached() bool { return m.in.Verdict.Effect >= lint.NoNodeup }

// end is how far the machine comes, where it does not come to the end: the last thing that cloud-init does, and the last hook that
// the kubelet waits for.
type end struct {
	run, item int // the last item of bootcmd; -1 where it is no bootcmd
	hook      int // len(hooks) where all of them run
}

// findEnd finds what the verdict blames: what begins last before its place.
func (m *maker) findEnd() {
	v := &m.in.Verdict
	m.end = end{len(m.in.Result.Runs), -1, len(m.hooks)}
	switch {
	case v.Effect >= lint.NothingRuns:
		m.end.run = -1
	case v.Effect == lint.HookFails:
		for i := range m.hooks {
			if m.hooks[i].Name == v.Hook {
				m.end.hook = i
			}
		}
	case v.Effect == lint.Ends:
		best := report.Position{File: v.At.File}
		m.eachRun(func(run, item int, at cloudinit.At, hook string) {
			pos := m.in.Place(at)
			switch {
			case v.Hook != "" && hook != v.Hook, v.Hook == "" && (pos.File != v.At.File || pos.Line == 0 || before(v.At, pos) || !before(best, pos)):
			default:
				best, m.end.run, m.end.item = pos, run, item
			}
		})
	}
}

// eachRun calls f for all that cloud-init does, with each item of bootcmd and the boot hook that it may be.
func (m *maker) eachRun(f func(run, item int, at cloudinit.At, hook string)) {
	for i, r := range m.in.Result.Runs {
		if r.What != "bootcmd" {
			f(i, -1, r.At, "")
			continue
		}
		for j, item := range r.Items {
			hook := ""
			if m.ours(item.At) {
				hook = bootHook(item.Text)
			}
			f(i, j, item.At, hook)
		}
	}
}

func before(a, b report.Position) bool {
	if a.Line != b.Line {
		return a.Line < b.Line
	}
	return a.Col < b.Col
}

// runs says whether the machine comes to something that cloud-init does.
func (m *maker) runs(run, item int) bool {
	if m.in.Verdict.LeftOut() {
		return m.isNodeup(m.in.Result.Runs[run])
	}
	if r := &m.in.Result.Runs[run]; m.in.Verdict.Effect == lint.NoNodeup && m.nodeup && r.What == "script" {
		return false // it is the module that runs scripts that is missing
	}
	return run < m.end.run || run == m.end.run && (m.end.item < 0 || item <= m.end.item)
}

// at marks a step of cloud-init's that is not reached, or at which the machine comes no further.
func (m *maker) at(s Step, run, item int) Step {
	switch {
	case !m.runs(run, item):
		if s.Owner == Kops {
			return s.never("does not run")
		}
		return s.never("")
	case s.Owner == Kopshook && m.in.Verdict.Idle(): // on a bastion
		s.Fails, s.Blocks = "the boot goes on, only a log says so", false
		if s.What == "gate" {
			s.Detail = "nothing waits for hooks"
		}
	case run == m.end.run && item == m.end.item:
		s.Detail, s.Fails, s.Blocks, s.Ends = "the machine comes no further", "", true, true
	}
	return s
}

// holding is how many hooks keep the kubelet from starting, until they have run.
func (m *maker) holding() int {
	n := 0
	for i := range m.hooks {
		if m.hooks[i].Holds() && !m.hooks[i].Fetches() && !m.in.Verdict.Idle() {
			n++
		}
	}
	return n
}

// hookRuns says whether the machine comes to a hook.
func (m *maker) hookRuns(i int) bool {
	h := &m.hooks[i]
	switch {
	case m.neverReached(), m.in.Verdict.Idle():
		return false
	case h.Holds():
		return i <= m.end.hook
	case h.Phase == generator.PostNodeup:
		return m.nodeupRuns()
	}
	return !m.in.Verdict.NoNode()
}

// nodeupRuns says whether the machine comes to nodeup: the hooks before it are through.
func (m *maker) nodeupRuns() bool {
	return !m.neverReached() && (m.end.hook == len(m.hooks) || m.hooks[m.end.hook].Phase != generator.PreNodeup)
}

// never is a step that does not come to pass.
func (s Step) never(detail string) Step {
	return Step{Name: s.Name, Owner: s.Owner, What: s.What, Place: s.Place, Detail: detail, Never: true}
}

// never takes the steps that are not reached out of cloud-init's stages, and returns them with what comes behind them: it is
// nodeup that starts hooks and the kubelet.
func (m *maker) never(stages []Stage) Stage {
	note := "the node never joins"
	switch {
	case m.in.Verdict.NoMachine():
		note = "there is no machine"
	case m.in.Verdict.LeftOut():
		note = "the node joins without it"
	case !m.neverReached():
		note = "there is neither nodeup nor a kubelet"
	case !m.isNode():
		note = "the machine comes no further"
	}
	s := Stage{ID: StageNever, Title: "never reached", Note: note}
	for i := range stages {
		var reached []Step
		for _, st := range stages[i].Steps {
			if st.Never {
				s.Steps = append(s.Steps, st)
			} else {
				reached = append(reached, st)
			}
		}
		stages[i].Steps = reached
	}
	if !m.isNode() && !m.in.Verdict.Idle() {
		return s
	}
	for _, h := range m.hooks {
		s.Steps = append(s.Steps, Step{Name: h.Name, Owner: Kopshook, What: "hook", Place: m.hookPlace(h.Name)}.never(string(h.Phase)))
	}
	if m.in.Verdict.Idle() {
		return s
	}
	kops := Step{Owner: Kops, What: "kops"}
	nodeup, kubelet := kops, kops
	nodeup.Name, kubelet.Name = "nodeup", "kubelet"
	s.Steps = append(s.Steps, nodeup.never("does not run"), kubelet.never("does not start"))
	return s
}
