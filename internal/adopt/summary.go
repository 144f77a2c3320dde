package adopt

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
)

// Hook is a hook of a group, for reports.
type Hook struct {
	Name    string         `json:"name"`
	Phase   hookspec.Phase `json:"phase"`
	Enabled bool           `json:"enabled"`
}

// HooksOf returns the hooks that are made of a part, perhaps together with others.
func (a *Adopted) HooksOf(part int) []Hook {
	var hooks []Hook
	for _, h := range a.hooks {
		if slices.Contains(h.parts, part) {
			hooks = append(hooks, Hook{h.name, h.phase, !h.disabled})
		}
	}
	return hooks
}

// Hooks returns all hooks of the group.
func (a *Adopted) Hooks() []Hook {
	var hooks []Hook
	for _, h := range a.hooks {
		hooks = append(hooks, Hook{h.name, h.phase, !h.disabled})
	}
	return hooks
}

// Same says what a proof found to be the same: "2 scripts in their order, 1 file".
func (p *Proof) Same() string {
	var same []string
	for _, n := range []struct {
		count     int
		one, more string
	}{{p.Runs, "script", "scripts in their order"}, {p.Files, "file", "files"}, {p.Keys, "key of cloud-config", "keys of cloud-config"}} {
		switch {
		case n.count == 1:
			same = append(same, "1 "+n.one)
		case n.count > 1:
			same = append(same, fmt.Sprintf("%d %s", n.count, n.more))
		}
	}
	if len(same) == 0 {
		return "nothing"
	}
	return strings.Join(same, ", ")
}
