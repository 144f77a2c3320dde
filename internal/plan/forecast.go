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

// Forecast says what merging means for the cluster: "user data of 3 instance groups changes: kops will replace 41 to
// 60 nodes".
func Forecast(groups []*Group) string {
	n, low, high := 0, 0, 0
	for _, g := range groups {
		if g.Changes() {
			l, h := g.Machines()
			n, low, high = n+1, low+l, high+h
		}
	}
	if n == 0 {
		return "user data is what the specs say: kops will replace no node"
	}
	return "user data of " + report.Count(n, "instance group") + " changes: kops will replace " + nodes(low, high)
}

// Nodes is how many machines groups may have in all: "3 to 20 nodes".
func Nodes(groups []*Group) string {
	low, high := 0, 0
	for _, g := range groups {
		l, h := g.Machines()
		low, high = low+l, high+h
	}
	return nodes(low, high)
}

func nodes(low, high int) string {
	if low == high {
		return report.Count(low, "node")
	}
	return fmt.Sprintf("%s to %s nodes", report.Thousands(low), report.Thousands(high))
}
