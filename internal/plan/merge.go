package plan

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/report"
)

// Options say how Merge merges. The zero value reads no sources, looks at nothing besides, and writes nothing.
type Options struct {
	Loader   Loader   // reads what source: names
	Only     []string // globs: only the instance groups with such names, or CLUSTER/NAME; none is all
	Clusters []string // globs: only the instance groups of such clusters; none is all
	Base     []Base   // the user data that kops made, for exact sizes
	Strict   bool     // warnings are errors
	// NodeClasses plans for groups that Karpenter manages, too: the caller brings their parts into EC2NodeClasses.
	NodeClasses bool
	Checks      []Check // looks at the result

	// Remove takes kopshook's parts out, whatever the specs say.
	Remove bool
	// Prune says that these are all specs: what they do not have any more is removed without a warning.
	Prune bool
	// Partial says that there may be more specs than these: groups that they do not select stay as they are.
	Partial bool
	// OneGroup says that the manifest is one group of many: specs and overrides for others are no mistake.
	OneGroup bool
	// Write edits the manifests.
	Write bool
}

// Check is a look at a result. It reports what it finds.
type Check func(*Output)

// Output is what merging comes to.
type Output struct {
	Input  *Input
	Groups []*Group
	// All are the groups of all manifests: those that Options.Only and Options.Clusters leave out, too.
	All []*Group
	// Files are the edited manifests, where Options.Write asks for them and nothing is wrong.
	Files []Edited
	// Report holds all that there is to say, sorted. With errors in it, the rest may not be complete.
	Report report.Report

	options Options
}

// Merge decides what each instance group gets and what that means. It is pure but for the sources that the loader reads.
// Its error is that of ctx alone: whatever is wrong with the input is in the report.
func Merge(ctx context.Context, in *Input, o Options) (*Output, error) {
	out := &Output{Input: in, options: o}
	out.Report.Merge(&in.Report)
	if !out.Report.HasErrors() && len(in.Manifests) > 0 {
		out.plan(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !out.Report.HasErrors() {
		for _, check := range o.Checks {
			check(out)
		}
		if o.Write {
			out.write()
		}
	}
	out.Report.Settle(o.Strict)
	return out, nil
}

func (out *Output) plan(ctx context.Context) {
	o := &out.options
	specs := out.Input.Specs
	if o.Remove {
		specs = nil
	}
	p := newPlanner(o.Loader, &out.Report)
	p.nodeClasses, p.oneGroup = o.NodeClasses, o.OneGroup
	groups := p.groups(ctx, specs, out.Input.Manifests)
	for _, g := range groups {
		g.asIs = len(specs) == 0 && !o.Remove || o.Partial && len(g.Hooks) == 0
	}
	if out.Report.HasErrors() {
		return
	}
	var err error
	out.All = groups
	if out.Groups, err = Only(groups, o.Only, o.Clusters); err == nil {
		err = setBases(out.Groups, o.Base)
	}
	if err != nil {
		out.Report.AddError(report.Position{}, "", err)
	}
}

// Edited is a manifest with what was set in it.
type Edited struct {
	Name string
	*instancegroups.Edited
}

// write edits the manifests.
func (out *Output) write() {
	for _, g := range out.Groups {
		if !g.Stays() {
			g.SetUserData(g.PlannedUserData())
		}
	}
	out.Files = Edit(out.Input.Manifests, &out.Report)
}

// Edit returns the manifests with what was set in them.
func Edit(manifests []*Manifest, r *report.Report) []Edited {
	var files []Edited
	for _, m := range manifests {
		e, err := m.Edit()
		if err != nil {
			addManifestError(r, err)
			continue
		}
		files = append(files, Edited{m.Name, e})
	}
	return files
}

// Only keeps the groups whose name matches one of the globs, of clusters whose name matches one of theirs; no globs keep all. A glob
// with a slash is CLUSTER/NAME.
func Only(groups []*Group, globs, clusters []string) ([]*Group, error) {
	kept, err := matching(groups, clusters, "--cluster", func(g *Group, _ string) string { return g.Cluster })
	if err != nil {
		return nil, err
	}
	return matching(kept, globs, "--group", func(g *Group, glob string) string {
		if strings.Contains(glob, "/") {
			return g.Cluster + "/" + g.Name
		}
		return g.Name
	})
}

// matching keeps the groups whose name, of a kind, one of the globs matches. Each glob is to match something.
func matching(groups []*Group, globs []string, option string, name func(g *Group, glob string) string) ([]*Group, error) {
	if len(globs) == 0 {
		return groups, nil
	}
	keep := map[*Group]bool{}
	for _, glob := range globs {
		var names []string
		matched := false
		for _, g := range groups {
			ok, err := path.Match(glob, name(g, glob))
			if err != nil {
				return nil, report.Hint("write it as in gpu-*", "%s %q: %w", option, glob, err)
			}
			if ok {
				matched, keep[g] = true, true
			}
			if n := name(g, glob); n != "" && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		if !matched {
			remedy := "the manifests have " + someNames(names)
			if near := report.Nearest(glob, names); near != "" {
				remedy = fmt.Sprintf("did you mean `%s`?", near)
			}
			return nil, report.Hint(remedy, "no instance group matches %s %q", option, glob)
		}
	}
	return slices.DeleteFunc(slices.Clone(groups), func(g *Group) bool { return !keep[g] }), nil
}

// someNames lists names, the first of many.
func someNames(names []string) string {
	if len(names) == 0 {
		return "no instance groups"
	}
	return report.Some(names, 10)
}
