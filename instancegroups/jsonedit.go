package instancegroups

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/kops/pkg/apis/kops/v1alpha2"
)

// jsonEdits edits additionalUserData in JSON, in the layout of the file: on one line as kops prints, or indented.
func (g *Group) jsonEdits() ([]edit, error) {
	src := g.section.reading.json
	spec := g.object.value.get("spec")
	e := jsonEditor{src: src, offset: g.section.start}
	i := spec.member(userDataKey)
	parts := make([]any, len(g.ours))
	for i, u := range g.ours {
		parts[i] = v1Part(u)
	}
	first := spec.members[0]
	indent := e.indentAt(first.start)
	unit := indent[len(commonIndent(indent, e.indentOf(spec.start))):]

	if i < 0 {
		e.insertMember(spec, indent, unit, parts)
		return e.edits, nil
	}
	list := spec.members[i].value
	var kept []int
	for k := range g.parts {
		if !g.parts[k].ours() {
			kept = append(kept, k)
		}
	}
	switch {
	case len(kept) == 0 && len(parts) == 0:
		e.removeMember(spec, i)
	case len(kept) == 0:
		e.replace(list.start, list.end, e.render(parts, indent, unit))
	default:
		e.replace(list.start, list.end, e.rebuild(list, kept, parts, unit))
	}
	return e.edits, nil
}

type jsonEditor struct {
	src    []byte
	offset int
	edits  []edit
}

func (e *jsonEditor) replace(start, end int, text string) {
	e.edits = append(e.edits, edit{e.offset + start, e.offset + end, text, nil})
}

// indentAt returns the line break and the white space before i, when nothing else stands between them; else "".
func (e *jsonEditor) indentAt(i int) string {
	before := bytes.TrimRight(e.src[:i], " \t")
	if len(before) == 0 || before[len(before)-1] != '\n' {
		return ""
	}
	return string(e.src[len(before)-1 : i])
}

// indentOf returns the line break and the white space that begin the line of i.
func (e *jsonEditor) indentOf(i int) string {
	begin := bytes.LastIndexByte(e.src[:i], '\n') + 1
	line := e.src[begin:i]
	return "\n" + string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func commonIndent(a, b string) string {
	if strings.HasPrefix(a, b) {
		return b
	}
	return ""
}

// render prints a value. indent begins each of its lines; empty means one line.
func (e *jsonEditor) render(v any, indent, unit string) string {
	var data []byte
	if indent == "" {
		data, _ = json.Marshal(v) // strings alone: it cannot fail
	} else {
		data, _ = json.MarshalIndent(v, indent[1:], unit)
	}
	return string(data)
}

func (e *jsonEditor) insertMember(spec *value, indent, unit string, parts []any) {
	colon := `":`
	if indent != "" {
		colon = `": `
	}
	text := `"` + userDataKey + colon + e.render(parts, indent, unit)
	i := placeInJSON(spec)
	if i == len(spec.members) {
		last := spec.members[i-1].value
		e.replace(last.end, last.end, ","+indent+text)
		return
	}
	at := spec.members[i].start
	e.replace(at, at, text+","+indent)
}

// removeMember removes a member and the comma beside it.
func (e *jsonEditor) removeMember(spec *value, i int) {
	start, end := memberRange(spec, i)
	e.replace(start, end, "")
}

func memberRange(v *value, i int) (start, end int) {
	switch m := v.members[i]; {
	case i+1 < len(v.members):
		return m.start, v.members[i+1].start
	case i > 0:
		return v.members[i-1].value.end, m.value.end
	default:
		return m.start, m.value.end
	}
}

// rebuild returns a list with the items of kept, as they are, and parts.
func (e *jsonEditor) rebuild(list value, kept []int, parts []any, unit string) string {
	indent := e.indentAt(list.items[0].start)
	comma := "," + indent
	var b strings.Builder
	b.Write(e.src[list.start:list.items[0].start])
	for n, k := range kept {
		if n > 0 {
			if prev := kept[n-1]; prev == k-1 {
				b.Write(e.src[list.items[prev].end:list.items[k].start])
			} else {
				b.WriteString(comma)
			}
		}
		b.Write(list.items[k].source(e.src))
	}
	for _, p := range parts {
		b.WriteString(comma)
		b.WriteString(e.render(p, indent, unit))
	}
	b.Write(e.src[list.items[len(list.items)-1].end:list.end])
	return b.String()
}

// specFields are the fields of a spec in the order in which kops prints them as JSON.
var specFields = sync.OnceValue(func() map[string]int {
	fields := make(map[string]int)
	eachField(reflect.TypeFor[v1alpha2.InstanceGroupSpec](), func(name string, _ reflect.Type) { fields[name] = len(fields) })
	return fields
})

// placeInJSON returns the index of the member before which kops would print additionalUserData when the members are in
// kops' order, or where sorting would put it when they are sorted; else the number of members.
func placeInJSON(spec *value) int {
	fields := specFields()
	var places []int
	var names []string
	for _, m := range spec.members {
		names = append(names, m.key)
		if place, ok := fields[m.key]; ok {
			places = append(places, place)
		}
	}
	i := len(names)
	if len(places) == len(names) && slices.IsSorted(places) {
		i, _ = slices.BinarySearch(places, fields[userDataKey])
	} else if slices.IsSorted(names) {
		i, _ = slices.BinarySearch(names, userDataKey)
	}
	return i
}
