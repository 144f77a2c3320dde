package lint

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// warmPool returns the group's warm pool, nil without one. What the group does not say it has of the cluster.
func (p *pass) warmPool() *kops.WarmPoolSpec {
	var cluster *kops.WarmPoolSpec
	if c := p.g.ClusterObject; c != nil && c.Object.Spec.CloudProvider.AWS != nil {
		cluster = c.Object.Spec.CloudProvider.AWS.WarmPool
	}
	if cluster == nil && p.g.Object.Spec.WarmPool == nil {
		return nil
	}
	pool := cluster.ResolveDefaults(p.g.Object)
	if !pool.IsEnabled() {
		return nil
	}
	copied := *pool
	if copied.LifecycleHookTimeout == nil && cluster != nil {
		copied.LifecycleHookTimeout = cluster.LifecycleHookTimeout
	}
	return &copied
}

// defaultHookTimeout is kops' own for the lifecycle hook of a warm pool (pkg/model/awsmodel/autoscalinggroup.go:133).
const defaultHookTimeout = 600 * time.Second

// checkWarmPool looks at what a warm pool does to hooks. When the lifecycle hook times out, the machine is terminated and
// another is launched, for ever: its default result is ABANDON (pkg/model/awsmodel/autoscalinggroup.go:132-151). nodeup
// ends the lifecycle hook itself, when it is through (upup/pkg/fi/nodeup/command.go:396).
func (p *pass) checkWarmPool() {
	pool := p.warmPool()
	if pool == nil {
		return
	}
	pos := report.Position{File: p.g.File}
	pos.Line, pos.Col = p.g.Position("spec", "warmPool")
	hooks := waits.Find(p.result, nil)
	for i := range hooks {
		if h := &hooks[i]; h.Phase == "pre-kubelet" && !h.Missing {
			p.add("KH087", pos, fmt.Sprintf("hook %q of phase pre-kubelet runs beside nodeup, which has the machine stopped when it is done: the hook may be cut off, and runs again when the machine is started", h.Name))
		}
	}
	wait := waits.Nodeup(hooks)
	if !pool.EnableLifecycleHook {
		if what := p.beforeNodeup(wait); what != "" {
			p.add("KH086", pos, fmt.Sprintf("the warm pool of %q has no lifecycle hook, so that a machine may be stopped in the middle of %s", p.g.Name, what))
		}
		return
	}
	timeout := defaultHookTimeout
	if pool.LifecycleHookTimeout != nil {
		timeout = time.Duration(*pool.LifecycleHookTimeout) * time.Second
	}
	if wait.Total > timeout {
		p.add("KH085", pos, fmt.Sprintf("nodeup of %q may wait %s for hooks, most of it for %s, and the warm pool terminates a machine that takes longer than %s: then another is launched, and so on",
			p.g.Name, report.Duration(wait.Total), wait.Slowest.Name, report.Duration(timeout)))
	}
}

// beforeNodeup names what a machine does before nodeup, "" when it is nothing of the user's.
func (p *pass) beforeNodeup(wait waits.Wait) string {
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
