package plan

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// Names reports names in selectors, without wildcards, that no instance group has. People often give some of the
// instance groups only, so that may be right: with all, it warns of each, else it mentions what is most likely a slip, a
// group with nearly that name that the spec does not select. A spec that selects nothing at all is a warning of Make's.
func Names(all bool) Check {
	return func(out *Output) {
		out.checkNames(all)
		out.checkOverrides(all)
	}
}

// checkOverrides warns of overrides that select none of the groups that their spec selects. With the groups of one cluster
// alone, those for other clusters may be right; not so with all.
func (out *Output) checkOverrides(all bool) {
	var groups []hookspec.Group
	clusters := map[string]bool{}
	for _, m := range out.Input.Manifests {
		for _, g := range m.Groups() {
			groups = append(groups, Selectable(g))
			clusters[g.Cluster] = true
		}
	}
	for _, d := range out.Input.Specs {
		selected := slices.DeleteFunc(slices.Clone(groups), func(g hookspec.Group) bool { return !d.Selects(g) })
		if len(selected) == 0 {
			continue // Make says so
		}
		for i, o := range d.Spec.Spec.Overrides {
			elsewhere := len(clusters) == 1 && !slices.ContainsFunc(selected, func(g hookspec.Group) bool { return o.Selector.InCluster(g.Cluster) })
			if slices.ContainsFunc(selected, o.Selector.Matches) || elsewhere && !all {
				continue
			}
			field := fmt.Sprintf("spec.overrides[%d].selector", i)
			out.Report.Warnf(d.Pos(field), field, "compare it with the names in `kopshook list`, or remove the override",
				"spec %q: this override selects none of the instance groups that the spec selects", d.Spec.Metadata.Name)
		}
	}
}

func (out *Output) checkNames(all bool) {
	var groups []hookspec.Group
	for _, m := range out.Input.Manifests {
		for _, g := range m.Groups() {
			groups = append(groups, Selectable(g))
		}
	}
	for _, d := range out.Input.Specs {
		s := d.Spec.Spec.Selector
		if s == nil {
			continue
		}
		var others []string // the groups that it does not select
		for _, g := range groups {
			if !d.Selects(g) {
				others = append(others, g.Name)
			}
		}
		if len(others) == len(groups) {
			continue
		}
		for i, name := range s.Names {
			if strings.ContainsAny(name, `*?[\`) || slices.ContainsFunc(groups, func(g hookspec.Group) bool { return g.Name == name }) {
				continue
			}
			near := report.Nearest(name, others)
			if near == "" && !all {
				continue
			}
			field := fmt.Sprintf("spec.selector.names[%d]", i)
			f := report.Finding{Severity: report.Info, Position: d.Pos(field), Path: field,
				Message: fmt.Sprintf("spec %q: no instance group here is called %q", d.Spec.Metadata.Name, name)}
			if all {
				f.Severity = report.Warning
				f.Remedy = "give the manifest that has it, or remove the name"
			}
			if near != "" {
				f.Remedy = fmt.Sprintf("did you mean %q?", near)
			}
			out.Report.Add(f)
		}
	}
}
