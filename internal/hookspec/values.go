package hookspec

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

// decoder reads an expanded document. Its readers report what is wrong with a value and return the zero value then.
type decoder struct {
	doc *Doc
	r   *report.Report
	bad map[string]bool // paths of values that something was said about: nothing more needs to be
	// unsound holds the paths of hooks whose fields do not go together, overridden or not
	unsound map[string]bool
	objects []*Object // of the kind of document
}

func newDecoder(doc *Doc, r *report.Report) *decoder {
	return &decoder{doc: doc, r: r, bad: map[string]bool{}, unsound: map[string]bool{}, objects: Objects()}
}

// value is one value of the document.
type value struct {
	node  *yaml.Node
	path  string
	label string // what messages call it: "mode", "env.DRIVER", "names[0]"
	field *Field // what it is; nil for the document
}

// errorf reports a mistake in the value at path.
func (d *decoder) errorf(path, remedy, format string, args ...any) {
	d.bad[path] = true
	d.r.Errorf(d.doc.Pos(path), path, remedy, format, args...)
}

// keyErrorf reports that the field at path should not be there.
func (d *decoder) keyErrorf(path, remedy, format string, args ...any) {
	d.bad[path] = true
	d.r.Errorf(d.doc.KeyPos(path), path, remedy, format, args...)
}

// wrongType reports a value of another type than want ("a string").
func (d *decoder) wrongType(v value, want, remedy string) {
	if v.node.ShortTag() == "!!null" {
		if remedy = "give it a value, or remove it"; v.field != nil && v.field.Absent != "" {
			remedy = v.field.Absent
		}
		d.errorf(v.path, remedy, "`%s` has no value", v.label)
		return
	}
	d.errorf(v.path, remedy, "`%s` must be %s, not %s", v.label, want, describe(v.node))
}

// describe says what a node is: "the number 5".
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	text := shorten(n.Value)
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
func quoteKey(key string) string {
	if join("", key) == key {
		return "`" + shorten(key) + "`"
	}
	return strconv.Quote(shorten(key))
}

// shorten cuts what people wrote to what fits into a message.
func shorten(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}

// fields yields the known fields of an object, in the order of the document, and reports the others and those that
// are missing.
func (d *decoder) fields(v value, o *Object) iter.Seq2[*Field, value] {
	return func(yield func(*Field, value) bool) {
		if v.node.Kind != yaml.MappingNode {
			d.wrongType(v, "a mapping", "")
			return
		}
		d.optionalFields(v, o)(yield)
		for _, f := range o.Fields {
			if f.Required && !d.doc.given(join(v.path, f.Name)) && !d.misspelled(v, o, f.Name) {
				d.keyErrorf(v.path, missingRemedy(&f), "`%s` is missing", f.Name)
			}
		}
	}
}

// optionalFields is fields, but nothing is required.
func (d *decoder) optionalFields(v value, o *Object) iter.Seq2[*Field, value] {
	return func(yield func(*Field, value) bool) {
		if v.node.Kind != yaml.MappingNode {
			d.wrongType(v, "a mapping", "")
			return
		}
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			name := v.node.Content[i].Value
			path := join(v.path, name)
			f := o.Field(name)
			if f == nil {
				d.keyErrorf(path, d.meant(name, o), "unknown field %s", quoteKey(name))
				continue
			}
			if !yield(f, value{v.node.Content[i+1], path, name, f}) {
				return
			}
		}
	}
}

// misspelled says whether an unknown key of the mapping was most likely meant to be the field called name.
func (d *decoder) misspelled(v value, o *Object, name string) bool {
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
func (d *decoder) meant(name string, o *Object) string {
	if near := nearField(name, o); near != "" {
		return fmt.Sprintf("did you mean `%s`?", near)
	}
	for _, other := range d.objects {
		if other != o && other.Field(name) != nil {
			return fmt.Sprintf("`%s` is a field of %s", name, article(other.Name))
		}
	}
	return fmt.Sprintf("the fields of %s are %s", article(o.Name), enumerate(o.names(), "and"))
}

func article(object string) string {
	switch object {
	case "metadata", "spec":
		return "`" + object + "`"
	case "override", "extension":
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
func (d *decoder) items(v value) iter.Seq[value] {
	return func(yield func(value) bool) {
		if v.node.Kind != yaml.SequenceNode {
			d.wrongType(v, "a list", "begin each item with `- `")
			return
		}
		for i, n := range v.node.Content {
			if !yield(value{n, item(v.path, i), item(v.label, i), v.field}) {
				return
			}
		}
	}
}

// entries yields the keys and values of a mapping whose keys people choose.
func (d *decoder) entries(v value) iter.Seq2[string, value] {
	return func(yield func(string, value) bool) {
		if v.node.Kind != yaml.MappingNode {
			d.wrongType(v, "a mapping", "write `key: value` lines")
			return
		}
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			key := v.node.Content[i]
			path := join(v.path, key.Value)
			if key.ShortTag() != "!!str" {
				d.keyErrorf(path, fmt.Sprintf("quote it: %q", key.Value), "key %s must be a string, not %s", quoteKey(key.Value), describe(key))
				continue
			}
			if !yield(key.Value, value{v.node.Content[i+1], path, join(v.label, key.Value), v.field}) {
				return
			}
		}
	}
}

// str reads a string and holds it against the field's enum and pattern.
func (d *decoder) str(v value) string {
	n := v.node
	if n.Kind != yaml.ScalarNode {
		d.wrongType(v, "a string", "")
		return ""
	}
	switch tag := n.ShortTag(); {
	case tag == "!!str" && plain(n) && slices.Contains(bools11, strings.ToLower(n.Value)) && len(v.field.Enum) == 0:
		d.errorf(v.path, fmt.Sprintf("quote it: %q", n.Value), "`%s` is the bare word %s, which many YAML readers take for a boolean", v.label, n.Value)
		return ""
	case tag == "!!binary":
		d.wrongType(v, "a string", "binary contents of files go into contentBase64, without a tag")
		return ""
	case tag != "!!str" && tag != "!!merge" && len(v.field.Enum) > 0:
		d.wrongType(v, enumerate(v.field.Enum, "or"), "")
		return ""
	case tag != "!!str" && tag != "!!merge" && v.field.Pattern != "" && !v.field.matches(n.Value):
		d.wrongType(v, v.field.Says, "")
		return ""
	case tag != "!!str" && tag != "!!merge":
		d.wrongType(v, "a string", fmt.Sprintf("quote it: %q", n.Value))
		return ""
	}
	d.check(v, n.Value)
	return n.Value
}

// bools11 are words that readers of YAML 1.1, such as cloud-init's, take for booleans, and yaml.v3 for strings.
var bools11 = []string{"yes", "no", "on", "off"}

func plain(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
}

// check holds a string against the field's enum and pattern.
func (d *decoder) check(v value, s string) {
	f := v.field
	if len(f.Enum) > 0 && !slices.Contains(f.Enum, s) {
		remedy := ""
		if near := report.Nearest(s, f.Enum); near != "" {
			remedy = fmt.Sprintf("did you mean `%s`?", near)
		}
		d.errorf(v.path, remedy, "`%s` is %q; it must be %s", v.label, shorten(s), enumerate(f.Enum, "or"))
	}
	switch {
	case f.matches(s):
	case strings.Contains(s, "://") && strings.ContainsAny(s, "@?"): // it may hold a password
		d.errorf(v.path, "nodes ask with their own identity", "`%s` must be %s", v.label, f.Says)
	default:
		d.errorf(v.path, "", "`%s` is %q; it must be %s", v.label, shorten(s), f.Says)
	}
}

// enumerate is "a, b or c".
func enumerate(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

func (d *decoder) stringList(v value) []string {
	list := []string{}
	for v := range d.items(v) {
		list = append(list, d.str(v))
	}
	return list
}

func (d *decoder) stringOrList(v value) []string {
	if v.node.Kind == yaml.MappingNode {
		d.wrongType(v, "a string or a list of strings", "")
		return nil
	}
	if v.node.Kind == yaml.SequenceNode {
		if len(v.node.Content) == 0 {
			d.errorf(v.path, "give it a value, or remove it", "`%s` is an empty list", v.label)
		}
		return d.stringList(v)
	}
	return []string{d.str(v)}
}

func (d *decoder) stringMap(v value) map[string]string {
	m := map[string]string{}
	for key, v := range d.entries(v) {
		m[key] = d.str(v)
	}
	return m
}

func (d *decoder) anyMapping(v value) *yaml.Node {
	if v.node.Kind != yaml.MappingNode {
		d.wrongType(v, "a mapping", "write the cloud-config keys below it")
		return nil
	}
	return v.node
}

func (d *decoder) boolean(v value) bool {
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
	d.wrongType(v, "true or false", remedy)
	return false
}

// integer reads an integer and holds it against the field's bounds.
func (d *decoder) integer(v value) int {
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
		d.wrongType(v, "an integer", remedy)
		return 0
	case i < f.Min || i > f.Max:
		d.errorf(v.path, "", "`%s` is %d; it must be between %d and %d", v.label, i, f.Min, f.Max)
		return 0
	}
	return i
}

// duration reads a duration of whole seconds and holds it against the field's bounds.
func (d *decoder) duration(v value) Duration {
	const remedy = "write a number with a unit, such as 90s, 20m or 1h30m"
	n := v.node
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		if n.ShortTag() == "!!int" {
			d.errorf(v.path, fmt.Sprintf("write %ss for seconds or %sm for minutes", n.Value, n.Value), "`%s` is %s, a duration without a unit", v.label, n.Value)
			return 0
		}
		d.wrongType(v, "a duration", remedy)
		return 0
	}
	t, err := time.ParseDuration(n.Value)
	f := v.field
	lo, hi := time.Duration(f.Min)*time.Second, time.Duration(f.Max)*time.Second
	switch {
	case err != nil:
		d.errorf(v.path, remedy, "`%s` is %q, which is no duration", v.label, shorten(n.Value))
	case t < lo || t > hi:
		d.errorf(v.path, "", "`%s` is %s; it must be between %s and %s", v.label, n.Value, Duration(lo), Duration(hi))
	case t%time.Second != 0:
		d.errorf(v.path, "", "`%s` is %s; it must be whole seconds", v.label, n.Value)
	default:
		return Duration(t)
	}
	return 0
}
