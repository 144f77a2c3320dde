package plan

import (
	"context"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// Loaded is a hook with its bytes.
type Loaded struct {
	Hook  hookspec.Resolved
	Bytes generator.Hook
}

// Hooks returns the hooks of all specs as they are where no override applies, whatever they select.
func Hooks(ctx context.Context, docs []*hookspec.Doc, loader Loader, r *report.Report) []Loaded {
	p := newPlanner(ctx, loader, r)
	var loaded []Loaded
	for _, d := range docs {
		for _, h := range d.Resolve(hookspec.Group{}) {
			loaded = append(loaded, Loaded{h, p.hook(&h)})
		}
	}
	return loaded
}
