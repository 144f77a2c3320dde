package strict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/report"
)

// shelf is what the tests read: one field of each type.
type shelf struct {
	Name   string
	Kind   string
	Labels map[string]string
	Tags   []string
	Either []string
	Width  int
	Open   bool
	Since  time.Duration
	Boxes  []string
}

var boxObject = Object{Name: "item", Fields: []Field{{Name: "name", Type: String, Required: true}}}

var shelfObject = Object{Name: "shelf", Fields: []Field{
	{Name: "name", Type: String, Required: true, Absent: "name it", Pattern: `[a-z]+`, Says: "small letters"},
	{Name: "kind", Type: String, Enum: []string{"wood", "steel"}},
	{Name: "labels", Type: StringMap}, {Name: "tags", Type: StringList}, {Name: "either", Type: StringOrList},
	{Name: "width", Type: Integer, Min: 1, Max: 99, Also: []string{"breadth"}}, {Name: "open", Type: Boolean}, {Name: "since", Type: Span, Max: 60},
	{Name: "boxes", Type: ObjectList, Of: &boxObject},
}}

// read reads each document of a file as a shelf.
func read(data string) (shelves []shelf, found []string) {
	var all, r report.Report
	file := Parse("a.yaml", []byte(data), &r)
	for _, root := range file.Roots {
		reader, v, ok := file.Open(root.Content[0], []*Object{&shelfObject, &boxObject}, &r)
		if !ok {
			continue
		}
		var s shelf
		for field, v := range reader.Fields(v, &shelfObject) {
			switch field {
			case "name":
				s.Name = reader.String(v)
			case "kind":
				s.Kind = reader.String(v)
			case "labels":
				s.Labels = reader.StringMap(v)
			case "tags":
				s.Tags = reader.Strings(v)
			case "either":
				s.Either = reader.StringOrList(v)
			case "width":
				s.Width = reader.Int(v)
			case "open":
				s.Open = reader.Bool(v)
			case "since":
				s.Since = reader.Duration(v)
			case "boxes":
				for v := range reader.Items(v) {
					for _, v := range reader.Fields(v, &boxObject) {
						s.Boxes = append(s.Boxes, reader.String(v))
					}
				}
			}
		}
		shelves = append(shelves, s)
	}
	Finish(&r, &all)
	for _, f := range all.Findings {
		found = append(found, fmt.Sprintf("%d:%d %s: %s (%s)", f.Line, f.Col, f.Path, f.Message, f.Remedy))
	}
	return shelves, found
}

func TestReadsEachType(t *testing.T) {
	want := []shelf{{Name: "a", Kind: "wood", Labels: map[string]string{"x": "1", "y": "2"}, Tags: []string{"b", "c"}, Either: []string{"d"},
		Width: 5, Open: true, Since: time.Minute, Boxes: []string{"e", "f"}}}
	for name, data := range map[string]string{
		"YAML":            "name: a\nkind: wood\nlabels: {x: '1', y: '2'}\ntags: [b, c]\neither: d\nwidth: 5\nopen: true\nsince: 1m\nboxes: [{name: e}, {name: f}]\n",
		"anchors":         "tags: [b, c]\nlabels: {x: &one '1', <<: {y: '2', x: '3'}}\nname: a\nkind: wood\neither: [d]\nwidth: 5\nopen: true\nsince: 60s\nboxes:\n- &e {name: e}\n- {<<: *e, name: f}\n",
		"JSON":            `{"name": "a", "kind": "wood", "labels": {"x": "1", "y": "2"}, "tags": ["b", "c"], "either": "d", "width": 5, "open": true, "since": "1m", "boxes": [{"name": "e"}, {"name": "f"}]}`,
		"carriage return": "name: a\r\nkind: wood\r\nlabels: {x: '1', y: '2'}\r\ntags: [b, c]\r\neither: d\r\nwidth: 5\r\nopen: true\r\nsince: 1m\r\nboxes: [{name: e}, {name: f}]\r\n",
	} {
		got, found := read(data)
		if diff := cmp.Diff(want, got); diff != "" || found != nil {
			t.Errorf("%s: %s%q", name, diff, found)
		}
	}
}

func TestSaysWhatIsWrongWhereItStands(t *testing.T) {
	for _, test := range []struct {
		name, data string
		want       []string
	}{
		{"missing", "width: 5", []string{"1:1 : `name` is missing (name it)"}},
		{"unknown, and near to one that is missing", "nam: a", []string{"1:1 nam: unknown field `nam` (did you mean `name`?)"}},
		{"a word of another system", "name: a\nbreadth: 5", []string{"2:1 breadth: unknown field `breadth` (did you mean `width`?)"}},
		{"a field of another object", "name: a\nboxes: [{name: b, open: true}]", []string{"2:19 boxes[0].open: unknown field `open` (`open` is a field of a shelf)"}},
		{"far from all", "name: a\nboxes: [{name: b, zzz: true}]", []string{"2:19 boxes[0].zzz: unknown field `zzz` (the fields of an item are name)"}},
		{"given twice", "name: a\nname: b", []string{"2:1 name: key `name` is given twice, first in line 1 (keep one of them)"}},
		{"no value", "name:", []string{"1:6 name: `name` has no value (name it)"}},
		{"a number as text", "name: a\ntags: [5]", []string{`2:8 tags[0]: ` + "`tags[0]` must be a string, not the number 5 (quote it: \"5\")"}},
		{"text as a number", "name: a\nwidth: '5'", []string{"2:8 width: `width` must be an integer, not the string \"5\" (remove the quotes: 5)"}},
		{"out of bounds", "name: a\nwidth: 100", []string{"2:8 width: `width` is 100; it must be between 1 and 99 ()"}},
		{"no choice", "name: a\nkind: wod", []string{"2:7 kind: `kind` is \"wod\"; it must be wood or steel (did you mean `wood`?)"}},
		{"not its pattern", "name: A", []string{"1:7 name: `name` is \"A\"; it must be small letters ()"}},
		{"a bare boolean of YAML 1.1", "name: a\ntags: [yes]", []string{"2:8 tags[0]: `tags[0]` is the bare word yes, which many YAML readers take for a boolean (quote it: \"yes\")"}},
		{"no boolean", "name: a\nopen: yes", []string{"2:7 open: `open` must be true or false, not the string \"yes\" (write true)"}},
		{"no unit", "name: a\nsince: 5", []string{"2:8 since: `since` is 5, a duration without a unit (write 5s for seconds or 5m for minutes)"}},
		{"too long", "name: a\nsince: 2m", []string{"2:8 since: `since` is 2m; it must be between 0s and 1m ()"}},
		{"a list for a mapping", "name: a\nlabels: [a]", []string{"2:1 labels: `labels` must be a mapping, not a list (write `key: value` lines)"}},
		{"an empty list", "name: a\neither: []", []string{"2:1 either: `either` is an empty list (give it a value, or remove it)"}},
		{"once for an anchor with two aliases", "name: a\nboxes: [&b {name: 5}, *b, *b]", []string{
			"2:19 boxes[0].name: `name` must be a string, not the number 5 (quote it: \"5\")"}},
		{"all at once", "name: A\nwidth: 100\nzzz: 1", []string{
			"1:7 name: `name` is \"A\"; it must be small letters ()", "2:8 width: `width` is 100; it must be between 1 and 99 ()",
			"3:1 zzz: unknown field `zzz` (the fields of a shelf are name, kind, labels, tags, either, width, open, since and boxes)"}},
	} {
		if _, found := read(test.data); cmp.Diff(test.want, found) != "" {
			t.Errorf("%s: %s", test.name, cmp.Diff(test.want, found))
		}
	}
}

func TestBoundsOfDocuments(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"an anchor inside itself", "name: a\nlabels: &l {x: *l}", "alias *l stands inside its own anchor"},
		{"deep", "name: a\nlabels: " + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), "values are nested more than 64 deep"},
		{"large", strings.Repeat("#", MaxSize+1), "the file is larger than 10 MiB"},
		{"binary", "\x7fELF\xff", "the file is not text in UTF-8"},
	} {
		shelves, found := read(test.data)
		if len(shelves) > 0 || len(found) != 1 || !strings.Contains(found[0], test.want) {
			t.Errorf("%s: %d shelves, %q", test.name, len(shelves), found)
		}
	}
}
