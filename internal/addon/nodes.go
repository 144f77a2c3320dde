package addon

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// termsOf returns which nodes a DaemonSet chooses; none is every node.
func termsOf(set *appsv1.DaemonSet) []corev1.NodeSelectorTerm {
	a := set.Spec.Template.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// linesNear returns the hooks of DaemonSets that can have pods on the nodes of this one.
func linesNear(set *appsv1.DaemonSet, sets []*appsv1.DaemonSet) (out []hookLine) {
	t := &target{terms: termsOf(set)}
	for _, s := range sets {
		if !t.disjoint(&target{terms: termsOf(s)}) {
			out = append(out, linesOf(s)...)
		}
	}
	return out
}

func namesOf(lines []hookLine) (out []string) {
	for _, l := range lines {
		out = append(out, l.name)
	}
	return out
}

// within says that each node of some is one of all, as far as their terms show it.
func within(some, all []corev1.NodeSelectorTerm) bool {
	if len(all) == 0 {
		return true
	}
	return len(some) > 0 && !slices.ContainsFunc(some, func(s corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(all, func(a corev1.NodeSelectorTerm) bool { return narrower(s, a) })
	})
}

// narrower says that a node that matches a matches b too: each requirement of b follows from one of a.
func narrower(a, b corev1.NodeSelectorTerm) bool {
	return !slices.ContainsFunc(b.MatchExpressions, func(y corev1.NodeSelectorRequirement) bool {
		return !slices.ContainsFunc(a.MatchExpressions, func(x corev1.NodeSelectorRequirement) bool {
			if x.Operator == corev1.NodeSelectorOpExists && y.Operator == corev1.NodeSelectorOpDoesNotExist {
				return x.Key != y.Key // a node of kops has one role
			}
			few, many := x.Values, y.Values
			if x.Operator == corev1.NodeSelectorOpNotIn {
				few, many = many, few
			}
			return x.Key == y.Key && x.Operator == y.Operator &&
				!slices.ContainsFunc(few, func(v string) bool { return !slices.Contains(many, v) })
		})
	})
}
