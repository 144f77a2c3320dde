package plan

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/report"
)

// PartChange is a part before and after merging; one of the two is nil when it is added or removed.
type PartChange struct {
	Name     string
	Old, New *generator.UserData
}

// Verb is what merging does with the part: adds, removes or changes.
func (p PartChange) Verb() string {
	switch {
	case p.Old == nil:
		return "adds"
	case p.New == nil:
		return "removes"
	}
	return "changes"
}

// PartChanges pairs the parts of the manifest with the planned ones by name, in the new order, those that go last.
func (g *Group) PartChanges() []PartChange {
	ours := g.Ours()
	old := map[string]*generator.UserData{}
	for i := range ours {
		old[ours[i].Name] = &ours[i]
	}
	var changes []PartChange
	kept := map[string]bool{}
	for i := range g.Parts {
		p := &g.Parts[i]
		kept[p.Name] = true
		if o := old[p.Name]; o == nil || *o != *p {
			changes = append(changes, PartChange{p.Name, o, p})
		}
	}
	for _, p := range ours {
		if !kept[p.Name] {
			changes = append(changes, PartChange{p.Name, old[p.Name], nil})
		}
	}
	return changes
}

// HookChange is what merging does to a hook of a group.
type HookChange struct {
	Hook   string
	Verb   string // adds, removes or changes
	Fields []generator.FieldChange

	was, is *generator.Written // one of them is nil where the hook comes or goes
}

// Key is the same of changes that are the same to the last byte.
func (c HookChange) Key() string {
	key := c.Verb + " " + c.Hook
	for _, w := range []*generator.Written{c.was, c.is} {
		key += "\x00"
		if w != nil {
			key += w.Text()
		}
	}
	return key
}

// Files are those on the node that come, go or change with the hook; none where InBucket.
func (c HookChange) Files() []generator.FileChange { return generator.FileChanges(c.was, c.is) }

// InBucket says whether the hook lies in a bucket, before or after.
func (c HookChange) InBucket() bool {
	return c.was != nil && c.was.InBucket() || c.is != nil && c.is.InBucket()
}

// Settings are the fields of a hook that comes, as it is written: those that have a value.
func (c HookChange) Settings() []generator.FieldChange {
	if c.is == nil {
		return nil
	}
	return new(generator.Written).Diff(c.is)
}

// String is "changes a: timeout 2m -> 3m".
func (c HookChange) String() string {
	s := c.Verb + " " + c.Hook
	var fields []string
	for _, f := range c.Fields {
		fields = append(fields, f.String())
	}
	if len(fields) > 0 {
		s += ": " + strings.Join(fields, ", ")
	}
	return s
}

// HookChanges compares the hooks that the manifest holds with the planned ones: first those that are planned, in the
// order in which they run, then those that go.
func (g *Group) HookChanges() []HookChange {
	if !g.Changes() {
		return nil
	}
	if g.changes != nil {
		return g.changes
	}
	old, now := generator.Read(g.Ours()), generator.Read(g.Parts)
	generator.Open(old, g.pushed)
	generator.Open(now, g.planned())
	find := func(list []generator.Written, name string) *generator.Written {
		if i := slices.IndexFunc(list, func(w generator.Written) bool { return w.Name == name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	var changes []HookChange
	for i := range now {
		h := &now[i]
		if was := find(old, h.Name); was == nil {
			changes = append(changes, HookChange{Hook: h.Name, Verb: "adds", is: h})
		} else if fields := g.diffs.of(was, h); len(fields) > 0 {
			changes = append(changes, HookChange{Hook: h.Name, Verb: "changes", Fields: fields, was: was, is: h})
		}
	}
	for i := range old {
		if find(now, old[i].Name) == nil {
			changes = append(changes, HookChange{Hook: old[i].Name, Verb: "removes", was: &old[i]})
		}
	}
	g.changes = changes
	return changes
}

// diffs are the differences of hooks, each computed once: most groups have the same.
type diffs struct {
	known    map[[2]string][]generator.FieldChange
	archives map[string][]generator.File // that are to lie in buckets, by their addresses
}

func (d *diffs) of(was, is *generator.Written) []generator.FieldChange {
	key := [2]string{was.Text(), is.Text()}
	changes, ok := d.known[key]
	if !ok {
		changes = was.Diff(is)
		if d.known == nil {
			d.known = map[[2]string][]generator.FieldChange{}
		}
		d.known[key] = changes
	}
	return changes
}

// Removals warns of hooks in the manifests that none of the specs has: user data does not say which spec a hook is of, so that
// a spec that was not given looks like a hook that was deleted. With Options.Prune it is the latter.
func Removals(out *Output) {
	if out.options.Remove || out.options.Prune {
		return
	}
	known := map[string]bool{}
	for _, d := range out.Input.Specs {
		for _, name := range d.HookNames() {
			known[name] = true
		}
	}
	const remedy = "give all specs: with -f for each, as a folder, or in KOPSHOOK_FILES; if these are all, say so with --prune"
	for _, g := range out.Groups {
		var lost []string
		for _, c := range g.HookChanges() {
			if c.Verb == "removes" && !known[c.Hook] {
				lost = append(lost, c.Hook)
			}
		}
		if len(lost) > 0 {
			out.Report.Add(report.Finding{Severity: report.Warning, Position: g.position(), Path: "spec.additionalUserData", Remedy: remedy, Group: g.Label(),
				Message: fmt.Sprintf("instance group %q: removing %s, which none of the given specs has", g.Label(), listed(lost))})
		}
	}
}

// OthersHooks refuses to remove hooks that the specs do not have: with Options.Partial, another program has merged them.
func OthersHooks(out *Output) {
	for _, g := range out.Groups {
		for _, c := range g.HookChanges() {
			if c.Verb == "removes" {
				out.Report.Errorf(g.position(), "spec.additionalUserData",
					"give one function all specs of an instance group, with -f; kopshook merge removes a hook that is gone for good",
					"instance group %q has the hook %q already, which the spec in functionConfig does not have", g.Name, c.Hook)
			}
		}
	}
}

// listed is "hook a" or "the hooks a and b".
func listed(names []string) string {
	if len(names) == 1 {
		return "hook " + names[0]
	}
	return fmt.Sprintf("the hooks %s and %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}
