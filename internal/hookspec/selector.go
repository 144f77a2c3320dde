package hookspec

import (
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
}

// Selection says whether a selector selects an instance group, and how.
type Selection int

const (
	NotSelected Selection = iota
	// ByPattern is by a glob, a role, labels or an empty selector: nobody named this very group.
	ByPattern
	// ByName is by an item of names that is the group's name, without a wildcard.
	ByName
)

// Selection says whether the spec selects g, and how.
func (d *Doc) Selection(g Group) Selection { return d.Spec.Spec.Selector.Selection(g) }

// Selects says whether the spec selects g.
func (d *Doc) Selects(g Group) bool { return d.Selection(g) != NotSelected }

// Selection says whether s selects g, and how. A nil selector selects nothing. Bastions have no kubelet: they are
// selected only by the role Bastion or by their exact name.
func (s *Selector) Selection(g Group) Selection {
	if s == nil {
		return NotSelected
	}
	matchAny := func(globs []string, value string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool {
			ok, err := path.Match(glob, value)
			return ok && err == nil
		})
	}
	contains := func(have, want map[string]string) bool {
		for k, v := range want {
			if got, ok := have[k]; !ok || got != v {
				return false
			}
		}
		return true
	}
	exact := slices.Contains(s.Names, g.Name)
	roles := slices.Clone(s.Roles)
	for i, r := range roles {
		if r == "Master" {
			roles[i] = "ControlPlane"
		}
	}
	switch {
	case len(s.Clusters) > 0 && !matchAny(s.Clusters, g.Cluster),
		len(s.Names) > 0 && !matchAny(s.Names, g.Name),
		matchAny(s.ExcludeNames, g.Name),
		len(roles) > 0 && !slices.Contains(roles, g.Role),
		!contains(g.Labels, s.MatchLabels),
		!contains(g.NodeLabels, s.NodeLabels):
		return NotSelected
	case exact:
		return ByName
	case g.Role == "Bastion" && !slices.Contains(roles, "Bastion"):
		return NotSelected
	}
	return ByPattern
}
