package hookspec

import (
	"cmp"
	"path"
	"slices"
)

// Group is what selectors look at in an instance group.
type Group struct {
	Cluster    string // metadata.labels["kops.k8s.io/cluster"]
	Name       string // metadata.name
	Role       string // ControlPlane, APIServer, Node or Bastion
	Labels     map[string]string
	NodeLabels map[string]string // spec.nodeLabels
	Label      string            // what messages call it, where that is not its name
}

func (g Group) label() string { return cmp.Or(g.Label, g.Name) }

// Selection says whether a spec selects an instance group, and how.
type Selection int

const (
	NotSelected Selection = iota
	// ByPattern is by a glob, a role, labels or an empty selector: nobody named this very group.
	ByPattern
	// ByName is by an item of names that is the group's name, without a wildcard.
	ByName
)

// Selects says whether the spec selects g.
func (d *Doc) Selects(g Group) bool { return d.Selection(g) != NotSelected }

// Selection says whether the spec selects g, and how. Bastions have no kubelet: they are selected only by the role
// Bastion or by their exact name.
func (d *Doc) Selection(g Group) Selection {
	s := d.Spec.Spec.Selector
	switch {
	case !s.Matches(g):
		return NotSelected
	case slices.Contains(s.Names, g.Name):
		return ByName
	case g.Role == "Bastion" && !slices.Contains(s.Roles, "Bastion"):
		return NotSelected
	}
	return ByPattern
}

// InCluster says whether the selector may match groups of a cluster.
func (s *Selector) InCluster(cluster string) bool {
	return s.Clusters == nil || matchesAny(s.Clusters, cluster)
}

// Matches says whether all that the selector names matches g. A nil selector matches nothing.
func (s *Selector) Matches(g Group) bool {
	return s != nil &&
		(s.Clusters == nil || matchesAny(s.Clusters, g.Cluster)) &&
		(s.Names == nil || matchesAny(s.Names, g.Name)) &&
		!matchesAny(s.ExcludeNames, g.Name) &&
		(s.Roles == nil || slices.Contains(s.Roles, g.Role) || g.Role == "ControlPlane" && slices.Contains(s.Roles, "Master")) &&
		contains(g.Labels, s.MatchLabels) &&
		contains(g.NodeLabels, s.NodeLabels)
}

func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := path.Match(glob, name)
		return ok && err == nil
	})
}

// contains says whether have holds all that want holds.
func contains(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}
