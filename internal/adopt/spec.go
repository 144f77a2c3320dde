package adopt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
)

// Specs writes the specs of groups: hooks that are the same in several groups stand in one spec that selects them all.
// The hooks of the groups get the names and weights that they have there. It returns nil when there are no hooks.
func Specs(groups []*Adopted) []byte {
	shared, ok := share(groups, false)
	if !ok {
		shared, _ = share(groups, true)
	}
	docs := documents(groups, shared)
	var out bytes.Buffer
	for i, d := range docs {
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(d.render())
	}
	return out.Bytes()
}

// sharedHook is a hook of one or more groups.
type sharedHook struct {
	*hook
	groups []int
}

// share finds the hooks that are the same, and gives them an order that is that of each group. Where groups order the
// same hooks differently there is none, and ok is false, unless hooks are kept apart by group.
func share(groups []*Adopted, apart bool) (shared []*sharedHook, ok bool) {
	byKey := map[string]*sharedHook{}
	sequences := make([][]*sharedHook, len(groups))
	for g, a := range groups {
		times := map[string]int{}
		for _, h := range a.hooks {
			key := h.key()
			times[key]++
			key = fmt.Sprintf("%d %s", times[key], key)
			if apart {
				key = fmt.Sprintf("%d %s", g, key)
			}
			s := byKey[key]
			if s == nil {
				c := *h
				s = &sharedHook{hook: &c}
				byKey[key] = s
			}
			s.groups = append(s.groups, g)
			sequences[g] = append(sequences[g], s)
		}
	}
	shared, ok = inOrder(sequences)
	if !ok {
		return nil, false
	}
	weigh(shared)
	name(groups, shared)
	for g, a := range groups {
		for i, s := range sequences[g] {
			a.hooks[i].name, a.hooks[i].weight = s.name, s.weight
		}
	}
	return shared, true
}

// key is what two hooks that are the same have in common.
func (h *hook) key() string {
	c := *h
	c.name, c.weight = h.want, 0
	var b strings.Builder
	c.write(&b)
	return b.String()
}

// inOrder merges sequences into one that has the order of each; ok is false when there is none.
func inOrder(sequences [][]*sharedHook) (merged []*sharedHook, ok bool) {
	rest := slices.Clone(sequences)
	first := func(s *sharedHook) bool { // nothing has to come before it
		return !slices.ContainsFunc(rest, func(q []*sharedHook) bool { return slices.Index(q, s) > 0 })
	}
	for {
		var next *sharedHook
		left := false
		for _, q := range rest {
			if len(q) == 0 {
				continue
			}
			left = true
			if first(q[0]) {
				next = q[0]
				break
			}
		}
		switch {
		case !left:
			return merged, true
		case next == nil:
			return nil, false
		}
		merged = append(merged, next)
		for i, q := range rest {
			if len(q) > 0 && q[0] == next {
				rest[i] = q[1:]
			}
		}
	}
}

// weigh gives the hooks of each phase weights in their order, with room between them. They are below 0: hooks that say
// none, and those of other specs, run behind them, as they do behind parts of the user's.
func weigh(hooks []*sharedHook) {
	const lightest, step = -400, 10
	for _, phase := range hookspec.Phases {
		var same []*sharedHook
		for _, h := range hooks {
			if h.phase == phase && !h.disabled {
				same = append(same, h)
			}
		}
		for i, h := range same {
			h.weight = (i - len(same)) * step
			if len(same)*step > -lightest {
				h.weight = min(lightest+i, 499)
			}
		}
	}
}

// name gives the hooks names that are unique in each group.
func name(groups []*Adopted, hooks []*sharedHook) {
	taken := make([][]string, len(groups))
	for g, a := range groups {
		taken[g] = slices.Clone(a.Reserved)
	}
	for _, h := range hooks {
		var all []string
		for _, g := range h.groups {
			all = append(all, taken[g]...)
		}
		h.name = free(h.want, all)
		for _, g := range h.groups {
			taken[g] = append(taken[g], h.name)
		}
	}
}

// documents puts hooks of the same groups into one spec.
func documents(groups []*Adopted, hooks []*sharedHook) []*document {
	type set struct {
		groups []int
		hooks  []*hook
	}
	var sets []*set
	for _, h := range hooks {
		i := slices.IndexFunc(sets, func(s *set) bool { return slices.Equal(s.groups, h.groups) })
		if i < 0 {
			i = len(sets)
			sets = append(sets, &set{groups: h.groups})
		}
		sets[i].hooks = append(sets[i].hooks, h.hook)
	}
	var docs []*document
	for _, s := range sets {
		docs = append(docs, byCluster(groups, s.groups, s.hooks)...)
	}
	for i, d := range docs {
		switch {
		case len(docs) == 1:
			d.name = "adopted"
		case len(d.names) == 1 && len(d.clusters) <= 1 && label(d.names[0]) == d.names[0]:
			d.name = free("adopted-"+d.names[0], docNames(docs[:i]))
		default:
			d.name = free("adopted", docNames(docs[:i]))
		}
		d.header = header(d, docs, i == 0)
		slices.SortStableFunc(d.hooks, func(a, b *hook) int {
			return slices.Index(hookspec.Phases, a.phase) - slices.Index(hookspec.Phases, b.phase)
		})
	}
	return docs
}

func docNames(docs []*document) []string {
	var names []string
	for _, d := range docs {
		names = append(names, d.name)
	}
	return names
}

// byCluster makes a spec that selects exactly these groups, or several where one selector would select others, too: the
// groups of one name in several clusters may differ.
func byCluster(groups []*Adopted, chosen []int, hooks []*hook) []*document {
	var clusters []string
	names := map[string][]string{}
	for _, g := range chosen {
		c := groups[g].Cluster
		if !slices.Contains(clusters, c) {
			clusters = append(clusters, c)
		}
		names[c] = append(names[c], groups[g].Name)
	}
	for _, c := range clusters {
		slices.Sort(names[c])
	}
	var docs []*document
	for _, c := range clusters {
		i := slices.IndexFunc(docs, func(d *document) bool { return c != "" && len(d.clusters) > 0 && slices.Equal(d.names, names[c]) })
		if i < 0 {
			i = len(docs)
			docs = append(docs, &document{names: names[c], hooks: slices.Clone(hooks)})
		}
		if c != "" {
			docs[i].clusters = append(docs[i].clusters, c)
		}
	}
	return docs
}

// header explains a spec; that of the first one explains what all have in common.
func header(d *document, all []*document, first bool) []string {
	what := "instance group " + d.names[0]
	if len(d.names) > 1 {
		what = "instance groups " + strings.Join(d.names[:len(d.names)-1], ", ") + " and " + d.names[len(d.names)-1]
	}
	lines := []string{"Adopted by kopshook from the user data of " + what + "."}
	if !first {
		return lines
	}
	has := func(f func(*hook) bool) bool {
		return slices.ContainsFunc(all, func(d *document) bool { return slices.ContainsFunc(d.hooks, f) })
	}
	if has(func(h *hook) bool { return h.phase == hookspec.PreNodeup && h.script != "" && !h.disabled && !h.block }) {
		lines = append(lines, "", "Scripts behave as before: each is tried once, may take 24 hours, and the node joins even if it fails. "+
			"To keep a node out when a script fails, remove its onFailure, attempts and timeout: then it is tried up to three times, "+
			"for 20 minutes at most each, and the kubelet starts only after it has succeeded.")
	}
	if has(func(h *hook) bool { return h.disabled }) {
		lines = append(lines, "", "Hooks with enabled: false are what no node does today. The comment of each says why.")
	}
	return lines
}
