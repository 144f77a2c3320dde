package plan

import (
	"context"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// Read returns hooks with their bytes, as Make does for those that become user data. It is for phase daemon.
func Read(ctx context.Context, hooks []hookspec.Resolved, loader Loader, r *report.Report) []generator.Hook {
	p := newPlanner(ctx, loader, r)
	var out []generator.Hook
	for i := range hooks {
		out = append(out, p.hook(&hooks[i]))
	}
	return out
}
