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
		if events := c.rolled(); !slices.Contains(events, AfterControlPlaneUpgrade) || !slices.Contains(events, AfterClusterUpgrade) {
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

// checkGroups refuses a rolling update that names instance groups of the control plane together with others, where
// something is to run between the two.
func (r *runner) checkGroups(ctx context.Context) error {
	named := r.command.List("instance-group")
	if r.command.Name != "rolling-update cluster" || len(named) == 0 {
		return nil
	}
	for _, t := range r.targets {
		steps := r.stagesOf([]Event{AfterControlPlaneUpgrade}, t.Cluster)
		if len(steps) == 0 {
			continue
		}
		groups, err := r.prober.groups(ctx, t.Cluster.Name)
		if err != nil {
			return err
		}
		var first, others []string
		for _, g := range groups {
			if name := g.Metadata.Name; slices.Contains(named, name) {
				if g.firstToRoll() {
					first = append(first, name)
				} else {
					others = append(others, name)
				}
			}
		}
		if len(first) > 0 && len(others) > 0 {
			s := steps[0].steps[0]
			return report.Hint("roll "+strings.Join(first, ", ")+" in a command of its own first",
				"--instance-group names groups of the control plane (%s) and others (%s), but %s %q runs between the two, on %s",
				strings.Join(first, ", "), strings.Join(others, ", "), s.kind(), s.name(), AfterControlPlaneUpgrade)
		}
	}
	return nil
}

// firstToRoll says whether an instance group is rolled before what comes after the control plane.
func (o *kopsObject) firstToRoll() bool {
	role := strings.ToLower(o.Spec.Role)
	return role == "controlplane" || role == "master" || role == roleAPIServer
}

// splits says whether the command is run in two steps, because something runs between them. It is known once extensions
// have said what they have.
func (r *runner) splits() (first [][]string, rest []string, ok bool) {
	if !r.command.isKops() || r.Operation != "" && r.Operation != r.command.operationName() {
		return nil, nil, false
	}
	between := false
	for i := range r.targets {
		for _, st := range r.targets[i].after {
			between = between || st.event == AfterControlPlaneUpgrade && slices.ContainsFunc(st.steps, func(s step) bool {
				return s.hook != nil || slices.ContainsFunc(r.found[s.extension], func(h handler) bool { return h.isFor(st.event) })
			})
		}
	}
	if !between {
		return nil, nil, false
	}
	return r.command.controlPlaneFirst()
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
