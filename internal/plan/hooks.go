package plan

import (
	"context"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// Loaded is a hook with its bytes.
type Loaded struct {
	Hook  hookspec.Resolved
	Bytes generator.Hook
}

// Hooks returns the hooks of all specs as they are where no override applies, whatever they select.
func Hooks(ctx context.Context, docs []*hookspec.Doc, loader Loader, r *report.Report) []Loaded {
	p := &planner{ctx: ctx, loader: loader, report: r, scripts: map[source.Ref][]source.File{}, broken: map[source.Ref]bool{}}
	var loaded []Loaded
	for _, d := range docs {
		for _, h := range d.Resolve(hookspec.Group{}) {
			loaded = append(loaded, Loaded{h, p.hook(&h)})
		}
	}
	return loaded
}
