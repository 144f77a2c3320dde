package cloudinit

import (
	"cmp"
	"fmt"
	"maps"
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
		r.lose(Loss{Kind: LostMerge, What: "all of the cloud-config", Why: "a patch made it " + config.Kind.Noun(), At: At{Part: -1}})
		config = &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	}
	if pair := firstTuple(h.config); pair != nil && !r.Version.has(tuplesCanBeRead) {
		r.lose(Loss{Kind: LostMerge, Name: r.nameOf(pair.Part), What: "all of the cloud-config of all parts", At: r.locate(pair),
			Why: "it holds a pair, of !!pairs or !!omap, which cloud-init writes in a way that it cannot read"})
		gone := map[*pyyaml.Value]bool{}
		reach(h.config, h.joined, gone)
		maps.Copy(r.told, gone)
		config = &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	}
	r.result.Config = config
	effective := &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	if config.Truth() {
		effective = r.layer(effective, config.Copy())
	}
	if r.Base.Truth() {
		r.Base = r.Base.Copy()
		effective = r.layer(effective, r.Base)
	}
	r.result.Effective = effective
	if r.Version.has(configMustBeJSON) {
		if key := notJSON(effective, true); key != nil {
			r.noInit = true
			r.lose(Loss{Kind: LostInit, Path: key.String(), What: "bootcmd, write_files and everything else of the init stage", Name: r.nameOf(key.Part), At: r.locate(key),
				Why: fmt.Sprintf("the key %s is %s, and cloud-init cannot write it as JSON next to keys that are strings", key, key.Kind.Noun())})
		}
	}
}

// firstTuple finds a tuple in a value.
func firstTuple(v *pyyaml.Value) *pyyaml.Value {
	if v == nil || v.Kind == pyyaml.Tuple {
		return v
	}
	for _, item := range v.Items {
		if t := firstTuple(item); t != nil {
			return t
		}
	}
	for _, e := range v.Entries {
		if t := firstTuple(e.Value); t != nil {
			return t
		}
	}
	return nil
}

// notJSON finds a key that Python's json.dumps with sort_keys refuses: one that is no string, number or null, or that
// cannot be compared with the others.
func notJSON(v *pyyaml.Value, top bool) *pyyaml.Value {
	alike := len(v.Entries) < 2 || comparable(v.Entries)
	for _, e := range v.Entries {
		if v.Kind != pyyaml.Dict {
			break
		}
		switch e.Key.Kind {
		case pyyaml.Bytes, pyyaml.Date, pyyaml.DateTime:
			return e.Key
		}
		if !e.Key.IsString() && (top || !alike) {
			return e.Key
		}
		if key := notJSON(e.Value, false); key != nil {
			return key
		}
	}
	for _, item := range v.Items {
		if key := notJSON(item, false); key != nil {
			return key
		}
	}
	return nil
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
		merge.dropped = func(path []string, old, new *pyyaml.Value, kept keptSide) {
			r.layerLoss(path, old, new, layer == r.Base)
		}
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

// layerLoss tells of what the user data takes from the image, and of user data that does not even arrive there.
func (r *reader) layerLoss(path []string, old, new *pyyaml.Value, base bool) {
	switch {
	case !base:
		r.lose(Loss{Kind: LostMerge, What: "all of the cloud-config", At: r.locate(new), Name: r.nameOf(new.Part),
			Why: "merge_type next to merge_how reaches the merge with the image's configuration, and names no merger of dicts"})
	case !pyyaml.Equal(old, new):
		r.lose(Loss{Kind: LostMerge, Path: joinPath(path), What: "the image's own " + joinPath(path), At: At{Part: -1}, By: r.locate(old),
			Why: "the user data has it too, and what it has replaces what the image has: merge_how does not reach that far"})
	}
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
