package clusterhooks

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/report"
)

// controlPlaneFirst returns the commands that do the same in two steps: first rolls the control planes and API servers,
// rest everything else. ok is false where the command has nothing to come between: it rolls only one of the two.
func (c *Command) controlPlaneFirst() (first [][]string, rest []string, ok bool) {
	if len(c.nameAt) != len(strings.Fields(c.Name)) {
		return nil, nil, false // its name stands behind --
	}
	switch c.Name {
	case "rolling-update cluster":
		if events := c.Operation().After; !slices.Contains(events, AfterControlPlaneUpgrade) || !slices.Contains(events, AfterClusterUpgrade) {
			return nil, nil, false
		}
		before, behind := []string{roleControlPlane, roleAPIServer}, []string{roleNode, roleBastion}
		if roles := c.roles(); len(roles) > 0 {
			if slices.ContainsFunc(roles, func(r string) bool { return !slices.Contains(before, r) && !slices.Contains(behind, r) }) {
				return nil, nil, false // kops will refuse it
			}
			other := func(r string) bool { return !slices.Contains(roles, r) }
			before, behind = slices.DeleteFunc(before, other), slices.DeleteFunc(behind, other)
		}
		return [][]string{c.forRoles(c.Name, before)}, c.forRoles(c.Name, behind), true
	case "reconcile cluster":
		// Reconcile has no option for roles. This is how it begins itself (cmd/kops/reconcile_cluster.go:141); once that is
		// done, it goes on with the nodes.
		roles := []string{roleControlPlane, roleAPIServer}
		return [][]string{
			c.forRoles("update cluster", roles, "--create-kube-config=false"),
			c.forRoles("rolling-update cluster", roles),
		}, c.Args, true
	}
	return nil, nil, false
}

// forRoles is the command line with another name, for some roles, and with more options. What the other command does not
// know is left out.
func (c *Command) forRoles(name string, roles []string, more ...string) []string {
	drop := []string{"instance-group-roles"}
	if name == "rolling-update cluster" {
		drop = append(drop, "allow-kops-downgrade")
	}
	words := strings.Fields(name)
	var line []string
	for i := 0; i < len(c.Args); {
		if at := slices.Index(c.nameAt, i); at >= 0 && at < len(words) {
			line = append(line, words[at])
			if at == len(words)-1 {
				line = append(append(line, "--instance-group-roles="+strings.Join(roles, ",")), more...)
			}
			i++
			continue
		}
		to := i + 1
		if at := slices.IndexFunc(c.given, func(o option) bool { return o.from == i }); at >= 0 {
			to = c.given[at].to
			if slices.Contains(drop, c.given[at].name) {
				i = to
				continue
			}
		}
		line = append(line, c.Args[i:to]...)
		i = to
	}
	return line
}

// namedGroups are the instance groups of a cluster that a rolling update names.
type namedGroups struct {
	first, others []string // of the control plane and API servers, and the rest
	whole         bool     // first are all of the control plane
}

// findGroups asks kops about the instance groups that a rolling update names, where something hangs on that. It adds the
// events that come when they are all of their kind.
func (r *runner) findGroups(ctx context.Context, t *target) error {
	names, roles := r.command.List("instance-group"), r.command.roles()
	if r.command.Name != "rolling-update cluster" || len(names) == 0 ||
		len(r.stagesOf(append(slices.Clone(t.IfAll), AfterControlPlaneUpgrade), t.Cluster)) == 0 {
		return nil
	}
	groups, err := r.prober.groups(ctx, t.Cluster.Name)
	if err != nil {
		return err
	}
	left, rolled := map[Event][]string{}, map[Event]bool{}
	for _, g := range groups {
		name, role := g.Metadata.Name, roleOf(g.Spec.Role)
		event := map[string]Event{roleControlPlane: AfterControlPlaneUpgrade, roleNode: AfterClusterUpgrade}[role]
		switch {
		case !slices.Contains(names, name) || len(roles) > 0 && !slices.Contains(roles, role):
			left[event] = append(left[event], name)
			continue
		case role == roleControlPlane || role == roleAPIServer:
			t.named.first = append(t.named.first, name)
		default:
			t.named.others = append(t.named.others, name)
		}
		rolled[event] = true
	}
	t.named.whole = len(left[AfterControlPlaneUpgrade]) == 0
	for _, e := range t.IfAll {
		switch stages := r.stagesOf([]Event{e}, t.Cluster); {
		case len(stages) == 0 || !rolled[e]:
		case len(left[e]) == 0 || e == AfterControlPlaneUpgrade && t.mixed():
			t.After = append(t.After, e)
		default:
			s := stages[0].steps[0]
			r.leftOut = append(r.leftOut, fmt.Sprintf("%s does not come, which %s %q is for: the command leaves out %s", e, s.kind(), s.name(), strings.Join(left[e], ", ")))
		}
	}
	return nil
}

// mixed says whether instance groups of the control plane are named together with others.
func (t *target) mixed() bool { return len(t.named.first) > 0 && len(t.named.others) > 0 }

// checkGroups refuses a rolling update that names instance groups of the control plane together with others, where
// something is to run between the two.
func (r *runner) checkGroups() error {
	for i := range r.targets {
		t := &r.targets[i]
		s := r.firstBetween(t)
		if s == nil || !t.mixed() {
			continue
		}
		first := strings.Join(t.named.first, ", ")
		remedy := "roll " + first + " in a command of its own first: what is on " + string(AfterControlPlaneUpgrade) + " comes after it"
		if !t.named.whole {
			remedy = "roll the control plane first, with --instance-group-roles=" + roleControlPlane + "," + roleAPIServer + ": what is on " + string(AfterControlPlaneUpgrade) + " comes after it"
		}
		return report.Hint(remedy, "--instance-group names groups of the control plane (%s) and others (%s), but %s %q runs between the two, on %s",
			first, strings.Join(t.named.others, ", "), s.kind(), s.name(), AfterControlPlaneUpgrade)
	}
	return nil
}

// firstBetween is the first step of a target that comes between the control planes and the rest, nil without one. It is
// known once extensions have said what they have.
func (r *runner) firstBetween(t *target) *step {
	for _, st := range t.after {
		for i := range st.steps {
			s := &st.steps[i]
			if st.event == AfterControlPlaneUpgrade && (s.hook != nil || slices.ContainsFunc(r.found[s.extension], func(h handler) bool { return h.isFor(st.event) })) {
				return s
			}
		}
	}
	return nil
}

// splits says whether the command is run in two steps, because something runs between them.
func (r *runner) splits() (first [][]string, rest []string, ok bool) {
	if !r.isItself() || !slices.ContainsFunc(r.targets, func(t target) bool { return r.firstBetween(&t) != nil }) {
		return nil, nil, false
	}
	return r.command.controlPlaneFirst()
}

// isItself says whether the command is taken for what it is: a kops command, and for no other operation.
func (r *runner) isItself() bool {
	return r.command.isKops() && (r.Operation == "" || r.Operation == r.command.operationName())
}

// sayWhatComesLast tells of what is there for the moment between the control planes and the nodes, and comes after both:
// the command cannot be run in two parts.
func (r *runner) sayWhatComesLast() {
	if _, _, ok := r.splits(); ok {
		return
	}
	if r.isItself() && !slices.Contains(r.command.Operation().After, AfterClusterUpgrade) {
		return // it rolls the control planes alone
	}
	for i := range r.targets {
		if s := r.firstBetween(&r.targets[i]); s != nil {
			r.say("`%s` is not run in two parts: %s %q, on %s, comes after all of it, nodes too", r.shown(), s.kind(), s.name(), AfterControlPlaneUpgrade)
		}
	}
}

// operationName is the name of the operation that the words of the command are, "" where it has none of its own.
func (c *Command) operationName() string {
	return strings.TrimSuffix(c.Name, " cluster")
}

// rollControlPlane runs the first commands of a split, and, when they succeeded, what comes before the rest. ok is false when
// a hook failed; the signal is one that ended kopshook's own part of it, or came too late for kops.
func (r *runner) rollControlPlane(ctx context.Context, first [][]string) (ok bool, interrupt os.Signal) {
	for _, args := range first {
		r.say("the control plane first: %s", strings.Join(args, " "))
		if started, late := r.runKops(args); !started || late != nil {
			return false, late
		}
		if r.result.Kops.ExitCode != 0 {
			return true, nil
		}
		if r.interrupted != nil {
			r.say("interrupted: the rest was not started")
			return false, r.interrupted
		}
	}
	hookCtx, stop := untilSignal(ctx, r.Signals)
	ok = true
	for i := range r.targets {
		between, _ := r.targets[i].parts()
		ok = r.stages(hookCtx, &r.targets[i], between, ok)
	}
	switch interrupt = stop(); {
	case interrupt != nil:
		r.say("interrupted: the control plane is rolled, the rest was not started")
	case !ok:
		r.say("the control plane is rolled, the rest was not started: a hook failed between them")
		fmt.Fprintf(r.Stderr, "  hint: run the same command again when it would succeed: the control plane stays as it is, and the hook comes first\n")
	}
	return ok, interrupt
}

// parts are the stages that come between the control planes and the rest, and those that come after all.
func (t *target) parts() (between, last []stage) {
	for _, st := range t.after {
		if st.event == AfterControlPlaneUpgrade {
			between = append(between, st)
		} else {
			last = append(last, st)
		}
	}
	return between, last
}
