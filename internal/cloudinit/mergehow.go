package cloudinit

import (
	"errors"
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// mergerSpec is a merger as merge_how names it. Options are strings, or in the list form anything at all; has finds one.
type mergerSpec struct {
	name    *pyyaml.Value
	options *pyyaml.Value // a list, or a string, in which an option is found as a substring
}

// has is Python's "option in options".
func (s mergerSpec) has(option string) (bool, error) {
	o := s.options
	want := &pyyaml.Value{Kind: pyyaml.Str, Str: option}
	switch {
	case o.IsString():
		return strings.Contains(o.Str, option), nil
	case o.IsSequence():
		for _, item := range o.Items {
			if pyyaml.Equal(item, want) {
				return true, nil
			}
		}
		return false, nil
	case o.Kind == pyyaml.Dict, o.Kind == pyyaml.Set:
		return o.Has(want), nil
	}
	return false, fmt.Errorf("the settings of a merger are %s", o.Kind.Noun())
}

// defaultMergers is how a part without merge_how is merged into those before it
// (cloudinit/handlers/cloud_config.py:39): each of its keys replaces the key of that name.
const defaultMergers = "dict(replace)+list()+str()"

// baseMergers is how the configuration of an image and that of the user data come together, and the configurations of
// cloud.cfg.d (cloudinit/mergers/__init__.py:15).
const baseMergers = "list()+dict()+str()"

// takeMergers takes merge_how, or else merge_type, out of a part and returns the mergers it names
// (cloudinit/mergers/__init__.py:76, dict_extract_mergers).
func takeMergers(config *pyyaml.Value) ([]mergerSpec, error) {
	raw := pop(config, "merge_how")
	if raw == nil {
		raw = pop(config, "merge_type")
	}
	if raw == nil {
		return nil, nil
	}
	if raw.IsString() {
		return parseMergers(raw.Str)
	}
	items, err := iterate(raw)
	if err != nil {
		return nil, fmt.Errorf("merge_how is %s", raw.Kind.Noun())
	}
	var specs []mergerSpec
	for _, item := range items {
		spec, err := listedMerger(item)
		if err != nil {
			return nil, err
		}
		if spec.name.Truth() {
			specs = append(specs, spec)
		}
	}
	return specs, nil
}

// pop removes a key and returns its value, nil for null too.
func pop(config *pyyaml.Value, key string) *pyyaml.Value {
	v := config.Get(key)
	config.Delete(str(key))
	if v != nil && v.Kind == pyyaml.Null {
		return nil
	}
	return v
}

func str(s string) *pyyaml.Value { return &pyyaml.Value{Kind: pyyaml.Str, Str: s} }

// listedMerger reads one item of merge_how as a list: {name: dict, settings: [replace]} or [dict, replace].
func listedMerger(item *pyyaml.Value) (mergerSpec, error) {
	if item.IsDict() {
		name, settings := item.Get("name"), item.Get("settings")
		if !name.IsString() || settings == nil {
			return mergerSpec{}, errors.New("an item of merge_how lacks name or settings")
		}
		return mergerSpec{str(pyyaml.Strip(strings.ReplaceAll(name.Str, "-", "_"))), settings}, nil
	}
	switch {
	case item.IsString() && item.Str != "":
		first := []rune(item.Str)[:1]
		return mergerSpec{str(string(first)), str(item.Str[len(string(first)):])}, nil
	case item.IsSequence() && len(item.Items) > 0:
		return mergerSpec{item.Items[0], &pyyaml.Value{Kind: pyyaml.List, Items: item.Items[1:]}}, nil
	}
	return mergerSpec{}, fmt.Errorf("an item of merge_how is %s", item.Kind.Noun())
}

// parseMergers reads "list(append)+dict(recurse_list)" (cloudinit/mergers/__init__.py:101).
func parseMergers(s string) ([]mergerSpec, error) {
	var specs []mergerSpec
	for _, m := range strings.Split(s, "+") {
		m = strings.ReplaceAll(pyyaml.Strip(pyLower(m)), "-", "_")
		if m == "" {
			continue
		}
		name, options, ok := strings.Cut(m, "(")
		if !ok || !isName(name) || !strings.HasSuffix(options, ")") || strings.Contains(options, "\n") {
			return nil, fmt.Errorf("%q is no merger: it must look like list(append)", m)
		}
		list := &pyyaml.Value{Kind: pyyaml.List}
		for _, o := range strings.Split(pyyaml.Strip(options[:len(options)-1]), ",") {
			if o = pyyaml.Strip(o); o != "" {
				list.Items = append(list.Items, str(o))
			}
		}
		specs = append(specs, mergerSpec{str(name), list})
	}
	return specs, nil
}

func isName(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) < 0
}

// iterate is Python's iter(v).
func iterate(v *pyyaml.Value) ([]*pyyaml.Value, error) {
	var items []*pyyaml.Value
	switch v.Kind {
	case pyyaml.List, pyyaml.Tuple:
		return v.Items, nil
	case pyyaml.Dict, pyyaml.Set:
		for _, e := range v.Entries {
			items = append(items, e.Key)
		}
	case pyyaml.Str:
		for _, c := range v.Str {
			item := *v
			item.Str = string(c)
			items = append(items, &item)
		}
	case pyyaml.Bytes:
		for i := range len(v.Str) {
			items = append(items, integer(int64(v.Str[i]), v))
		}
	default:
		return nil, fmt.Errorf("%s is no list", v.Kind.Noun())
	}
	return items, nil
}
