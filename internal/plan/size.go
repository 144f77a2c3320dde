package plan

import (
	"fmt"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/report"
)

// CheckSizes measures the user data of the groups that have hooks, sets their Size, and reports what does not fit:
// for certain with severity, else as a warning. base returns kops' bootstrap script for a group, nil when it is not known.
func CheckSizes(groups []*Group, base func(*Group) []byte, severity report.Severity, r *report.Report) {
	known := map[string]*budget.Result{} // a remedy takes long to find, and most groups need the same
	for _, g := range groups {
		if len(g.Parts) == 0 {
			continue
		}
		in := g.sizeInput(base(g))
		key := g.sizeKey(in)
		size := known[key]
		if size == nil {
			var err error
			if size, err = budget.Check(in); err != nil {
				r.AddError(g.position(), "", err)
				continue
			}
			known[key] = size
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

// sizeKey holds all that the size of a group's user data depends on: groups with the same key need the same bytes.
func (g *Group) sizeKey(in budget.Input) string {
	key := fmt.Sprint(g.hookIDs, in.Runtime, in.Role, in.Cloud, in.Proxy, in.Base != nil, len(in.Base), len(g.Cluster), len(g.Name))
	for _, p := range in.Theirs {
		key += fmt.Sprint(" ", p.Name, len(p.Type), len(p.Content))
	}
	return key
}

func (g *Group) sizeInput(base []byte) budget.Input {
	in := budget.Input{
		Role:    g.Role,
		Base:    base,
		Group:   generator.InstanceGroup{Cluster: g.Cluster, Name: g.Name, Role: g.Role},
		Runtime: g.Runtime,
		Hooks:   g.GeneratorHooks(),
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

// Measure sizes what the nodes of the group get: with the parts of its hooks or, where no hooks were planned, with those
// that the manifest has.
func (g *Group) Measure(base []byte) (*budget.Result, error) {
	in := g.sizeInput(base)
	if len(g.Parts) == 0 {
		for _, p := range g.Ours() {
			in.Theirs = append(in.Theirs, generator.UserData(p))
		}
	}
	return budget.Check(in)
}
