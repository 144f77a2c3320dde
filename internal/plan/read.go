package plan

import (
	"context"
	"slices"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// Read returns hooks with their bytes, as Make does for those that become user data. It is for phase daemon.
func Read(ctx context.Context, hooks []hookspec.Resolved, loader Loader, r *report.Report) []generator.Hook {
	return generatorHooks(newPlanner(loader, r).readAll(ctx, hooks))
}

// Hooks returns the hooks of all specs as they are where no override applies, whatever they select.
func Hooks(ctx context.Context, docs []*hookspec.Doc, loader Loader, r *report.Report) []hookspec.Resolved {
	var hooks []hookspec.Resolved
	for _, d := range docs {
		hooks = append(hooks, d.Resolve(hookspec.Group{})...)
	}
	return newPlanner(loader, r).readAll(ctx, hooks)
}

// Form is a hook as one set of overrides makes it.
type Form struct {
	hookspec.Resolved
	// Groups are those that have the hook in this form; where none has, those that have it in another one.
	Groups []*Group
	Unused bool // no group has it in this form
}

// Forms returns the hooks of all specs in each form that one of the groups has, and as the spec says them where no override
// applies, enabled or not. Each form is there once, however many groups have it.
func Forms(ctx context.Context, docs []*hookspec.Doc, groups []*Group, loader Loader, r *report.Report) []Form {
	var forms []Form
	index := map[hookKey]int{}
	add := func(h *hookspec.Resolved, g *Group) {
		i, ok := index[hookKey{h.Doc, h.ID}]
		if !ok {
			i = len(forms)
			index[hookKey{h.Doc, h.ID}] = i
			forms = append(forms, Form{Resolved: *h})
		}
		forms[i].Groups = append(forms[i].Groups, g)
	}
	p := newPlanner(loader, r)
	for _, g := range groups {
		for i := range g.Hooks {
			add(&g.Hooks[i], g)
		}
		for _, h := range daemonHooks(docs, Selectable(g.Group)) {
			h, _ = p.shared(ctx, &h)
			add(&h, g)
		}
	}
	used := forms
	for _, d := range docs {
		for _, h := range d.Written() {
			if _, ok := index[hookKey{d, h.ID}]; ok {
				continue
			}
			f := Form{Unused: true}
			f.Resolved, _ = p.shared(ctx, &h)
			for i := range used {
				if used[i].Doc == d && used[i].Path == h.Path {
					f.Groups = append(f.Groups, used[i].Groups...)
				}
			}
			forms = append(forms, f)
		}
	}
	return forms
}

// daemonHooks are the hooks that a group's nodes get by an addon: they are not in Group.Hooks.
func daemonHooks(docs []*hookspec.Doc, g hookspec.Group) (hooks []hookspec.Resolved) {
	for _, d := range docs {
		has := slices.ContainsFunc(d.Spec.Spec.Hooks, func(h hookspec.Hook) bool { return slices.Contains(h.Phase, hookspec.Daemon) })
		if has && d.Selects(g) {
			hooks = append(hooks, slices.DeleteFunc(d.Resolve(g), func(h hookspec.Resolved) bool { return h.Phase != hookspec.Daemon })...)
		}
	}
	return hooks
}

func (p *planner) readAll(ctx context.Context, hooks []hookspec.Resolved) []hookspec.Resolved {
	out := make([]hookspec.Resolved, len(hooks))
	for i := range hooks {
		out[i], _ = p.shared(ctx, &hooks[i])
	}
	return out
}
