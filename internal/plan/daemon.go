package plan

import (
	"context"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// Read returns hooks with their bytes, as Make does for those that become user data. It is for phase daemon.
func Read(ctx context.Context, hooks []hookspec.Resolved, loader Loader, r *report.Report) []generator.Hook {
	p := &planner{ctx: ctx, loader: loader, report: r, scripts: map[source.Ref][]source.File{}, broken: map[source.Ref]bool{}}
	var out []generator.Hook
	for i := range hooks {
		out = append(out, p.hook(&hooks[i]))
	}
	return out
}
