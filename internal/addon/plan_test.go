package addon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestPlanSaysWhatApplyingDoes(t *testing.T) {
	groups := []Group{group("a", "Node"), group("cp", "ControlPlane"), group("gpu", "Node")}
	in := func(o Options) Input { return Input{Groups: groups, Options: o} }
	s := func(name, hooks string) string { return spec(name, "{roles: [Node]}", hooks) }
	const undo = ", undo: \"true\""
	hook := func(name, script, more string) string {
		return "  - {name: " + name + ", phase: daemon, script: \"#!/bin/sh\\necho " + script + "\\n\"" + more + "}\n"
	}
	over := func(setting string) string {
		return "\n  overrides:\n  - {selector: {names: [gpu]}, hooks: {h: {" + setting + "}}}\n"
	}
	base := s("s", hook("h", "1", "")+hook("i", "1", ""))
	for name, c := range map[string]struct {
		before, after []string
		options       Options // of after
		want          Plan
	}{
		"nothing":       {[]string{base}, []string{base}, Options{}, Plan{Unchanged: 1}},
		"all of it":     {nil, []string{base}, Options{}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: New, Runs: []string{"h", "i"}, AtOnce: "10%"}}}},
		"an empty set":  {nil, []string{s("s", hook("h", "1", ", enabled: false"))}, Options{}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: New, AtOnce: "10%"}}}},
		"a script":      {[]string{base}, []string{s("s", hook("h", "2", "")+hook("i", "1", ""))}, Options{}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Runs, Runs: []string{"h"}, AtOnce: "10%"}}}},
		"a new hook":    {[]string{base}, []string{s("s", hook("h", "1", "")+hook("i", "1", "")+hook("j", "1", ""))}, Options{}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Runs, Runs: []string{"j"}, AtOnce: "10%"}}}},
		"one that goes": {[]string{base}, []string{s("s", hook("h", "1", ""))}, Options{}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, Clears: []string{"i"}, AtOnce: "10%"}}}},
		"one that is undone": {[]string{s("s", hook("h", "1", undo)+hook("i", "1", undo)+hook("j", "1", ""))}, []string{s("s", hook("h", "2", ""))}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Runs, Runs: []string{"h"}, Clears: []string{"i", "j"}, Undoes: []string{"i"}, AtOnce: "10%"}}}},
		"undone on a group": {[]string{s("s", hook("h", "1", undo))}, []string{s("s", hook("h", "1", undo)) + over("enabled: false")}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, Clears: []string{"h on gpu"}, Undoes: []string{"h on gpu"}, AtOnce: "10%"}}}},
		"what undoes it": {[]string{s("s", hook("h", "1", undo))}, []string{s("s", hook("h", "1", ", undo: \"false\""))}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, AtOnce: "10%"}}}},
		"a spec with undo that goes": {[]string{s("s", hook("h", "1", undo)+hook("i", "1", ""))}, nil, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Removed, Clears: []string{"h", "i"}, Undoes: []string{"h"}}}}},
		"a setting":             {[]string{base}, []string{s("s", hook("h", "1", ", attempts: 9")+hook("i", "1", ""))}, Options{}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, AtOnce: "10%"}}}},
		"an override's setting": {[]string{base}, []string{base + over("attempts: 9")}, Options{}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, AtOnce: "10%"}}}},
		"an override's content": {[]string{base}, []string{base + over("env: {A: b}")}, Options{MaxUnavailable: "3"}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Runs, Runs: []string{"h on gpu"}, AtOnce: "3"}}}},
		"an override that goes": {[]string{base + over("env: {A: b}")}, []string{base}, Options{}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Runs, Runs: []string{"h on gpu"}, AtOnce: "10%"}}}},
		"disabled on a group":   {[]string{base}, []string{base + over("enabled: false")}, Options{}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, Clears: []string{"h on gpu"}, AtOnce: "10%"}}}},
		"all but a group": {[]string{base + over("env: {A: b}")}, []string{s("s", hook("h", "2", "")+hook("i", "1", "")) + over("script: \"#!/bin/sh\\necho 1\\n\", env: {A: b}")}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Runs, Runs: []string{"h but not on gpu"}, AtOnce: "10%"}}}},
		"a renamed spec": {[]string{base}, []string{s("t", hook("h", "1", "")+hook("i", "2", ""))}, Options{}, Plan{Changes: []Change{
			{Name: "kopshook-s", Kind: Removed}, {Name: "kopshook-t", Kind: New, Runs: []string{"i"}, Known: []string{"h"}, AtOnce: "10%"}}}},
		"a spec that goes": {[]string{base}, nil, Options{}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Removed, Clears: []string{"h", "i"}}}}},
		"how it rolls":     {[]string{base}, []string{base}, Options{MaxUnavailable: "1"}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Settings, AtOnce: "1"}}}},
		"by hand":          {[]string{base}, []string{s("s", hook("h", "2", "")+hook("i", "1", ""))}, Options{OnDelete: true}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Runs, Runs: []string{"h"}}}}},
		"the status":       {[]string{base}, []string{base}, Options{Status: true}, Plan{Unchanged: 1, Changes: []Change{{Name: "kopshook-status", Kind: New, AtOnce: "10%"}}}},
		"a wider selector": {[]string{spec("s", "{names: [a]}", hook("h", "1", ""))}, []string{spec("s", "{names: [a, gpu]}", hook("h", "1", ""))}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, Gains: []string{"h"}, AtOnce: "10%"}}}},
		"a narrower selector": {[]string{spec("s", "{excludeNames: [b], roles: [Node]}", hook("h", "1", undo))}, []string{spec("s", "{excludeNames: [b, gpu], roles: [Node]}", hook("h", "1", undo))}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, Loses: []string{"h"}, AtOnce: "10%"}}}},
		"another selector": {[]string{spec("s", "{names: [a]}", hook("h", "1", ""))}, []string{spec("s", "{names: [gpu]}", hook("i", "1", ""))}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Runs, Runs: []string{"i"}, Clears: []string{"h"}, Gains: []string{"i"}, Loses: []string{"h"}, AtOnce: "10%"}}}},
		"a role less": {[]string{spec("s", "{roles: [Node, ControlPlane]}", hook("h", "1", undo))}, []string{spec("s", "{roles: [Node]}", hook("h", "1", undo))}, Options{},
			Plan{Unchanged: 1, Changes: []Change{{Name: "kopshook-s-control-plane", Kind: Removed, Clears: []string{"h"}, Undoes: []string{"h"}}}}},
		"a role more": {[]string{spec("s", "{roles: [Node]}", hook("h", "1", ""))}, []string{spec("s", "{roles: [Node, ControlPlane]}", hook("h", "1", ""))}, Options{},
			Plan{Unchanged: 1, Changes: []Change{{Name: "kopshook-s-control-plane", Kind: New, Runs: []string{"h"}, AtOnce: "10%"}}}},
		"one role of all": {[]string{spec("s", "{}", hook("h", "1", ""))}, []string{spec("s", "{roles: [Node]}", hook("h", "1", ""))}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, Loses: []string{"h"}, AtOnce: "10%"}, {Name: "kopshook-s-control-plane", Kind: Removed, Clears: []string{"h"}}}}},
		"at every boot": {[]string{base}, []string{s("s", hook("h", "1", ", run: every-boot")+hook("i", "1", ""))}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Runs, Booted: []string{"h"}, AtOnce: "10%"}}}},
		"still at every boot": {[]string{s("s", hook("h", "1", ", run: every-boot"))}, []string{s("s", hook("h", "1", ", run: every-boot, attempts: 9"))}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, AtOnce: "10%"}}}},
		"a spec that moves to other nodes": {[]string{spec("s", "{roles: [ControlPlane]}", hook("h", "1", ""))},
			[]string{spec("t", "{}", hook("h", "1", "")) + "\n  overrides:\n  - {selector: {roles: [ControlPlane]}, hooks: {h: {enabled: false}}}\n"}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s-control-plane", Kind: Removed, Clears: []string{"h"}},
				{Name: "kopshook-t", Kind: New, Runs: []string{"h"}, AtOnce: "10%"}, {Name: "kopshook-t-control-plane", Kind: New, AtOnce: "10%"}}}},
		"at every boot no more": {[]string{s("s", hook("h", "1", ", run: every-boot"))}, []string{s("s", hook("h", "1", ""))}, Options{},
			Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, AtOnce: "10%"}}}},
		"something else": {[]string{base}, []string{base}, Options{Name: "kopshook", PriorityClass: "x"}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, AtOnce: "10%"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			var before []byte
			if c.before != nil {
				var err error
				if before, err = build(t, in(Options{}), c.before...).Manifest(); err != nil {
					t.Fatal(err)
				}
			}
			after, _ := try(t, in(c.options), c.after...)
			got, err := after.Compare(before)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for _, bad := range []string{"kind: DaemonSet\nspec: [x\n", "kind: DaemonSet\nmetadata: {name: x}\n"} {
		if _, err := build(t, in(Options{}), base).Compare([]byte(bad)); err == nil {
			t.Errorf("can be compared with %q", bad)
		}
	}
}

func TestNodesWithinOthers(t *testing.T) {
	one, two := term(in("g", []string{"a"})), term(in("g", []string{"a", "b"}))
	for name, c := range map[string]struct {
		some, all []corev1.NodeSelectorTerm
		want      bool
	}{
		"every node of every node": {nil, nil, true},
		"some of every node":       {one, nil, true},
		"every node of some":       {nil, one, false},
		"fewer values":             {one, two, true},
		"more values":              {two, one, false},
		"another label":            {one, term(in("h", []string{"a"})), false},
		"one term of two":          {one, append(term(in("h", []string{"a"})), one...), true},
		"two terms of one":         {append(term(in("h", []string{"a"})), one...), one, false},
	} {
		if got := within(c.some, c.all); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
