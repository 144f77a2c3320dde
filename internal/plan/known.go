package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/sourcemap"
)

// known are Briefs of groups that others may share. The zero value knows nothing.
type known struct {
	briefs map[string]Brief
	files  map[*Manifest]marks
}

// marks are the lines of a manifest at which groups begin, and those with comments that switch rules off, both in order.
type marks struct{ groups, comments []int }

func (k *known) add(key string, b Brief) {
	if k.briefs == nil {
		k.briefs = map[string]Brief{}
	}
	k.briefs[key] = b
}

// key is the same for groups of which there is the same to say, but for Over. It is empty where a Brief is for one group alone: a
// group with parts of the user's own, that stays as it is, or with comments that switch rules off.
func (k *known) key(g *Group, text *sourcemap.Text) string {
	if len(g.Own()) > 0 || g.Stays() || k.commented(g, text) {
		return ""
	}
	// All of the manifest is in the key, but for what no rule goes by and groups that are else alike differ in: so a rule that
	// comes to look at one field more needs nothing here.
	spec := g.Object.Spec
	spec.AdditionalUserData = nil // the parts are those of the hooks
	spec.MinSize, spec.MaxSize, spec.MachineType, spec.Subnets, spec.Zones = nil, nil, "", nil, nil
	spec.NodeLabels, spec.CloudLabels, spec.Taints = nil, nil, nil
	fields, err := json.Marshal(spec)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %p %s", g.sizeKey(g.sizeInput()), g.ClusterObject, fields)
}

// commented says whether a comment that switches rules off stands among the lines of the group, or on the one before.
func (k *known) commented(g *Group, text *sourcemap.Text) bool {
	m, ok := k.files[g.Manifest]
	if !ok {
		m.comments = lint.Comments(text)
		for _, other := range g.Manifest.Groups() {
			m.groups = append(m.groups, other.Line)
		}
		slices.Sort(m.groups)
		if k.files == nil {
			k.files = map[*Manifest]marks{}
		}
		k.files[g.Manifest] = m
	}
	i, _ := slices.BinarySearch(m.comments, g.Line-1)
	next, _ := slices.BinarySearch(m.groups, g.Line+1)
	return i < len(m.comments) && (next == len(m.groups) || m.comments[i] < m.groups[next])
}
