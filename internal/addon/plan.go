package addon

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"kopshook.dev/kopshook/generator"
)

// Kind is what happens to a DaemonSet.
type Kind string

// The kinds of changes, the gravest first.
const (
	New      Kind = "new"      // all of its nodes get a pod at once
	Runs     Kind = "runs"     // a rollout, in which hooks run
	Restarts Kind = "restarts" // a rollout, in which no hook runs
	Removed  Kind = "removed"  // its pods go
	Settings Kind = "settings" // how later rollouts go; no pod restarts
)

// Change is what applying an addon does to one DaemonSet.
type Change struct {
	Name   string
	Kind   Kind
	Runs   []string // hooks that run: "a", "a on gpu-a"
	Clears []string // hooks that go from the nodes; of Removed, what stays on them
	Undoes []string // those of them that take back what they did; of Removed, that do not, since nobody is left to run it
	Known  []string // of New: hooks that other pods ran, which are not run again where they are done
	Booted []string // hooks that now run at every boot, and run where the node has booted again since they ran
	AtOnce string   // pods at a time: "10%", "3"; "" when somebody has to delete them
	Gains  []string // hooks that run on nodes that the DaemonSet did not have, on all of them at once
	Loses  []string // hooks that nobody takes back and clears on nodes that it does not have any more
}

// Plan is what applying an addon does.
type Plan struct {
	Changes   []Change // by name
	Unchanged int      // DaemonSets
	Other     bool     // something else changes, which restarts nothing
}

// Changes says whether anything changes at all.
func (p *Plan) Any() bool { return len(p.Changes) > 0 || p.Other }

// Compare says what the addon changes. before is the manifest of the addon that is there, nil when there is none.
func (a *Addon) Compare(before []byte) (*Plan, error) {
	manifest, err := a.Manifest()
	if err != nil {
		return nil, err
	}
	old, err := daemonSetsOf(before)
	if err != nil {
		return nil, err
	}
	// as it is read again: numbers and empty fields as in the one before
	sets, err := daemonSetsOf(manifest)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	for _, s := range sets {
		i := slices.IndexFunc(old, func(o *appsv1.DaemonSet) bool { return o.Name == s.Name })
		c := Change{Name: s.Name, Kind: New, AtOnce: atOnce(s)}
		switch {
		case i < 0:
			had := linesNear(s, old)
			for _, l := range linesOf(s) {
				if slices.ContainsFunc(had, func(o hookLine) bool { return o.name == l.name && o.sum == l.sum }) {
					c.Known = append(c.Known, l.name)
				} else {
					c.Runs = append(c.Runs, l.name)
				}
			}
		case reflect.DeepEqual(old[i].Spec, s.Spec):
			p.Unchanged++
			continue
		case reflect.DeepEqual(old[i].Spec.Template, s.Spec.Template):
			c.Kind = Settings
		default:
			c.Runs, c.Booted, c.Clears, c.Undoes = differences(linesOf(old[i]), linesOf(s))
			if c.Kind = Restarts; len(c.Runs)+len(c.Booted) > 0 {
				c.Kind = Runs
			}
			if !within(termsOf(s), termsOf(old[i])) {
				c.Gains = namesOf(linesOf(s))
			}
			if !within(termsOf(old[i]), termsOf(s)) {
				c.Loses = namesOf(linesOf(old[i]))
			}
		}
		p.Changes = append(p.Changes, c)
	}
	for _, o := range old {
		if slices.ContainsFunc(sets, func(s *appsv1.DaemonSet) bool { return s.Name == o.Name }) {
			continue
		}
		c := Change{Name: o.Name, Kind: Removed}
		has := linesNear(o, sets)
		for _, l := range linesOf(o) {
			if !slices.ContainsFunc(has, func(n hookLine) bool { return n.name == l.name }) {
				c.Clears = append(c.Clears, l.name)
				if l.undo {
					c.Undoes = append(c.Undoes, l.name)
				}
			}
		}
		p.Changes = append(p.Changes, c)
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		for _, list := range []*[]string{&c.Runs, &c.Known, &c.Booted, &c.Clears, &c.Undoes, &c.Gains, &c.Loses} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
	}
	slices.SortFunc(p.Changes, func(x, y Change) int { return cmp.Compare(x.Name, y.Name) })
	p.Other = len(p.Changes) == 0 && !bytes.Equal(before, manifest)
	return p, nil
}

// daemonSetsOf returns the DaemonSets of a manifest.
func daemonSetsOf(manifest []byte) ([]*appsv1.DaemonSet, error) {
	var out []*appsv1.DaemonSet
	for docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); ; {
		set := &appsv1.DaemonSet{}
		err := docs.Decode(set)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if set.Kind == "DaemonSet" {
			if len(set.Spec.Template.Spec.Containers) == 0 {
				return nil, fmt.Errorf("DaemonSet %q has no container", set.Name)
			}
			out = append(out, set)
		}
	}
}

// hookLine is an argument of run.sh, as far as it says what runs and where.
type hookLine struct {
	name, sum    string
	undo, boots  bool // boots: it runs at every boot
	only, except []string
}

// on says whether the hook runs in an instance group; "" stands for one that nobody names.
func (l *hookLine) on(group string) bool {
	return (l.only == nil || slices.Contains(l.only, group)) && !slices.Contains(l.except, group)
}

func linesOf(set *appsv1.DaemonSet) []hookLine {
	var out []hookLine
	for _, a := range set.Spec.Template.Spec.Containers[0].Args {
		var l hookLine
		for _, word := range strings.Fields(a) {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "name":
				l.name = value
			case "sum":
				l.sum = value
			case "run":
				l.boots = value == generator.EveryBoot
			case "undo":
				l.undo = true
			case "only":
				l.only = strings.Split(value, ",")
			case "except":
				l.except = strings.Split(value, ",")
			}
		}
		if l.name != "" {
			out = append(out, l)
		}
	}
	return out
}

// differences returns the hooks that run since what they are has changed, those that run at every boot from now on, those that
// are no more, and which of these take back what they did.
func differences(old, now []hookLine) (runs, booted, clears, undoes []string) {
	groups := []string{""}
	var names []string
	for _, l := range slices.Concat(old, now) {
		groups = slices.Concat(groups, l.only, l.except)
		names = append(names, l.name)
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	slices.Sort(names)
	at := func(lines []hookLine, name, group string) hookLine {
		for _, l := range lines {
			if l.name == name && l.on(group) {
				return l
			}
		}
		return hookLine{}
	}
	for _, name := range slices.Compact(names) {
		var run, boot, gone, undone []string
		for _, g := range groups {
			switch was, is := at(old, name, g), at(now, name, g); {
			case was.sum == is.sum:
				if is.boots && !was.boots {
					boot = append(boot, g)
				}
			case is.sum == "":
				gone = append(gone, g)
				if was.undo {
					undone = append(undone, g)
				}
			default:
				run = append(run, g)
			}
		}
		if len(run) > 0 {
			runs = append(runs, name+where(run, groups))
		}
		if len(boot) > 0 {
			booted = append(booted, name+where(boot, groups))
		}
		if len(gone) > 0 {
			clears = append(clears, name+where(gone, groups))
		}
		if len(undone) > 0 {
			undoes = append(undoes, name+where(undone, groups))
		}
	}
	return runs, booted, clears, undoes
}

// where says which of all instance groups these are: "" for all, " on a, b", " but not on c".
func where(some, all []string) string {
	if len(some) == len(all) {
		return ""
	}
	if some[0] != "" {
		return " on " + strings.Join(some, " and ")
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(g string) bool { return slices.Contains(some, g) })
	return " but not on " + strings.Join(rest, " and ")
}

// atOnce says how many pods of a DaemonSet are replaced at once.
func atOnce(set *appsv1.DaemonSet) string {
	if set.Spec.UpdateStrategy.RollingUpdate == nil {
		return ""
	}
	return set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.String()
}
