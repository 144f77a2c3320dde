package plan

import (
	"fmt"
	"slices"

	"k8s.io/kops/pkg/apis/kops"
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
		return int(*p)
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
	what := fmt.Sprintf("user data of %d instance groups changes", n)
	if n == 1 {
		what = "user data of 1 instance group changes"
	}
	nodes := fmt.Sprintf("%d to %d nodes", low, high)
	switch {
	case low == high && low == 1:
		nodes = "1 node"
	case low == high:
		nodes = fmt.Sprintf("%d nodes", low)
	}
	return what + ": kops will replace " + nodes
}
