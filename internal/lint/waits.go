package lint

import (
	"fmt"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// hooks are those that arrive, or are fetched. Whatever is said of hooks goes by them, and by hookScripts.
func (p *pass) hooks() []waits.Hook { return waits.Find(p.result, p.g.Archive) }

// checkWaits looks at who gives up on a machine before its hooks must have ended.
func (p *pass) checkWaits() {
	hooks := p.hooks()
	for _, l := range waits.Exceeded(waits.Limits(p.g.Group), hooks) {
		what, path := "the kubelet", []string{"metadata", "name"}
		if l.Nodeup {
			what, path = "nodeup", []string{"spec", "warmPool"}
		}
		pos := report.Position{File: p.g.File}
		pos.Line, pos.Col = p.g.Position(path...)
		wait := l.Of(hooks)
		p.add(l.Rule, pos, fmt.Sprintf("%s of %q may wait %s for hooks, most of it for %s, and %s",
			what, p.g.Name, report.Duration(wait.Total), wait.Slowest.Name, l))
	}
}
