package cloudinit

import (
	"fmt"
	"math/big"
	"slices"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// merger merges a part into what is there (cloudinit/mergers). Of several mergers the first that knows the type of what
// is there is asked.
type merger struct {
	handlers []handler
	// dropped is told of each value that a merge leaves out: old or new, and what stands in its place (nil: nothing).
	dropped func(path []string, old, new *pyyaml.Value, kept keptSide)
	path    []string
	// joined notes which two values a string was joined from, unless it is nil.
	joined map[*pyyaml.Value][2]*pyyaml.Value
}

type keptSide int

const (
	keptOld keptSide = iota
	keptNew
	keptNeither
	keptPieces // new is there, but taken to pieces
)

// handler is one of the mergers m_dict, m_list and m_str with its options.
type handler struct {
	kind         string // dict, list or str
	method       string // replace, no_replace, append or prepend
	append       bool
	recurseStr   bool
	recurseList  bool
	recurseDict  bool
	allowsDelete bool
}

// newMerger finds the mergers that are named. An unknown one is an error, which loses the part.
func newMerger(specs []mergerSpec) (*merger, error) {
	m := &merger{}
	for _, s := range specs {
		if !s.name.IsString() {
			return nil, fmt.Errorf("the name of a merger is %s", s.name.Kind.Noun())
		}
		h := handler{kind: trimPrefix(s.name.Str, "m_")}
		if err := h.configure(s); err != nil {
			return nil, err
		}
		m.handlers = append(m.handlers, h)
	}
	return m, nil
}

func trimPrefix(s, prefix string) string {
	if len(s) >= len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return s
}

func (h *handler) configure(s mergerSpec) error {
	var failed error
	has := func(options ...string) bool {
		for _, o := range options {
			ok, err := s.has(o)
			if err != nil {
				failed = err
			}
			if ok {
				return true
			}
		}
		return false
	}
	choose := func(fallback string, methods ...string) {
		h.method = fallback
		for _, m := range methods {
			if has(m) {
				h.method = m
				return
			}
		}
	}
	switch h.kind {
	case "dict":
		choose("no_replace", "replace", "no_replace")
		h.recurseStr = has("recurse_str")
		h.recurseList = has("recurse_array", "recurse_list")
		h.allowsDelete = has("allow_delete")
		h.recurseDict = true
	case "list":
		choose("replace", "append", "prepend", "replace", "no_replace")
		h.recurseStr = has("recurse_str")
		h.recurseDict = has("recurse_dict")
		h.recurseList = has("recurse_array", "recurse_list")
	case "str":
		h.append = has("append")
	default:
		return fmt.Errorf("there is no merger called %q", h.kind)
	}
	return failed
}

// drop tells of a value that is left out.
func (m *merger) drop(old, new *pyyaml.Value, kept keptSide) {
	if m.dropped != nil {
		m.dropped(m.path, old, new, kept)
	}
}

// at runs f with the path one step deeper.
func (m *merger) at(step string, f func() (*pyyaml.Value, error)) (*pyyaml.Value, error) {
	m.path = append(m.path, step)
	v, err := f()
	m.path = m.path[:len(m.path)-1]
	return v, err
}

// merge returns old with new merged into it. Neither is changed.
func (m *merger) merge(old, new *pyyaml.Value) (*pyyaml.Value, error) {
	for _, h := range m.handlers {
		switch {
		case h.kind == "dict" && old.Kind == pyyaml.Dict:
			return m.mergeDict(h, old, new)
		case h.kind == "list" && old.Kind == pyyaml.List:
			return m.mergeList(h, old, new)
		case h.kind == "list" && old.Kind == pyyaml.Tuple:
			v, err := m.mergeList(h, old, new)
			if err != nil {
				return nil, err
			}
			items, err := iterate(v)
			if !v.IsSequence() {
				m.drop(old, v, keptPieces) // a tuple is made of it
			}
			return &pyyaml.Value{Kind: pyyaml.Tuple, Items: items, Pos: v.Pos, Part: v.Part}, err
		case h.kind == "str" && old.Kind == pyyaml.Str:
			return m.mergeStr(h, old, new)
		}
	}
	m.drop(old, new, keptOld)
	return old, nil
}

func (m *merger) mergeStr(h handler, old, new *pyyaml.Value) (*pyyaml.Value, error) {
	if !h.append {
		m.drop(old, new, keptNew)
		return new, nil
	}
	if !new.IsString() {
		return nil, fmt.Errorf("%s cannot be appended to a str", new.Kind.Noun())
	}
	v := *old
	v.Str += new.Str
	if m.joined != nil {
		m.joined[&v] = [2]*pyyaml.Value{old, new}
	}
	return &v, nil
}

// mergeDict is m_dict.Merger._on_dict (cloudinit/mergers/m_dict.py:50).
func (m *merger) mergeDict(h handler, old, new *pyyaml.Value) (*pyyaml.Value, error) {
	if !new.IsDict() {
		m.drop(old, new, keptOld)
		return old, nil
	}
	merged := old.Copy()
	for _, e := range new.Entries {
		if !merged.Has(e.Key) {
			merged.Set(e.Key, e.Value)
			continue
		}
		v, err := m.at(e.Key.String(), func() (*pyyaml.Value, error) {
			there := merged.Lookup(e.Key)
			if e.Value.Kind == pyyaml.Null && h.allowsDelete {
				m.drop(there, e.Value, keptNeither)
				return nil, nil
			}
			return m.mergeInside(h, there, e.Value)
		})
		if err != nil {
			return nil, err
		}
		merged.Set(e.Key, v)
	}
	merged.Entries = slices.DeleteFunc(merged.Entries, func(e pyyaml.Entry) bool { return e.Value == nil })
	return merged, nil
}

// mergeInside merges the values of a key, or of an index, that both sides have.
func (m *merger) mergeInside(h handler, old, new *pyyaml.Value) (*pyyaml.Value, error) {
	recurse := h.recurseList && new.IsSequence() || h.recurseStr && new.IsString() || h.recurseDict && new.IsDict()
	switch {
	case h.kind == "dict" && h.method == "replace", h.kind == "list" && !recurse:
		m.drop(old, new, keptNew)
		return new, nil
	case recurse:
		return m.merge(old, new)
	}
	m.drop(old, new, keptOld)
	return old, nil
}

// mergeList is m_list.Merger._on_list (cloudinit/mergers/m_list.py:52). The methods replace and no_replace merge index by
// index and keep the length of what is there.
func (m *merger) mergeList(h handler, old, new *pyyaml.Value) (*pyyaml.Value, error) {
	if h.method == "replace" && !new.IsSequence() {
		m.drop(old, new, keptNew)
		return new, nil
	}
	if h.method == "no_replace" {
		if _, err := pyLen(new); err != nil {
			return nil, err
		}
		m.drop(old, new, keptOld)
	} else if !new.IsSequence() {
		m.drop(old, new, keptPieces)
	}
	merged := old.Copy()
	merged.Kind = pyyaml.List
	if h.method == "append" || h.method == "prepend" {
		added, err := iterate(new)
		if err != nil {
			return nil, err
		}
		if h.method == "append" {
			merged.Items = append(merged.Items, added...)
		} else {
			merged.Items = append(append([]*pyyaml.Value(nil), added...), old.Items...)
		}
		return merged, nil
	}
	length, err := pyLen(new)
	if err != nil {
		return nil, err
	}
	for i := range merged.Items {
		if i >= length {
			break
		}
		item, err := index(new, i)
		if err != nil {
			return nil, err
		}
		merged.Items[i], err = m.at(fmt.Sprintf("[%d]", i), func() (*pyyaml.Value, error) {
			if h.method == "no_replace" {
				return merged.Items[i], nil
			}
			return m.mergeInside(h, merged.Items[i], item)
		})
		if err != nil {
			return nil, err
		}
	}
	for i := len(merged.Items); i < len(new.Items) && h.method == "replace"; i++ {
		m.at(fmt.Sprintf("[%d]", i), func() (*pyyaml.Value, error) {
			m.drop(nil, new.Items[i], keptOld)
			return nil, nil
		})
	}
	return merged, nil
}

// pyLen is Python's len(v).
func pyLen(v *pyyaml.Value) (int, error) {
	if v.Kind == pyyaml.Set || v.Kind == pyyaml.Dict {
		return len(v.Entries), nil
	}
	items, err := iterate(v)
	return len(items), err
}

// index is Python's v[i].
func index(v *pyyaml.Value, i int) (*pyyaml.Value, error) {
	switch v.Kind {
	case pyyaml.Dict:
		if item := v.Lookup(integer(int64(i), v)); item != nil {
			return item, nil
		}
		return nil, fmt.Errorf("there is no key %d", i)
	case pyyaml.Set:
		return nil, fmt.Errorf("a set has no index")
	}
	items, err := iterate(v)
	if err != nil {
		return nil, err
	}
	return items[i], nil
}

func integer(n int64, at *pyyaml.Value) *pyyaml.Value {
	return &pyyaml.Value{Kind: pyyaml.Int, Int: big.NewInt(n), Pos: at.Pos, Part: at.Part}
}
