package cloudinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// patchJSON applies a JSON patch (RFC 6902) to a configuration, as Python's jsonpatch does. An error loses the part.
func patchJSON(config *pyyaml.Value, text string) (*pyyaml.Value, error) {
	d := json.NewDecoder(strings.NewReader(pythonNumbers(text)))
	d.UseNumber()
	patch, err := decodeJSON(d)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("it is no JSON: something follows it")
	}
	ops, err := iterate(patch)
	if err != nil {
		return nil, errors.New("it is no list of operations")
	}
	config = deepCopy(config)
	for _, op := range ops {
		if !op.IsDict() || !op.Get("op").IsString() || !op.Get("path").IsString() {
			return nil, errors.New("an operation lacks op or path")
		}
	}
	for _, op := range ops {
		if config, err = applyOp(config, op); err != nil {
			return nil, err
		}
	}
	return config, nil
}

// writtenNaN stands for NaN, which Go has no literal for.
const writtenNaN = "-0e-9999"

// pythonNumbers writes the numbers that only Python's json reads, NaN, Infinity and -Infinity, as literals that Go's reads.
func pythonNumbers(text string) string {
	var b strings.Builder
	for inString := false; text != ""; {
		length, literal := 1, ""
		switch {
		case text[0] == '"':
			inString = !inString
		case inString && text[0] == '\\' && len(text) > 1:
			length = 2
		case inString:
		case strings.HasPrefix(text, "NaN"):
			length, literal = len("NaN"), writtenNaN
		case strings.HasPrefix(text, "Infinity"):
			length, literal = len("Infinity"), "1e9999"
		}
		if literal == "" {
			literal = text[:length]
		}
		b.WriteString(literal)
		text = text[length:]
	}
	return b.String()
}

// decodeJSON reads a value; a key that is there twice gets a list of its values, as jsonpatch has it.
func decodeJSON(d *json.Decoder) (*pyyaml.Value, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	v := &pyyaml.Value{Part: -1}
	switch t := t.(type) {
	case string:
		v.Kind, v.Str = pyyaml.Str, t
	case bool:
		v.Kind, v.Bool = pyyaml.Bool, t
	case json.Number:
		var ok bool
		if v.Int, ok = new(big.Int).SetString(t.String(), 10); ok {
			v.Kind = pyyaml.Int
			break
		}
		v.Kind = pyyaml.Float
		if v.Float, _ = strconv.ParseFloat(t.String(), 64); t.String() == writtenNaN {
			v.Float = math.NaN()
		}
	case json.Delim:
		if t == '[' {
			v.Kind = pyyaml.List
			for d.More() {
				item, err := decodeJSON(d)
				if err != nil {
					return nil, err
				}
				v.Items = append(v.Items, item)
			}
		} else if err := decodeObject(d, v); err != nil {
			return nil, err
		}
		_, err = d.Token()
	}
	return v, err
}

func decodeObject(d *json.Decoder, v *pyyaml.Value) error {
	v.Kind = pyyaml.Dict
	times := map[string]int{}
	for d.More() {
		key, err := decodeJSON(d)
		if err != nil {
			return err
		}
		value, err := decodeJSON(d)
		if err != nil {
			return err
		}
		switch times[key.Str]++; times[key.Str] {
		case 1:
			v.Set(key, value)
		case 2:
			v.Set(key, &pyyaml.Value{Kind: pyyaml.List, Items: []*pyyaml.Value{v.Get(key.Str), value}, Part: -1})
		default:
			list := v.Get(key.Str)
			list.Items = append(list.Items, value)
		}
	}
	return nil
}

// deepCopy copies lists and mappings; scalars are shared. What is in two places, by an alias, is one thing in the copy too.
func deepCopy(v *pyyaml.Value) *pyyaml.Value { return copyInto(map[*pyyaml.Value]*pyyaml.Value{}, v) }

func copyInto(done map[*pyyaml.Value]*pyyaml.Value, v *pyyaml.Value) *pyyaml.Value {
	if v == nil || len(v.Items)+len(v.Entries) == 0 && v.Kind != pyyaml.List && v.Kind != pyyaml.Dict {
		return v
	}
	if c, ok := done[v]; ok {
		return c
	}
	c := v.Copy()
	done[v] = c
	for i := range c.Items {
		c.Items[i] = copyInto(done, c.Items[i])
	}
	for i := range c.Entries {
		c.Entries[i].Value = copyInto(done, c.Entries[i].Value)
	}
	return c
}

func applyOp(doc, op *pyyaml.Value) (*pyyaml.Value, error) {
	path, err := pointer(op.Get("path").Str)
	if err != nil {
		return nil, err
	}
	value := op.Get("value")
	switch kind := op.Get("op").Str; kind {
	case "add", "replace", "test":
		if value == nil {
			return nil, fmt.Errorf("the operation %s lacks a value", kind)
		}
		switch kind {
		case "add":
			return add(doc, path, value)
		case "replace":
			return replace(doc, path, value)
		}
		found, err := find(doc, path)
		if err == nil && !pyyaml.Equal(found, value) {
			err = errors.New("the operation test fails")
		}
		return doc, err
	case "remove":
		return remove(doc, path)
	case "move", "copy":
		if !op.Get("from").IsString() {
			return nil, fmt.Errorf("the operation %s lacks from", kind)
		}
		from, err := pointer(op.Get("from").Str)
		if err != nil {
			return nil, err
		}
		if len(from) == 0 {
			return nil, fmt.Errorf("the whole document cannot be taken by %s", kind)
		}
		found, err := find(doc, from)
		if err != nil {
			return nil, err
		}
		if kind == "copy" {
			return add(doc, path, deepCopy(found))
		}
		if slices.Equal(path, from) {
			return doc, nil
		}
		parent, _ := find(doc, from[:len(from)-1])
		if parent.IsDict() && len(path) > len(from) && slices.Equal(path[:len(from)], from) {
			return nil, errors.New("the operation move goes into itself")
		}
		if doc, err = remove(doc, from); err != nil {
			return nil, err
		}
		return add(doc, path, found)
	default:
		return nil, fmt.Errorf("there is no operation %q", kind)
	}
}

// pointer splits a JSON pointer.
func pointer(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(s, "/")
	if parts[0] != "" {
		return nil, fmt.Errorf("the path %q does not begin with a slash", s)
	}
	for i, p := range parts {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(p), "~") {
			return nil, fmt.Errorf("the path %q has a ~ that is neither ~0 nor ~1", s)
		}
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts[1:], nil
}

// listIndex reads an index as jsonpointer does, which takes any number of zeros in front (JsonPointer._RE_ARRAY_INDEX).
func listIndex(part string) (int, error) {
	digits := strings.TrimSuffix(part, "\n")
	n, ok := pyyaml.PythonInt(part, 10)
	if !ok || part[0] != '0' && strings.Trim(digits, "0123456789") != "" || !n.IsInt64() {
		return 0, fmt.Errorf("%q is no index of a list", part)
	}
	return int(n.Int64()), nil
}

func find(doc *pyyaml.Value, path []string) (*pyyaml.Value, error) {
	for _, part := range path {
		switch {
		case doc.IsDict():
			v := doc.Get(part)
			if v == nil {
				return nil, fmt.Errorf("there is no key %q", part)
			}
			doc = v
		case doc.IsSequence(), doc.IsString(), doc.Kind == pyyaml.Bytes:
			i, err := listIndex(part)
			if err != nil {
				return nil, err
			}
			items, _ := iterate(doc)
			if i >= len(items) {
				return nil, fmt.Errorf("there is no item %d", i)
			}
			doc = items[i]
		default:
			return nil, fmt.Errorf("%s has nothing at %q", doc.Kind.Noun(), part)
		}
	}
	return doc, nil
}

func last(doc *pyyaml.Value, path []string) (*pyyaml.Value, string, error) {
	parent, err := find(doc, path[:len(path)-1])
	if err == nil && !parent.IsDict() && parent.Kind != pyyaml.List {
		err = fmt.Errorf("%s has nothing below it", parent.Kind.Noun())
	}
	return parent, path[len(path)-1], err
}

func add(doc *pyyaml.Value, path []string, value *pyyaml.Value) (*pyyaml.Value, error) {
	if len(path) == 0 {
		if !doc.IsDict() {
			return nil, fmt.Errorf("%s cannot be replaced by add", doc.Kind.Noun())
		}
		return value, nil
	}
	parent, part, err := last(doc, path)
	switch {
	case err != nil:
		return nil, err
	case parent.IsDict():
		parent.Set(str(part), value)
		return doc, nil
	case part == "-":
		parent.Items = append(parent.Items, value)
		return doc, nil
	}
	i, err := listIndex(part)
	if err == nil && i > len(parent.Items) {
		err = fmt.Errorf("there is no item %d", i)
	}
	if err != nil {
		return nil, err
	}
	parent.Items = append(parent.Items[:i:i], append([]*pyyaml.Value{value}, parent.Items[i:]...)...)
	return doc, nil
}

func replace(doc *pyyaml.Value, path []string, value *pyyaml.Value) (*pyyaml.Value, error) {
	if len(path) == 0 {
		return value, nil
	}
	if _, err := find(doc, path); err != nil {
		return nil, err
	}
	parent, part, err := last(doc, path)
	if err != nil {
		return nil, err
	}
	if parent.IsDict() {
		parent.Set(str(part), value)
		return doc, nil
	}
	i, _ := listIndex(part)
	parent.Items[i] = value
	return doc, nil
}

func remove(doc *pyyaml.Value, path []string) (*pyyaml.Value, error) {
	if len(path) == 0 {
		return nil, errors.New("the whole document cannot be removed")
	}
	if _, err := find(doc, path); err != nil {
		return nil, err
	}
	parent, part, err := last(doc, path)
	if err != nil {
		return nil, err
	}
	if parent.IsDict() {
		parent.Delete(str(part))
		return doc, nil
	}
	i, _ := listIndex(part)
	parent.Items = append(parent.Items[:i:i], parent.Items[i+1:]...)
	return doc, nil
}
