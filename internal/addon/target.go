package addon

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"kopshook.dev/kopshook/internal/hookspec"
)

// The pools of a cluster's nodes: each has DaemonSets of its own, so that a rollout on workers never takes the
// control planes with it.
const (
	controlPlane = "control-plane"
	workers      = "workers" // all others that have a kubelet
)

// pool returns the pool of an instance group.
func pool(g hookspec.Group) string {
	if g.Role == "ControlPlane" || g.Role == "Master" {
		return controlPlane
	}
	return workers
}

// target is the nodes of one DaemonSet, and what runs there.
type target struct {
	pool string // "" when the spec's nodes can be of both
	// terms say which nodes, any one of them; none is every node.
	terms []corev1.NodeSelectorTerm
	// settings are the hooks, more than one where overrides hold for some of the instance groups. The pod chooses on
	// its node: so no change of overrides makes another DaemonSet, whose pods would all come at once.
	settings []setting
}

// setting is the daemon hooks of some instance groups: those named, or all that no other setting of the target names.
type setting struct {
	groups []string
	others bool
	hooks  []hookspec.Resolved
}

// targets returns the nodes on which the spec's daemon hooks run, one target a pool.
//
// A selector that labels of nodes can say becomes such labels, so that it holds for instance groups that are made later.
// Globs and metadata.labels can be resolved when the groups are known, and become their names.
func (b *builder) targets(d *hookspec.Doc) []target {
	if !slices.ContainsFunc(d.Spec.Spec.Hooks, isDaemon) {
		return nil
	}
	s := d.Spec.Spec.Selector
	overrides := relevant(d)
	if !b.clusterKnown(d, overrides) || len(s.Clusters) > 0 && !b.selects(&hookspec.Selector{Clusters: s.Clusters}) {
		return nil
	}
	field, why := needsGroups(d)
	byName := field != ""
	if !byName {
		field, why = overridesSome(overrides)
	}
	if field != "" && b.Groups == nil {
		b.r.Errorf(d.Pos(field), field, "give the manifests of the cluster's instance groups too: kopshook addon -o DIR SPEC... cluster.yaml",
			"%s cannot be said as labels of nodes", why)
		return nil
	}
	selected := b.selected(d)
	if b.Groups != nil && len(selected) == 0 {
		b.r.Warnf(d.Pos("spec.selector"), "spec.selector", "compare it with `kopshook list`, or remove the spec",
			"spec %q selects none of the instance groups that have a kubelet", d.Spec.Metadata.Name)
		return nil
	}
	if onlyBastions(s) {
		b.r.Warnf(d.Pos("spec.selector.roles"), "spec.selector.roles", "leave Bastion out, or choose phase: boot",
			"bastions have no kubelet: no DaemonSet reaches them")
		return nil
	}
	if byName || len(s.Names) > 0 || len(s.ExcludeNames) > 0 {
		b.checkLabelled(selected)
	}
	var out []target
	if byName {
		out = b.byName(selected)
	} else {
		out = b.byLabel(d, s, selected)
	}
	for i := range out {
		t := &out[i]
		of := slices.DeleteFunc(slices.Clone(selected), func(g Group) bool { return t.pool != "" && pool(g.Group) != t.pool })
		t.settings = settings(d, t.pool, b.Cluster, of, byName)
	}
	return out
}

// byName returns targets that list their instance groups.
func (b *builder) byName(selected []Group) []target {
	names := map[string][]string{}
	for _, g := range selected {
		if len(validation.IsValidLabelValue(g.Name)) > 0 {
			b.r.Errorf(g.Position, "metadata.name", "select its nodes by roles or nodeLabels", "%q cannot be the value of a label, so no node is found by it", g.Name)
		}
		names[pool(g.Group)] = append(names[pool(g.Group)], g.Name)
	}
	var out []target
	for _, p := range []string{workers, controlPlane} {
		if list := names[p]; list != nil {
			slices.Sort(list)
			out = append(out, target{pool: p, terms: term(in(nodeLabelGroup, list))})
		}
	}
	return out
}

// byLabel returns targets that say the selector in labels of nodes.
func (b *builder) byLabel(d *hookspec.Doc, s *hookspec.Selector, selected []Group) []target {
	all, roles := b.labels(d, s)
	if len(s.Roles) > 0 {
		var out []target
		for _, p := range []string{workers, controlPlane} {
			if terms := roles[p]; terms != nil {
				out = append(out, target{pool: p, terms: terms})
			}
		}
		return out
	}
	pools := []string{workers, controlPlane}
	if len(s.Names) > 0 {
		// a name is one instance group: without its manifest nobody knows of which role
		pools = nil
		for _, g := range selected {
			pools = append(pools, pool(g.Group))
		}
		slices.Sort(pools)
		pools = slices.Compact(pools)
		slices.Reverse(pools)
		if len(pools) < 2 {
			return []target{{pool: strings.Join(pools, ""), terms: term(all...)}}
		}
	}
	var out []target
	for _, p := range pools {
		is := corev1.NodeSelectorRequirement{Key: nodeLabelControlPlane, Operator: corev1.NodeSelectorOpDoesNotExist}
		if p == controlPlane {
			is.Operator = corev1.NodeSelectorOpExists
		}
		out = append(out, target{pool: p, terms: term(append(slices.Clone(all), is)...)})
	}
	return out
}

// settings returns the spec's daemon hooks on the nodes of a pool: as they are for groups that nobody names, unless the
// target lists its groups, and for each of groups where that differs.
func settings(d *hookspec.Doc, pool, cluster string, groups []Group, closed bool) []setting {
	resolve := func(g hookspec.Group) (hooks []hookspec.Resolved, id string) {
		hooks = slices.DeleteFunc(d.Resolve(g), func(h hookspec.Resolved) bool { return h.Phase != hookspec.Daemon })
		for _, h := range hooks {
			id += h.ID + "\n"
		}
		return hooks, id
	}
	var out []setting
	place := map[string]int{}
	add := func(g hookspec.Group) *setting {
		hooks, id := resolve(g)
		i, ok := place[id]
		if !ok {
			i = len(out)
			place[id] = i
			out = append(out, setting{hooks: hooks})
		}
		return &out[i]
	}
	if !closed || len(groups) == 0 {
		g := hookspec.Group{Cluster: cluster, Role: map[string]string{controlPlane: "ControlPlane", workers: "Node"}[pool]}
		add(g).others = true
	}
	groups = slices.Clone(groups)
	slices.SortFunc(groups, func(x, y Group) int { return cmp.Compare(x.Name, y.Name) })
	for _, g := range groups {
		s := add(g.Group)
		s.groups = append(s.groups, g.Name)
	}
	return out
}

func isDaemon(h hookspec.Hook) bool { return slices.Contains(h.Phase, hookspec.Daemon) }

// relevant returns the overrides that change daemon hooks, nil for the others, so that places stay.
func relevant(d *hookspec.Doc) []*hookspec.Override {
	out := make([]*hookspec.Override, len(d.Spec.Spec.Overrides))
	for i := range out {
		o := &d.Spec.Spec.Overrides[i]
		for _, h := range d.Spec.Spec.Hooks {
			if _, ok := o.Hooks[h.Name]; ok && isDaemon(h) {
				out[i] = o
			}
		}
	}
	return out
}

// selects says whether a selector that looks at nothing but clusters selects this one.
func (b *builder) selects(s *hookspec.Selector) bool {
	return s.Matches(hookspec.Group{Cluster: b.Cluster})
}

// clusterKnown reports selectors that look at the cluster's name when nobody has said it.
func (b *builder) clusterKnown(d *hookspec.Doc, overrides []*hookspec.Override) bool {
	fields := []string{}
	if len(d.Spec.Spec.Selector.Clusters) > 0 {
		fields = append(fields, "spec.selector.clusters")
	}
	for i, o := range overrides {
		if o != nil && len(o.Selector.Clusters) > 0 {
			fields = append(fields, fmt.Sprintf("spec.overrides[%d].selector.clusters", i))
		}
	}
	if b.Cluster != "" || len(fields) == 0 {
		return true
	}
	for _, f := range fields {
		b.r.Errorf(d.Pos(f), f, "say which cluster: --cluster NAME, or its manifests", "an addon is for one cluster, and nodes have no label that says theirs")
	}
	return false
}

// needsGroups returns the first field of the selector that only the instance groups themselves can answer, and what it is.
func needsGroups(d *hookspec.Doc) (field, why string) {
	s := d.Spec.Spec.Selector
	for _, list := range []struct {
		field string
		globs []string
	}{{"names", s.Names}, {"excludeNames", s.ExcludeNames}} {
		for i, glob := range list.globs {
			if strings.ContainsAny(glob, `*?[\`) {
				return fmt.Sprintf("spec.selector.%s[%d]", list.field, i), fmt.Sprintf("the glob %q", glob)
			}
		}
	}
	if len(s.MatchLabels) > 0 {
		return "spec.selector.matchLabels", "matchLabels, labels of InstanceGroup objects,"
	}
	return "", ""
}

// overridesSome returns the first override that holds for some instance groups only.
func overridesSome(overrides []*hookspec.Override) (field, why string) {
	for i, o := range overrides {
		if o == nil {
			continue
		}
		if o := o.Selector; len(o.Names) > 0 || len(o.ExcludeNames) > 0 || len(o.Roles) > 0 || len(o.MatchLabels) > 0 || len(o.NodeLabels) > 0 {
			return fmt.Sprintf("spec.overrides[%d].selector", i), "an override for some of the nodes"
		}
	}
	return "", ""
}

// selected returns the instance groups with a kubelet that the spec selects.
func (b *builder) selected(d *hookspec.Doc) []Group {
	var out []Group
	for _, g := range b.Groups {
		if g.Role != "Bastion" && d.Selects(g.Group) {
			out = append(out, g)
		}
	}
	return out
}

// checkLabelled warns of groups whose nodes no DaemonSet finds by the group's name. kops sets the label from
// spec.nodeLabels, where its own commands put it (cmd/kops/create_instancegroup.go:207), on all clouds but GCE and Azure.
func (b *builder) checkLabelled(groups []Group) {
	for _, g := range groups {
		if !g.Labelled && len(validation.IsValidLabelValue(g.Name)) == 0 { // else no label helps, which targets says
			b.r.Warnf(g.Position, "spec.nodeLabels", fmt.Sprintf("add `%s: %s` to spec.nodeLabels, as `kops create ig` does", nodeLabelGroup, g.Name),
				"instance group %q: its nodes lack the label %s, by which daemon hooks find them", g.Name, nodeLabelGroup)
		}
	}
}

func onlyBastions(s *hookspec.Selector) bool {
	return len(s.Roles) > 0 && !slices.ContainsFunc(s.Roles, func(r string) bool { return r != "Bastion" })
}
