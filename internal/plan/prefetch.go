package plan

import (
	"context"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/source"
)

// prefetch lets the loader bring all that hooks take from elsewhere at once; they are read one after the other.
func (p *planner) prefetch(ctx context.Context, hooks []hookspec.Resolved) {
	loader, ok := p.loader.(interface {
		Prefetch(context.Context, []source.Ref)
	})
	if !ok {
		return
	}
	var refs []source.Ref
	add := func(ref source.Ref) {
		if _, read := p.scripts[ref]; !read && !p.broken[ref] && source.IsRemote(ref.Source) {
			refs = append(refs, ref)
		}
	}
	for _, h := range hooks {
		if h.Said.Source != nil {
			add(source.Ref{SpecFile: h.Doc.File, Source: *h.Said.Source, Dir: true})
		}
		for _, f := range h.Said.Files {
			if f.Source != nil {
				add(source.Ref{SpecFile: h.Doc.File, Source: *f.Source})
			}
		}
	}
	if len(refs) > 1 {
		loader.Prefetch(ctx, refs)
	}
}
