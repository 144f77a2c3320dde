package cloudinit

import (
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// drop is a value that one merge left out.
type drop struct {
	path     string
	old, new *pyyaml.Value // old is nil where there was none
	kept     keptSide
	text     int  // the text that was being merged
	own      bool // it says itself how to merge
}

func joinPath(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[", "[")
}

// reportDrops tells what of the parts is missing in the merged configuration, and why.
func (r *reader) reportDrops(h *handled) {
	here := map[*pyyaml.Value]bool{}
	reach(h.config, h.joined, here)
	told := map[*pyyaml.Value]bool{}
	r.told = told
	for _, d := range h.drops {
		lost := d.old
		if d.kept == keptOld || d.kept == keptPieces {
			lost = d.new
		}
		if lost == nil || d.old != nil && d.kept != keptNeither && pyyaml.Equal(d.old, d.new) {
			continue
		}
		for _, l := range missing(lost, h.joined, here, told) {
			r.lose(r.dropLoss(d, l))
		}
	}
}

// missingIn is what of one text is missing.
type missingIn struct {
	text  int
	first *pyyaml.Value
	count int
}

// missing groups the scalars below v that are nowhere in the configuration by the text they come from.
func missing(v *pyyaml.Value, joined map[*pyyaml.Value][2]*pyyaml.Value, here, told map[*pyyaml.Value]bool) []missingIn {
	var groups []missingIn
	var look func(v *pyyaml.Value)
	look = func(v *pyyaml.Value) {
		if v == nil || here[v] || told[v] {
			return
		}
		told[v] = true
		if from, ok := joined[v]; ok {
			look(from[0])
			look(from[1])
			return
		}
		if len(v.Items)+len(v.Entries) > 0 {
			for _, item := range v.Items {
				look(item)
			}
			for _, e := range v.Entries {
				if e.Value == nil {
					look(e.Key)
				}
				look(e.Value)
			}
			return
		}
		if v.Kind == pyyaml.Null {
			return
		}
		for i := range groups {
			if groups[i].text == v.Part {
				groups[i].count++
				return
			}
		}
		groups = append(groups, missingIn{v.Part, v, 1})
	}
	look(v)
	return groups
}

// reach notes all values that can be reached from v, and the strings that those in it were joined from.
func reach(v *pyyaml.Value, joined map[*pyyaml.Value][2]*pyyaml.Value, seen map[*pyyaml.Value]bool) {
	if v == nil || seen[v] {
		return
	}
	seen[v] = true
	for _, from := range joined[v] {
		reach(from, joined, seen)
	}
	for _, item := range v.Items {
		reach(item, joined, seen)
	}
	for _, e := range v.Entries {
		reach(e.Key, joined, seen)
		reach(e.Value, joined, seen)
	}
}

func (r *reader) dropLoss(d drop, lost missingIn) Loss {
	l := Loss{Kind: LostMerge, Path: d.path, What: d.path, Name: r.nameOf(lost.text), At: r.locate(lost.first)}
	if d.path == "" {
		l.What = "the part"
	}
	top := d.old
	if d.kept == keptOld || d.kept == keptPieces {
		top = d.new
	}
	if top.IsSequence() {
		n := 0
		for _, item := range top.Items {
			if item.Part == lost.text {
				n++
			}
		}
		l.What = fmt.Sprintf("%s (%s)", l.What, count(n, "item"))
	}
	by := r.nameOf(d.text)
	switch {
	case d.kept == keptOld && d.path == "":
		l.Why = "its merge_how names no merger of dicts"
	case d.kept == keptOld && d.old != nil && d.old.Kind == pyyaml.Null:
		l.Why = fmt.Sprintf("%s has %s without a value, and merging into nothing keeps nothing", r.nameOf(d.old.Part), d.path)
		l.By = r.locate(d.old)
	case d.kept == keptOld && d.old == nil:
		l.Why = "its merge_how merges lists item by item, and the list before it is shorter"
	case d.kept == keptOld:
		l.Why = fmt.Sprintf("%s has it already, and the merge_how of %s keeps what is there", r.nameOf(d.old.Part), by)
		l.By = r.locate(d.old)
	case d.kept == keptPieces:
		l.Why = fmt.Sprintf("it is %s, no list, and a list that %s is added to takes it to pieces", d.new.Kind.Noun(), l.What)
		l.By = r.locate(d.old)
	case d.kept == keptNeither:
		l.Why = fmt.Sprintf("%s deletes it", by)
		l.By = r.locate(d.new)
	case d.own:
		l.Why = fmt.Sprintf("%s has it too, and its merge_how replaces what is there", by)
		l.By = r.locate(d.new)
	default:
		l.Why = fmt.Sprintf("%s has it too and no merge_how, so it replaces what is there", by)
		l.By = r.locate(d.new)
	}
	return l
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// nameOf is the name of the part that a text is.
func (r *reader) nameOf(text int) string {
	if text < 0 || text >= len(r.texts) {
		return ""
	}
	return r.texts[text].m.filename()
}

// shadowed tells of keys that are written twice in one mapping.
func (r *reader) shadowed(name string, v *pyyaml.Value, path []string) {
	for _, e := range v.Shadowed {
		key := joinPath(append(path, e.Key.String()))
		l := Loss{Kind: LostKey, Name: name, Path: key, What: key, Why: "the key is written again further down, and the last one wins", At: r.locate(e.Value)}
		l.By = r.locate(v.Lookup(e.Key))
		r.lose(l)
	}
	for _, e := range v.Entries {
		if e.Value.IsDict() || e.Value.IsSequence() {
			r.shadowed(name, e.Value, append(path, e.Key.String()))
		}
	}
	for i, item := range v.Items {
		if item.IsDict() || item.IsSequence() {
			r.shadowed(name, item, append(path, fmt.Sprintf("[%d]", i)))
		}
	}
}
