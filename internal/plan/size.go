package plan

import (
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/report"
)

// CheckSizes measures the user data of the groups that have hooks, sets their Size, and reports what does not fit:
// for certain with severity, else as a warning. base returns kops' bootstrap script for a group, nil when it is not known.
func CheckSizes(groups []*Group, base func(*Group) []byte, severity report.Severity, r *report.Report) {
	for _, g := range groups {
		if len(g.Parts) == 0 {
			continue
		}
		size, err := budget.Check(g.sizeInput(base(g)))
		if err != nil {
			r.AddError(g.position(), "", err)
			continue
		}
		g.Size = size
		message, hint := size.Message(g.Name)
		if message == "" {
			continue
		}
		f := report.Finding{Severity: report.Warning, Position: g.position(), Path: "spec.additionalUserData",
			Message: message, Detail: strings.Join(size.Table(), "\n"), Remedy: hint}
		if size.Verdict == budget.TooLarge {
			f.Severity = severity
		}
		r.Add(f)
	}
}

func (g *Group) sizeInput(base []byte) budget.Input {
	in := budget.Input{
		Role:    g.Role,
		Base:    base,
		Group:   generator.InstanceGroup{Cluster: g.Cluster, Name: g.Name, Role: g.Role},
		Runtime: g.Runtime,
		Hooks:   g.Resolved,
		Parts:   g.Parts,
	}
	for _, p := range g.UserData() {
		if !strings.HasPrefix(p.Name, instancegroups.Prefix) {
			in.Theirs = append(in.Theirs, generator.UserData(p))
		}
	}
	if c := g.ClusterObject; c != nil {
		in.Cloud, in.Proxy = budget.CloudOf(g.Object, c.Object), budget.HasProxy(c.Object)
	} else {
		in.Cloud = budget.CloudOf(g.Object, nil)
	}
	return in
}
