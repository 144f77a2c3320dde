package explain

import (
	"strconv"
	"strings"

	"kopshook.dev/kopshook/internal/verdict"
)

// isNode says whether the user data is to make a node: that of a bastion has no nodeup.sh, and of user data without a role
// it is known only when it is there.
func (m *maker) isNode() bool { return m.nodeup || m.in.Role != "Bastion" && m.in.Role != "" }

// neverReached says whether the machine does not come as far as nodeup.
func (m *maker) neverReached() bool {
	return m.isNode() && m.in.Verdict.Kind == verdict.Never && !m.in.Verdict.NodeupRuns
}

// blame marks the step at which the machine comes no further, where the verdict has its place: what is of the user's and begins
// last before it.
func (m *maker) blame(stages []Stage) {
	file, at := lineOf(m.in.Verdict.Place)
	var guilty *Step
	line := 0
	for i := range stages {
		for j := range stages[i].Steps {
			s := &stages[i].Steps[j]
			if f, l := lineOf(s.Place); s.Owner == Yours && f == file && l <= at && l > line {
				guilty, line = s, l
			}
		}
	}
	if guilty != nil {
		guilty.Fails, guilty.Blocks = "the machine comes no further: see the verdict", true
	}
}

// lineOf splits "file:line"; without both it is "" and 0.
func lineOf(place string) (file string, line int) {
	i := strings.LastIndexByte(place, ':')
	if i < 0 {
		return "", 0
	}
	n, err := strconv.Atoi(place[i+1:])
	if err != nil {
		return "", 0
	}
	return place[:i], n
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
