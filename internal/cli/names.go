package cli

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// checkNames tells of names in selectors, without wildcards, that no instance group has. People often give some of the
// instance groups only, so that may be right: list, which is there to compare the two, warns of all; other commands
// mention what is most likely a slip, where a group is called nearly so that the spec does not select. A spec that
// selects nothing at all is the plan's to warn of.
func (in *inputs) checkNames(all bool) {
	var groups []hookspec.Group
	for _, m := range in.manifests {
		for _, g := range m.Groups() {
			groups = append(groups, plan.Selectable(g))
		}
	}
	for _, d := range in.specs {
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
				f.Remedy = "give the manifest that has it, or take the name away"
			}
			if near != "" {
				f.Remedy = fmt.Sprintf("did you mean %q?", near)
			}
			in.report.Add(f)
		}
	}
}
