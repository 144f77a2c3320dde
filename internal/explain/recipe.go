package explain

import "kopshook.dev/kopshook/internal/unitfile"

// around adds what a drop-in for kops-configuration.service that bootcmd writes runs before nodeup and after it.
func (m *maker) around(nodeup []Step) []Step {
	for i := range m.in.Result.Runs {
		run := &m.in.Result.Runs[i]
		r := unitfile.FindRecipe(run)
		if r == nil {
			continue
		}
		step := func(e unitfile.Exec, key, fails string, blocks bool) Step {
			s := Step{Name: e.Line, Owner: Yours, What: key, EveryBoot: true, Fails: fails, Blocks: blocks}
			if e.Item >= 0 {
				s.Place = m.place(run.Items[e.Item].At)
			}
			return s
		}
		var before []Step
		for _, e := range r.Before {
			s := step(e, "ExecStartPre", "nodeup does not run; after a reboot the kubelet starts all the same", true)
			s.Detail = "before nodeup; after a reboot the kubelet does not wait"
			before = append(before, s)
		}
		nodeup = append(before, nodeup...)
		for _, e := range r.After {
			nodeup = append(nodeup, step(e, "after nodeup", "only a log says so", false))
		}
	}
	return nodeup
}
