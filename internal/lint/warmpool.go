package lint

import (
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// checkWarmPool looks at what else a warm pool does to hooks. nodeup ends the pool's lifecycle hook itself, when it is through
// (upup/pkg/fi/nodeup/command.go:396).
func (p *pass) checkWarmPool() {
	pool := waits.WarmPool(p.g.Group)
	if pool == nil {
		return
	}
	pos := report.Position{File: p.g.File}
	pos.Line, pos.Col = p.g.Position("spec", "warmPool")
	hooks := p.hooks()
	for i := range hooks {
		if h := &hooks[i]; h.Phase == hookspec.PreKubelet && !h.Missing {
			p.add("KH087", pos, fmt.Sprintf("hook %q of phase pre-kubelet runs beside nodeup, which has the machine stopped when it is done: the hook may be cut off, and runs again when the machine is started", h.Name))
		}
	}
	if !pool.EnableLifecycleHook {
		if what := p.beforeNodeup(waits.Nodeup(hooks)); what != "" {
			p.add("KH086", pos, fmt.Sprintf("the warm pool of %q has no lifecycle hook, so that a machine may be stopped in the middle of %s", p.g.Name, what))
		}
	}
}

// beforeNodeup names what a machine does before nodeup, "" when it is nothing of the user's.
func (p *pass) beforeNodeup(wait waits.Wait) string {
	if wait.Slowest != nil && wait.Slowest.Fetches() {
		return "reading the hooks from their bucket"
	}
	if wait.Slowest != nil {
		return fmt.Sprintf("hook %q", wait.Slowest.Name)
	}
	for _, r := range p.result.Runs {
		if strings.HasPrefix(r.What, "script") && p.theirs(r.Part) {
			return r.Name
		}
	}
	return ""
}
