package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/report"
)

// Sizes measures the user data of the groups that have hooks, sets their Size, and reports what does not fit: for certain
// with severity tooLarge, else as a warning.
func Sizes(tooLarge report.Severity) Check {
	return func(out *Output) {
		known := map[string]*budget.Result{} // a remedy takes long to find, and most groups need the same
		for _, g := range out.Groups {
			if len(g.Parts) == 0 {
				continue
			}
			in := g.sizeInput()
			key := g.sizeKey(in)
			size := known[key]
			if size == nil {
				var err error
				if size, err = budget.Check(in); err != nil {
					out.Report.AddError(g.position(), "", err)
					continue
				}
				known[key] = size
			}
			g.Size = size
		}
		out.reportSizes(tooLarge)
	}
}

// TooLarge says whether the cloud refuses the user data of one of the groups, where Sizes or Briefs has looked: also what a group
// without hooks has by itself.
func (out *Output) TooLarge() bool {
	return slices.ContainsFunc(out.Groups, func(g *Group) bool {
		return slices.ContainsFunc([]*budget.Result{g.Size, g.Brief.Size}, func(s *budget.Result) bool { return s != nil && s.Verdict == budget.TooLarge })
	})
}

// SameSize are groups with the same hooks and parts of their own: their sizes differ by the lengths of names alone.
type SameSize struct {
	Largest *Group
	Names   []string // of all of them
}

// SameSizes returns the groups that have a Size, those that need the same together.
func SameSizes(groups []*Group) []*SameSize {
	var all []*SameSize
	known := map[string]*SameSize{}
	for _, g := range groups {
		if g.Size == nil {
			continue
		}
		key := fmt.Sprint(g.Size.Verdict, g.Size.Limit, g.Size.Exact, g.hookIDs, g.Role, g.Own())
		if g.Stays() {
			for _, p := range g.Ours() {
				if generator.IsGate(p) {
					continue // it holds the names of the group and its cluster
				}
				key += fmt.Sprint(p)
			}
		}
		s := known[key]
		if s == nil {
			s = &SameSize{Largest: g}
			known[key] = s
			all = append(all, s)
		}
		if g.Size.High > s.Largest.Size.High {
			s.Largest = g
		}
		s.Names = append(s.Names, g.Label())
	}
	return all
}

// reportSizes reports what does not fit: of groups that need the same, the largest alone.
func (out *Output) reportSizes(tooLarge report.Severity) {
	for _, s := range SameSizes(out.Groups) {
		f, ok := s.Largest.sizeFinding(tooLarge, s.Largest.Label())
		if !ok || s.Largest.Size.Verdict == budget.Fits {
			continue
		}
		f.Message += report.SameFor(s.Names)
		out.Report.Add(f)
	}
}

func (g *Group) sizeFinding(tooLarge report.Severity, label string) (report.Finding, bool) {
	message, hint := g.Size.Message(label)
	f := report.Finding{Severity: report.Warning, Position: g.position(), Path: "spec.additionalUserData",
		Message: message, Detail: strings.Join(g.Size.Table(), "\n"), Remedy: hint}
	if g.Size.Verdict == budget.TooLarge {
		f.Severity = tooLarge
	}
	return f, message != ""
}

// sizeKey holds all that the size of a group's user data depends on: groups with the same key need the same bytes.
func (g *Group) sizeKey(in budget.Input) string {
	key := fmt.Sprint(g.hookIDs, in.Runtime, in.Role, in.Cloud, in.Proxy, in.Plain, in.Base != nil, len(in.Base), len(g.Cluster), len(g.Name))
	for _, p := range in.Theirs {
		key += fmt.Sprint(" ", p.Name, len(p.Type), len(p.Content))
	}
	return key
}

func (g *Group) sizeInput() budget.Input {
	in := budget.Input{
		Role:    g.Role,
		Base:    g.Nodeup,
		Group:   generator.InstanceGroup{Cluster: g.Cluster, Name: g.Name, Role: g.Role},
		Runtime: g.Runtime,
		Hooks:   g.GeneratorHooks(),
		Parts:   g.Parts,
		Theirs:  g.Own(),
		Plain:   g.InNodeClass(),
	}
	in.Cloud = g.Cloud()
	if c := g.ClusterObject; c != nil {
		in.Proxy = budget.HasProxy(c.Object)
	}
	return in
}

// Cloud is kops' name for the cloud of the group's machines, "" when it is not known.
func (g *Group) Cloud() kops.CloudProviderID {
	if c := g.ClusterObject; c != nil {
		return budget.CloudOf(g.Object, c.Object)
	}
	return budget.CloudOf(g.Object, nil)
}

// Measure sizes what the nodes of the group get after merging.
func (g *Group) Measure() (*budget.Result, error) {
	in := g.sizeInput()
	if g.Stays() {
		in.Theirs = append(in.Theirs, g.Ours()...)
	}
	return budget.Check(in)
}
