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
func Names(all bool) Check { return func(out *Output) { out.checkNames(all) } }

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
