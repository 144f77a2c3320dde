package addon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlanSaysWhatApplyingDoes(t *testing.T) {
	groups := []Group{group("a", "Node"), group("gpu", "Node")}
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
		"something else":   {[]string{base}, []string{base}, Options{Name: "kopshook", PriorityClass: "x"}, Plan{Changes: []Change{{Name: "kopshook-s", Kind: Restarts, AtOnce: "10%"}}}},
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
	if _, err := build(t, in(Options{}), base).Compare([]byte("kind: DaemonSet\nspec: [x\n")); err == nil {
		t.Error("a manifest that is none can be compared with")
	}
}
