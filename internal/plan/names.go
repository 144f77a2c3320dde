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
// group with nearly that name that the spec does not select. Make warns of a spec that selects nothing at all, but not of one for
// other clusters.
func Names(all bool) Check {
	return func(out *Output) {
		if all {
			out.checkElsewhere()
		}
		out.checkNames(all)
		if !out.options.OneGroup {
			out.checkOverrides(all)
		}
	}
}

// elsewhere says whether a selector is for other clusters than the only one that there are groups of. That may be right: somebody
// gives all specs and works cluster by cluster.
func elsewhere(s *hookspec.Selector, groups []hookspec.Group) bool {
	return s != nil && !slices.ContainsFunc(groups, func(g hookspec.Group) bool {
		return g.Cluster == "" || g.Cluster != groups[0].Cluster || s.InCluster(g.Cluster)
	})
}

func selectable(manifests []*Manifest) []hookspec.Group {
	var groups []hookspec.Group
	for _, m := range manifests {
		for _, g := range m.Groups() {
			groups = append(groups, Selectable(g))
		}
	}
	return groups
}

// selectsNone warns of a spec that selects nothing, with the name that it most likely means.
func selectsNone(r *report.Report, d *hookspec.Doc, groups []hookspec.Group) {
	remedy := "compare its selector with the names in `kopshook list`, or give the manifests of the groups that it is for"
	if s := d.Spec.Spec.Selector; s != nil {
		var names []string // of the clusters that it is for; clusters themselves have similar names all too often
		for _, g := range groups {
			if s.InCluster(g.Cluster) {
				names = append(names, g.Name)
			}
		}
		for _, name := range s.Names {
			if near := report.Nearest(name, names); near != "" && !isGlob(name) && !slices.Contains(names, name) {
				remedy = fmt.Sprintf("did you mean %q?", near)
				break
			}
		}
	}
	r.Warnf(d.Pos("spec.selector"), "spec.selector", remedy, "spec %q selects none of the instance groups", d.Spec.Metadata.Name)
}

func isGlob(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// checkElsewhere warns of what Make lets pass.
func (out *Output) checkElsewhere() {
	groups := selectable(out.Input.Manifests)
	none := slices.DeleteFunc(slices.Clone(out.Input.Specs), func(d *hookspec.Doc) bool { return slices.ContainsFunc(groups, d.Selects) })
	if len(none) == len(out.Input.Specs) {
		return // Make says so
	}
	for _, d := range none {
		if elsewhere(d.Spec.Spec.Selector, groups) {
			selectsNone(&out.Report, d, groups)
		}
	}
}

// checkOverrides warns of overrides that select none of the groups that their spec selects. With the groups of one cluster
// alone, those for other clusters may be right; not so with all.
func (out *Output) checkOverrides(all bool) {
	groups := selectable(out.Input.Manifests)
	for _, d := range out.Input.Specs {
		selected := slices.DeleteFunc(slices.Clone(groups), func(g hookspec.Group) bool { return !d.Selects(g) })
		if len(selected) == 0 {
			continue // Make says so
		}
		for i, o := range d.Spec.Spec.Overrides {
			if slices.ContainsFunc(selected, o.Selector.Matches) || elsewhere(o.Selector, groups) && !all {
				continue
			}
			field := fmt.Sprintf("spec.overrides[%d].selector", i)
			out.Report.Warnf(d.Pos(field), field, "compare it with the names in `kopshook list`, or give the manifests of the groups that it is for",
				"spec %q: this override selects none of the instance groups that the spec selects", d.Spec.Metadata.Name)
		}
	}
}

func (out *Output) checkNames(all bool) {
	groups := selectable(out.Input.Manifests)
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
			if isGlob(name) || slices.ContainsFunc(groups, func(g hookspec.Group) bool { return g.Name == name }) {
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
