package addon

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
)

// content is a hook with its bytes, and the ConfigMaps that hold them.
type content struct {
	hook generator.Hook
	maps []*corev1.ConfigMap
	sum  string // of what runs: SHA256SUMS of its files
	undo string // the checksum of the script that takes it back; "" when there is none
	set  string // its settings that are for the addon alone
}

// path is where a pod finds the files.
func (c *content) path() string { return "/hooks/" + c.hook.Name + "/" + c.sum + c.undo }

// id is that of all that lies there. What undoes a hook is no part of what runs: a change of it runs no hook.
func (c *content) id() string {
	if c.undo == "" {
		return c.sum[:12]
	}
	return sum([]byte(c.sum + c.undo))[:12]
}

// contents reads the hooks of all targets of a spec, each once, and reports what no ConfigMap can hold. They are found
// by the ID of the hook.
func (b *builder) contents(targets []target) map[string]*content {
	var hooks []hookspec.Resolved
	seen := map[string]bool{}
	for _, t := range targets {
		for _, s := range t.settings {
			for _, h := range s.hooks {
				if !seen[h.ID] {
					seen[h.ID] = true
					hooks = append(hooks, h)
				}
			}
		}
	}
	if len(hooks) == 0 {
		return nil
	}
	out := map[string]*content{}
	for i, read := range b.Read(hooks) {
		h := &hooks[i]
		files := hookFiles(&read)
		b.checkFiles(h, files)
		c := &content{hook: read, sum: sum(files[0].content)}
		if h.Said.Undo != nil {
			f := hookFile{"undo", []byte(*h.Said.Undo), "undo"}
			b.checkFiles(h, []hookFile{f})
			files = append(files, f)
			c.undo = sum(f.content)
			c.set = " undo=" + c.undo
		}
		if h.RunsOnDrift() {
			c.set += " drift=run"
		}
		spec := h.Doc.Spec.Metadata.Name
		c.maps = b.configMaps(fmt.Sprintf("%s.%s.%s-%s", b.Name, spec, h.Name, c.id()), spec, files)
		out[h.ID] = c
	}
	return out
}

// hooks returns all hooks of the target, each once, in the order in which they run: by weight, then by name.
func (t *target) hooks() []hookspec.Resolved {
	var all []hookspec.Resolved
	for _, s := range t.settings {
		for _, h := range s.hooks {
			if !slices.ContainsFunc(all, func(o hookspec.Resolved) bool { return o.ID == h.ID }) {
				all = append(all, h)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y hookspec.Resolved) int {
		return cmp.Or(cmp.Compare(x.Weight, y.Weight), cmp.Compare(x.Name, y.Name))
	})
	return all
}

// arguments are what run.sh is told of the hooks, one argument each. Where overrides differ, an argument says for which
// instance groups it is.
func (t *target) arguments(contents map[string]*content) []string {
	type place struct {
		weight   int
		argument string
	}
	var places []place
	of := map[place][]int{} // the settings that have it
	for _, h := range t.hooks() {
		p := place{h.Weight, argument(contents[h.ID])}
		if of[p] == nil {
			places = append(places, p)
		}
		for i, s := range t.settings {
			if slices.ContainsFunc(s.hooks, func(o hookspec.Resolved) bool { return o.ID == h.ID }) {
				of[p] = append(of[p], i)
			}
		}
	}
	var out []string
	for _, p := range places {
		out = append(out, p.argument+t.groups(of[p]))
	}
	return out
}

// groups says on which instance groups some of the target's settings hold: " only=a,b", " except=c", or "" for all.
func (t *target) groups(of []int) string {
	var groups, rest []string
	others := false
	for i, s := range t.settings {
		if slices.Contains(of, i) {
			groups = append(groups, s.groups...)
			others = others || s.others
		} else {
			rest = append(rest, s.groups...)
		}
	}
	word := " only="
	switch {
	case len(of) == len(t.settings):
		return ""
	case others:
		word, groups = " except=", rest
	}
	slices.Sort(groups)
	return word + strings.Join(groups, ",")
}

// argument is what run.sh is told of a hook.
func argument(c *content) string {
	run := generator.OncePerInstance
	if c.hook.EveryBoot {
		run = generator.EveryBoot
	}
	return fmt.Sprintf("name=%s run=%s timeout=%d attempts=%d delay=%d sum=%s%s",
		c.hook.Name, run, int(c.hook.Timeout/time.Second), c.hook.Attempts, int(c.hook.RetryDelay/time.Second), c.sum, c.set)
}
