package adopt

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/unitfile"
)

// nodeupRecipe is the drop-in for kops-configuration.service that commands of bootcmd write, as hooks: a script before
// nodeup, and one after it.
type nodeupRecipe struct {
	*unitfile.Recipe
	before, after string // scripts, "" where there is none
	rest          []cloudinit.Item
}

// findRecipe finds the recipe among the commands of the first parts. What in it only systemd understands makes it none:
// bootcmd is taken over as it is then.
func findRecipe(run *cloudinit.Run, parts int) *nodeupRecipe {
	theirs := *run
	theirs.Items = slices.DeleteFunc(slices.Clone(run.Items), func(i cloudinit.Item) bool { return i.Part >= parts })
	found := unitfile.FindRecipe(&theirs)
	if found == nil || len(found.Other) > 0 {
		return nil
	}
	r := &nodeupRecipe{Recipe: found}
	for _, s := range []struct {
		commands []unitfile.Exec
		script   *string
	}{{found.Before, &r.before}, {found.After, &r.after}} {
		if len(s.commands) == 0 {
			continue
		}
		script, ok := unitfile.Script(s.commands)
		if !ok {
			return nil
		}
		*s.script = script
	}
	for i, item := range theirs.Items {
		if !slices.Contains(found.Items, i) {
			r.rest = append(r.rest, item)
		}
	}
	return r
}

// recipeParts are the parts that the recipe's commands stand in.
func recipeParts(run *cloudinit.Run, r *nodeupRecipe) []int {
	var parts []int
	for _, i := range r.Items {
		if p := run.Items[i].Part; !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// keepRecipe keeps the parts of a recipe together.
func (a *Adopted) keepRecipe() {
	for i := range a.Today.Runs {
		run := &a.Today.Runs[i]
		r := findRecipe(run, len(a.Parts))
		if r == nil {
			continue
		}
		parts := recipeParts(run, r)
		if slices.ContainsFunc(parts, func(p int) bool { return !a.takes(p) }) {
			for _, p := range parts {
				a.keepPart(p, "it writes a drop-in together with a part that stays")
			}
		}
	}
}

// addBootcmd makes hooks of bootcmd, and of the drop-in for nodeup that it writes.
func (a *Adopted) addBootcmd(run *cloudinit.Run) {
	r := findRecipe(run, len(a.Parts))
	if r == nil || a.Role == "Bastion" {
		a.add(&hook{phase: hookspec.Boot, script: run.Content}, fromBoot, a.partsOf(run)...)
		return
	}
	if len(r.rest) > 0 {
		rest := cloudinit.Run{At: run.At, Items: r.rest}
		a.add(&hook{phase: hookspec.Boot, script: itemsScript(r.rest)}, fromBoot, a.partsOf(&rest)...)
	}
	a.recipe, a.recipeOf = r, recipeParts(run, r)
}

// addRecipe adds the recipe's hooks, behind all that runs before nodeup today, and behind all that runs beside it.
func (a *Adopted) addRecipe() {
	if a.recipe == nil {
		return
	}
	r := a.recipe
	timeout := ""
	if limit, ok := r.Limit(); ok {
		timeout = limit.String()
	}
	if r.before != "" {
		h := a.add(&hook{phase: hookspec.PreNodeup, script: r.before, everyBoot: true, block: true, timeout: timeout}, fromBefore, a.recipeOf...)
		h.comment = append(h.comment, "Today nodeup waits for it, but after a reboot the kubelet does not (docs/older-recipe.md). As a hook, both wait for it on every boot.")
		if r.Appended {
			h.comment = append(h.comment, "Today each boot appends it to the drop-in once more. As a hook it runs once on each boot.")
		}
		for _, cut := range r.Cut {
			h.comment = append(h.comment, fmt.Sprintf("%s is on no node today: YAML takes the text behind it for a comment.", cut))
		}
	}
	if r.after != "" {
		h := a.add(&hook{phase: hookspec.PostNodeup, script: r.after, everyBoot: true}, fromAfter, a.recipeOf...)
		h.comment = append(h.comment, "Today ExecStopPost= also runs it when nodeup has failed.")
	}
}

// itemsScript is the script that cloud-init makes of commands.
func itemsScript(items []cloudinit.Item) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for _, item := range items {
		b.WriteString(item.Text + "\n")
	}
	return b.String()
}

// seeBootcmd lists what bootcmd runs: its commands, and what its drop-in for nodeup does.
func (s *seen) seeBootcmd(run *cloudinit.Run, parts int) {
	r := findRecipe(run, parts)
	if r == nil {
		if text := commandsOf(run, parts); text != "" {
			s.runs = append(s.runs, effect{run.Name, EarlyBoot, text, true})
		}
		return
	}
	if len(r.rest) > 0 {
		s.runs = append(s.runs, effect{run.Name, EarlyBoot, itemsScript(r.rest), true})
	}
	s.recipe = r
}

// seeRecipe puts what a drop-in for nodeup runs in its place among the rest.
func (s *seen) seeRecipe() {
	if s.recipe == nil {
		return
	}
	if s.recipe.before != "" {
		i := slices.IndexFunc(s.runs, func(e effect) bool { return e.moment == BesideNodeup })
		if i < 0 {
			i = len(s.runs)
		}
		s.runs = slices.Insert(s.runs, i, effect{"ExecStartPre= of " + s.recipe.File, BeforeNodeup, s.recipe.before, true})
	}
	if s.recipe.after != "" {
		s.runs = append(s.runs, effect{"ExecStopPost= of " + s.recipe.File, AfterNodeup, s.recipe.after, true})
	}
}

// recipe says what is better then.
func (p *Proof) recipe(a *Adopted) {
	if a.recipe == nil {
		return
	}
	if a.recipe.before != "" {
		p.differ("after a reboot the kubelet does not wait for ExecStartPre= of %s, but it waits for the hook: docs/older-recipe.md says why", a.recipe.File)
	}
	if a.recipe.after != "" {
		p.differ("ExecStopPost= of %s runs whenever nodeup ends, and its hook only when nodeup has succeeded", a.recipe.File)
	}
}
