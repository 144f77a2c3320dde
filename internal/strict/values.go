package strict

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// wrongType reports a value of another type than want ("a string").
func (r *Reader) wrongType(v Value, want, remedy string) {
	if v.node.ShortTag() == "!!null" {
		if remedy = "give it a value, or remove it"; v.field != nil && v.field.Absent != "" {
			remedy = v.field.Absent
		}
		r.Errorf(v.path, remedy, "`%s` has no value", v.label)
		return
	}
	r.Errorf(v.path, remedy, "`%s` must be %s, not %s", v.label, want, Describe(v.node))
}

// describe says what a node is: "the number 5".
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	text := Shorten(n.Value)
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "the number " + text
	case "!!bool":
		return "the boolean " + text
	case "!!timestamp":
		return "the date " + text
	case "!!binary":
		return "binary data"
	}
	return "the string " + strconv.Quote(text)
}

// quoteKey is a key as people wrote it, if it is a plain word.
func QuoteKey(key string) string {
	if Join("", key) == key {
		return "`" + Shorten(key) + "`"
	}
	return strconv.Quote(Shorten(key))
}

// shorten cuts what people wrote to what fits into a message.
func Shorten(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}

// fields yields the known fields of an object, in the order of the document, and reports the others and those that
// are missing.
func (r *Reader) Fields(v Value, o *Object) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.node.Kind != yaml.MappingNode {
			r.wrongType(v, "a mapping", "")
			return
		}
		r.OptionalFields(v, o)(yield)
		for _, f := range o.Fields {
			if f.Required && !r.Given(Join(v.path, f.Name)) && !r.misspelled(v, o, f.Name) {
				r.KeyErrorf(v.path, missingRemedy(&f), "`%s` is missing", f.Name)
			}
		}
	}
}

// optionalFields is fields, but nothing is required.
func (r *Reader) OptionalFields(v Value, o *Object) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.node.Kind != yaml.MappingNode {
			r.wrongType(v, "a mapping", "")
			return
		}
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			name := v.node.Content[i].Value
			path := Join(v.path, name)
			f := o.Field(name)
			if f == nil {
				r.KeyErrorf(path, r.meant(name, o), "unknown field %s", QuoteKey(name))
				continue
			}
			if !yield(name, Value{v.node.Content[i+1], path, name, f}) {
				return
			}
		}
	}
}

// misspelled says whether an unknown key of the mapping was most likely meant to be the field called name.
func (r *Reader) misspelled(v Value, o *Object, name string) bool {
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		if key := v.node.Content[i].Value; o.Field(key) == nil && nearField(key, o) == name {
			return true
		}
	}
	return false
}

// nearField returns the field that a name most likely means, or "".
func nearField(name string, o *Object) string {
	if near := report.Nearest(name, o.names()); near != "" {
		return near
	}
	for _, f := range o.Fields {
		if slices.ContainsFunc(f.Also, func(also string) bool { return strings.EqualFold(also, name) }) {
			return f.Name
		}
	}
	return ""
}

// meant is the remedy for an unknown field.
func (r *Reader) meant(name string, o *Object) string {
	if near := nearField(name, o); near != "" {
		return fmt.Sprintf("did you mean `%s`?", near)
	}
	for _, other := range r.objects {
		if other != o && other.Field(name) != nil {
			return fmt.Sprintf("`%s` is a field of %s", name, article(other.Name))
		}
	}
	return fmt.Sprintf("the fields of %s are %s", article(o.Name), Enumerate(o.names(), "and"))
}

func article(object string) string {
	switch object {
	case "metadata", "spec":
		return "`" + object + "`"
	}
	if strings.ContainsRune("aeiou", rune(object[0])) {
		return "an " + object
	}
	return "a " + object
}

func missingRemedy(f *Field) string {
	switch {
	case f.Absent != "":
		return f.Absent
	case len(f.Enum) == 1:
		return fmt.Sprintf("write `%s: %s`", f.Name, f.Enum[0])
	}
	return ""
}

// items yields the items of a list.
func (r *Reader) Items(v Value) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.node.Kind != yaml.SequenceNode {
			r.wrongType(v, "a list", "begin each item with `- `")
			return
		}
		for i, n := range v.node.Content {
			if !yield(Value{n, Item(v.path, i), Item(v.label, i), v.field}) {
				return
			}
		}
	}
}

// entries yields the keys and values of a mapping whose keys people choose.
func (r *Reader) Entries(v Value) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.node.Kind != yaml.MappingNode {
			remedy := "write `key: value` lines"
			if v.field != nil && v.field.Type == ObjectsByName {
				remedy = "write each name as a key, and the fields below it"
			}
			r.wrongType(v, "a mapping", remedy)
			return
		}
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			key := v.node.Content[i]
			path := Join(v.path, key.Value)
			if key.ShortTag() != "!!str" {
				r.KeyErrorf(path, fmt.Sprintf("quote it: %q", key.Value), "key %s must be a string, not %s", QuoteKey(key.Value), Describe(key))
				continue
			}
			if !yield(key.Value, Value{v.node.Content[i+1], path, Join(v.label, key.Value), v.field}) {
				return
			}
		}
	}
}

// str reads a string and holds it against the field's enum and pattern.
func (r *Reader) String(v Value) string {
	n := v.node
	if n.Kind != yaml.ScalarNode {
		r.wrongType(v, "a string", "")
		return ""
	}
	switch tag := n.ShortTag(); {
	case tag == "!!str" && plain(n) && slices.Contains(bools11, strings.ToLower(n.Value)) && len(v.field.Enum) == 0:
		r.Errorf(v.path, fmt.Sprintf("quote it: %q", n.Value), "`%s` is the bare word %s, which many YAML readers take for a boolean", v.label, n.Value)
		return ""
	case tag == "!!binary":
		r.wrongType(v, "a string", "binary contents of files go into contentBase64, without a tag")
		return ""
	case tag != "!!str" && tag != "!!merge" && len(v.field.Enum) > 0:
		r.wrongType(v, Enumerate(v.field.Enum, "or"), "")
		return ""
	case tag != "!!str" && tag != "!!merge" && v.field.Pattern != "" && !v.field.Matches(n.Value):
		r.wrongType(v, v.field.Says, "")
		return ""
	case tag != "!!str" && tag != "!!merge":
		r.wrongType(v, "a string", fmt.Sprintf("quote it: %q", n.Value))
		return ""
	}
	r.check(v, n.Value)
	return n.Value
}

// bools11 are words that readers of YAML 1.1, such as cloud-init's, take for booleans, and yaml.v3 for strings.
var bools11 = []string{"yes", "no", "on", "off"}

func plain(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
}

// check holds a string against the field's enum and pattern.
func (r *Reader) check(v Value, s string) {
	f := v.field
	if len(f.Enum) > 0 && !slices.Contains(f.Enum, s) {
		remedy := ""
		if near := report.Nearest(s, f.Enum); near != "" {
			remedy = fmt.Sprintf("did you mean `%s`?", near)
		}
		r.Errorf(v.path, remedy, "`%s` is %q; it must be %s", v.label, Shorten(s), Enumerate(f.Enum, "or"))
	}
	switch {
	case f.Matches(s):
	case strings.Contains(s, "://") && strings.ContainsAny(s, "@?"): // it may hold a password
		r.Errorf(v.path, "nodes ask with their own identity", "`%s` must be %s", v.label, f.Says)
	default:
		r.Errorf(v.path, "", "`%s` is %q; it must be %s", v.label, Shorten(s), f.Says)
	}
}

// enumerate is "a, b or c".
func Enumerate(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

func (r *Reader) Strings(v Value) []string {
	list := []string{}
	for v := range r.Items(v) {
		list = append(list, r.String(v))
	}
	return list
}

func (r *Reader) StringOrList(v Value) []string {
	if v.node.Kind == yaml.MappingNode {
		r.wrongType(v, "a string or a list of strings", "")
		return nil
	}
	if v.node.Kind == yaml.SequenceNode {
		if len(v.node.Content) == 0 {
			r.Errorf(v.path, "give it a value, or remove it", "`%s` is an empty list", v.label)
		}
		return r.Strings(v)
	}
	return []string{r.String(v)}
}

func (r *Reader) StringMap(v Value) map[string]string {
	m := map[string]string{}
	for key, v := range r.Entries(v) {
		m[key] = r.String(v)
	}
	return m
}

func (r *Reader) Mapping(v Value) *yaml.Node {
	if v.node.Kind != yaml.MappingNode {
		r.wrongType(v, "a mapping", "write the cloud-config keys below it")
		return nil
	}
	return v.node
}

func (r *Reader) Bool(v Value) bool {
	if v.node.Kind == yaml.ScalarNode && v.node.ShortTag() == "!!bool" {
		switch strings.ToLower(v.node.Value) {
		case "true":
			return true
		case "false":
			return false
		}
	}
	remedy := "write true or false"
	switch strings.ToLower(v.node.Value) {
	case "true", "false":
		remedy = "remove the quotes"
	case "yes", "on":
		remedy = "write true"
	case "no", "off":
		remedy = "write false"
	}
	r.wrongType(v, "true or false", remedy)
	return false
}

// integer reads an integer and holds it against the field's bounds.
func (r *Reader) Int(v Value) int {
	n, f := v.node, v.field
	// YAML readers disagree about 010, 0x10 and 1_000
	i, err := strconv.Atoi(n.Value)
	decimal := n.Kind == yaml.ScalarNode && err == nil && strconv.Itoa(i) == n.Value
	switch {
	case !decimal || n.ShortTag() != "!!int":
		remedy := "write a plain decimal number"
		if decimal {
			remedy = "remove the quotes: " + n.Value
		}
		r.wrongType(v, "an integer", remedy)
		return 0
	case i < f.Min || i > f.Max:
		r.Errorf(v.path, "", "`%s` is %d; it must be between %d and %d", v.label, i, f.Min, f.Max)
		return 0
	}
	return i
}

// duration reads a duration of whole seconds and holds it against the field's bounds.
func (r *Reader) Duration(v Value) time.Duration {
	const remedy = "write a number with a unit, such as 90s, 20m or 1h30m"
	n := v.node
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		if n.ShortTag() == "!!int" {
			r.Errorf(v.path, fmt.Sprintf("write %ss for seconds or %sm for minutes", n.Value, n.Value), "`%s` is %s, a duration without a unit", v.label, n.Value)
			return 0
		}
		r.wrongType(v, "a duration", remedy)
		return 0
	}
	t, err := time.ParseDuration(n.Value)
	f := v.field
	lo, hi := time.Duration(f.Min)*time.Second, time.Duration(f.Max)*time.Second
	switch {
	case err != nil:
		r.Errorf(v.path, remedy, "`%s` is %q, which is no duration", v.label, Shorten(n.Value))
	case t < lo || t > hi:
		r.Errorf(v.path, "", "`%s` is %s; it must be between %s and %s", v.label, n.Value, report.Duration(lo), report.Duration(hi))
	case t%time.Second != 0:
		r.Errorf(v.path, "", "`%s` is %s; it must be whole seconds", v.label, n.Value)
	default:
		return t
	}
	return 0
}
