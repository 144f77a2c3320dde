package plan

import (
	"fmt"
	"slices"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/report"
)

// Changes says whether the planned user data differs from what the manifest holds, by decoded content.
func (g *Group) Changes() bool {
	return !g.Stays() && !slices.Equal(g.Ours(), g.Parts)
}

// Machines returns how many machines the group may have: minSize to maxSize, with kops' defaults for those that are
// not given (kops upup/pkg/fi/cloudup/populate_instancegroup_spec.go:104-138).
func (g *Group) Machines() (low, high int) {
	def := int32(2)
	if role := g.Object.Spec.Role; role == kops.InstanceGroupRoleControlPlane || role == kops.InstanceGroupRoleBastion {
		def = 1
	}
	size := func(p *int32) int {
		if p == nil {
			return int(def)
		}
		return max(0, int(*p)) // kops refuses less
	}
	low, high = size(g.Object.Spec.MinSize), size(g.Object.Spec.MaxSize)
	return low, max(low, high)
}

// Replaced returns how many machines kops replaces when the group's user data changes: none where kops or the cloud refuses it, as
// far as Briefs has looked.
func (g *Group) Replaced() (low, high int) {
	if g.Brief.Verdict.NoMachine() {
		return 0, 0
	}
	return g.Machines()
}

// Forecast says what merging means for the cluster: "user data of 3 instance groups changes: a rolling update will
// replace 41 to 60 nodes".
func Forecast(groups []*Group) string {
	var changed []*Group
	refused := 0
	for _, g := range groups {
		if g.Changes() {
			changed = append(changed, g)
			if g.Brief.Verdict.NoMachine() {
				refused++
			}
		}
	}
	if len(changed) == 0 {
		return "user data is what the specs say: merging changes nothing"
	}
	s := "user data of " + report.Count(len(changed), "instance group") + " changes: a rolling update will replace "
	switch refused {
	case 0:
		return s + Nodes(changed)
	case len(changed):
		return s + "no node, since the user data is refused"
	}
	return s + Nodes(changed) + "; the user data of " + report.Count(refused, "group") + " is refused"
}

// Nodes is how many machines kops may replace of groups in all: "3 to 20 nodes".
func Nodes(groups []*Group) string {
	low, high := 0, 0
	for _, g := range groups {
		l, h := g.Replaced()
		low, high = low+l, high+h
	}
	if low == high {
		return report.Count(low, "node")
	}
	return fmt.Sprintf("%s to %s nodes", report.Thousands(low), report.Thousands(high))
}
