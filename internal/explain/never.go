package explain

import "kopshook.dev/kopshook/internal/verdict"

// isNode says whether the user data is to make a node: that of a bastion has no nodeup.sh, and of user data without a role
// it is known only when it is there.
func (m *maker) isNode() bool { return m.nodeup || m.in.Role != "Bastion" && m.in.Role != "" }

// neverReached says whether the machine does not come as far as nodeup.
func (m *maker) neverReached() bool {
	return m.isNode() && m.in.Verdict.Kind == verdict.Never && !m.in.Verdict.NodeupRuns
}

// never returns what comes behind nodeup.sh where that does not run: it is nodeup that starts hooks and the kubelet.
func (m *maker) never() Stage {
	var steps []Step
	for _, h := range m.hooks {
		steps = append(steps, Step{Name: h.Name, Owner: Kopshook, What: "hook", Detail: string(h.Phase), Never: true})
	}
	return Stage{StageNever, "never reached", "the node never joins", append(steps,
		Step{Name: "nodeup", Owner: Kops, What: "kops", Detail: "does not run", Never: true},
		Step{Name: "kubelet", Owner: Kops, What: "kops", Detail: "does not start", Never: true})}
}
