package plan

import (
	"context"

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

func (p *planner) readAll(ctx context.Context, hooks []hookspec.Resolved) []hookspec.Resolved {
	out := make([]hookspec.Resolved, len(hooks))
	for i := range hooks {
		out[i], _ = p.shared(ctx, &hooks[i])
	}
	return out
}
