package cloudinit

import (
	"cmp"
	"slices"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// finish writes the merged configuration and reads it again, as cloud-init does, and merges it with the image's own
// (cloudinit/handlers/cloud_config.py:62, cloudinit/helpers.py:263).
func (r *reader) finish(h *handled) {
	r.scripts = h.scripts
	if h.config == nil {
		h.config = &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	}
	r.reportDrops(h)
	config := rewrite(h.config, map[*pyyaml.Value]*pyyaml.Value{})
	if !config.IsDict() {
		r.lose(Loss{Kind: LostMerge, What: "all of the cloud-config", Why: "a patch made it a " + config.Kind.String(), At: At{Part: -1}})
		config = &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	}
	r.result.Config = config
	effective := &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	for _, layer := range []*pyyaml.Value{config, r.Base} {
		if !layer.Truth() {
			continue
		}
		effective = r.layer(effective, layer.Copy())
	}
	r.result.Effective = effective
}

// layer merges a configuration below those before it. One that still has a merge_type, since it had merge_how as well, says
// how.
func (r *reader) layer(effective, layer *pyyaml.Value) *pyyaml.Value {
	specs, err := takeMergers(layer)
	if len(specs) == 0 && err == nil {
		specs, err = parseMergers(baseMergers)
	}
	var merge *merger
	if err == nil {
		merge, err = newMerger(specs)
	}
	var merged *pyyaml.Value
	if err == nil {
		merged, err = merge.merge(effective, layer)
	}
	if err != nil {
		r.fatal(nil, "merge_type next to merge_how reaches the merge with the image's configuration, which fails: %v", err)
	}
	if !merged.IsDict() {
		return &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	}
	return merged
}

// rewrite is what a value becomes when PyYAML writes it and reads it again: keys are sorted, if they can be compared, and
// tuples are lists.
func rewrite(v *pyyaml.Value, done map[*pyyaml.Value]*pyyaml.Value) *pyyaml.Value {
	if v == nil {
		return nil
	}
	if w, ok := done[v]; ok {
		return w
	}
	w := v.Copy()
	done[v] = w
	if w.Kind == pyyaml.Tuple {
		w.Kind = pyyaml.List
	}
	for i := range w.Items {
		w.Items[i] = rewrite(w.Items[i], done)
	}
	for i, e := range w.Entries {
		w.Entries[i].Value = rewrite(e.Value, done)
	}
	if comparable(w.Entries) {
		slices.SortStableFunc(w.Entries, func(a, b pyyaml.Entry) int { return compareKeys(a.Key, b.Key) })
	}
	return w
}

// comparable says whether Python can compare all keys with each other.
func comparable(entries []pyyaml.Entry) bool {
	class := func(v *pyyaml.Value) int {
		switch v.Kind {
		case pyyaml.Bool, pyyaml.Int, pyyaml.Float:
			return -1
		case pyyaml.DateTime:
			if v.Time.HasZone {
				return -2
			}
		case pyyaml.Null:
			return -3
		}
		return int(v.Kind)
	}
	for _, e := range entries {
		if class(e.Key) != class(entries[0].Key) || class(e.Key) == -3 {
			return false
		}
	}
	return true
}

func compareKeys(a, b *pyyaml.Value) int {
	switch a.Kind {
	case pyyaml.Str, pyyaml.Bytes:
		return cmp.Compare(a.Str, b.Str)
	case pyyaml.Date, pyyaml.DateTime:
		return a.Time.Compare(b.Time)
	}
	return pyyaml.CompareNumbers(a, b)
}
