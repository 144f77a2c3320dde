package addon

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"kopshook.dev/kopshook/internal/hookspec"
)

// Labels that kops gives to nodes (pkg/apis/kops/instancegroup.go:30, pkg/nodelabels/builder.go:28-33).
const (
	nodeLabelGroup        = "kops.k8s.io/instancegroup"
	nodeLabelNode         = "node-role.kubernetes.io/node"
	nodeLabelControlPlane = "node-role.kubernetes.io/control-plane"
	nodeLabelAPIServer    = "node-role.kubernetes.io/api-server"
)

// labels says a selector without globs in labels of nodes: what all nodes have, and with it terms for the roles, by pool.
func (b *builder) labels(d *hookspec.Doc, s *hookspec.Selector) (all []corev1.NodeSelectorRequirement, roles map[string][]corev1.NodeSelectorTerm) {
	if len(s.Names) > 0 {
		all = append(all, in(nodeLabelGroup, b.values(d, "names", s.Names)))
	}
	if len(s.ExcludeNames) > 0 {
		r := in(nodeLabelGroup, b.values(d, "excludeNames", s.ExcludeNames))
		r.Operator = corev1.NodeSelectorOpNotIn
		all = append(all, r)
	}
	for _, key := range slices.Sorted(maps.Keys(s.NodeLabels)) {
		value := s.NodeLabels[key]
		if errs := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(errs) > 0 {
			b.r.Errorf(d.Pos("spec.selector.nodeLabels"), "spec.selector.nodeLabels", "compare it with spec.nodeLabels of the instance group",
				"no node can have the label %s: %s", key, value)
		}
		all = append(all, in(key, []string{value}))
	}
	// APIServer and control plane: with the feature flag APIServerNodes, kops gives both labels to control planes.
	roles = map[string][]corev1.NodeSelectorTerm{}
	for _, role := range []struct{ names, label string }{
		{"ControlPlane Master", nodeLabelControlPlane}, {"APIServer", nodeLabelAPIServer}, {"Node", nodeLabelNode},
	} {
		if !slices.ContainsFunc(s.Roles, func(r string) bool { return slices.Contains(strings.Fields(role.names), r) }) {
			continue
		}
		t := slices.Clone(all)
		t = append(t, corev1.NodeSelectorRequirement{Key: role.label, Operator: corev1.NodeSelectorOpExists})
		if role.label == nodeLabelAPIServer {
			t = append(t, corev1.NodeSelectorRequirement{Key: nodeLabelControlPlane, Operator: corev1.NodeSelectorOpDoesNotExist})
		}
		p := workers
		if role.label == nodeLabelControlPlane {
			p = controlPlane
		}
		roles[p] = append(roles[p], term(t...)...)
	}
	return all, roles
}

// values returns names sorted, and reports those that no label can hold.
func (b *builder) values(d *hookspec.Doc, field string, names []string) []string {
	for i, name := range names {
		if len(validation.IsValidLabelValue(name)) > 0 {
			f := fmt.Sprintf("spec.selector.%s[%d]", field, i)
			b.r.Errorf(d.Pos(f), f, "select its nodes by roles or nodeLabels", "%q cannot be the value of a label, so no node is found by it", name)
		}
	}
	names = slices.Sorted(slices.Values(names))
	return slices.Compact(names)
}

func in(key string, values []string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func term(r ...corev1.NodeSelectorRequirement) []corev1.NodeSelectorTerm {
	return []corev1.NodeSelectorTerm{{MatchExpressions: r}}
}

// disjoint says that no node is of both: they are of two pools, or each pair of terms wants different values of one label.
func (t *target) disjoint(o *target) bool {
	if t.pool != "" && o.pool != "" && t.pool != o.pool {
		return true
	}
	if len(t.terms) == 0 || len(o.terms) == 0 {
		return false
	}
	for _, x := range t.terms {
		for _, y := range o.terms {
			if !contradict(x, y) && !contradict(y, x) {
				return false
			}
		}
	}
	return true
}

// contradict says that no node matches both a and b, as far as one can tell from a's side.
func contradict(a, b corev1.NodeSelectorTerm) bool {
	roles := func(t corev1.NodeSelectorTerm) (labels []string) {
		for _, r := range t.MatchExpressions {
			if r.Operator == corev1.NodeSelectorOpExists {
				labels = append(labels, r.Key)
			}
		}
		return labels
	}
	// a node of kops has one role
	if x, y := roles(a), roles(b); len(x) > 0 && len(y) > 0 && !slices.Equal(x, y) {
		return true
	}
	for _, x := range a.MatchExpressions {
		for _, y := range b.MatchExpressions {
			if x.Key != y.Key {
				continue
			}
			shares := slices.ContainsFunc(x.Values, func(v string) bool { return slices.Contains(y.Values, v) })
			missing := slices.ContainsFunc(x.Values, func(v string) bool { return !slices.Contains(y.Values, v) })
			switch {
			case x.Operator == corev1.NodeSelectorOpIn && y.Operator == corev1.NodeSelectorOpIn && !shares,
				x.Operator == corev1.NodeSelectorOpIn && y.Operator == corev1.NodeSelectorOpNotIn && !missing,
				x.Operator == corev1.NodeSelectorOpExists && y.Operator == corev1.NodeSelectorOpDoesNotExist:
				return true
			}
		}
	}
	return false
}
