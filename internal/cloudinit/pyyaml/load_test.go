package pyyaml

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The differential test holds this package against PyYAML over random texts; these are the rules that people meet.
// The bounds, exactly.
func TestBounds(t *testing.T) {
	aliased := func(extra int) string { // 2^20 values, and so many
		return "[&a [" + strings.Repeat("x,", 1022) + "]," + strings.Repeat("*a,", 1023) + strings.Repeat("x,", 1023+extra) + "]"
	}
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, text := range map[string]string{"aliases": aliased(0), "nesting": nested(150)} {
		if _, err := Load(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{"aliases": aliased(1), "nesting": nested(151)} {
		if _, err := Load(text); err == nil {
			t.Errorf("one more: %s", name)
		}
	}
}

func TestLoad(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "# comment\n", "None"},
		{"bools of YAML 1.1", "[yes, No, ON, off, y, true]", "[True, False, True, False, 'y', True]"},
		{"octal", "[0755, 0o755, 08, 755, '0755']", "[493, '0o755', '08', 755, '0755']"},
		{"base sixty", "[1:30, 1:30:15, 0:30, 1:60, 1:30.5]", "[90, 5415, '0:30', '1:60', 90.5]"},
		{"exponents need a point and a sign", "[1e3, 1.0e3, 1.0e+3, .5, .inf]", "['1e3', '1.0e3', 1000.0, 0.5, inf]"},
		{"other ints", "[0x1F, 0b101, 1_000, -7, +7]", "[31, 5, 1000, -7, 7]"},
		{"null", "[~, null, , Null, nULL]", "expected a value, found ','"},
		{"dates", "[2001-12-14, 2001-12-14 21:59:43.10 -5, 2001-2-3]", "[datetime.date(2001, 12, 14), datetime.datetime(2001, 12, 14, 21, 59, 43, 100000, tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=68400))), '2001-2-3']"},
		{"a date that is none", "2001-13-01", "there is no date 2001-13-01"},
		{"keys twice", "a: 1\nb: 2\na: 3", "{'a': 3, 'b': 2}"},
		{"keys that are equal", "{1: a, 1.0: b, true: c}", "{1: 'c'}"},
		{"merge keys", "a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}", "{'a': {'x': 1, 'y': 1}, 'b': {'x': 1, 'y': 2}}"},
		{"binary", "!!binary YWJj", "b'abc'"},
		{"pairs", "!!omap [a: 1, b: 2]", "[('a', 1), ('b', 2)]"},
		{"blocks", "- |\n  a\n   b\n\n- >-\n  a\n  b\n\n  c\n", `['a\n b\n', 'a b\nc']`},
		{"quotes", `["a\tb\x41\u20ac", 'it''s', "a` + "\n  b\"]", `['a\tbA€', "it's", 'a b']`},
		{"colon in a list item", "- echo a: b", "[{'echo a': 'b'}]"},
		{"list no further in than its key", "a:\n- 1\nb: 2", "{'a': [1], 'b': 2}"},
		{"tab before a key", "a:\n\tb: 1", "found tab, which cannot begin anything here"},
		{"tab behind a value", "a: b\t# c", "found tab, which cannot begin anything here"},
		{"tab in a block", "a: |\n  x\n  \ty\n", `{'a': 'x\n\ty\n'}`},
		{"control character", "a: \x01", "character U+0001: special characters are not allowed"},
		{"NUL", "\x00a", "character U+0000: special characters are not allowed"},
		{"byte that is no UTF-8", "a: \xe9", "byte 0xe9 is not UTF-8: special characters are not allowed"},
		{"two documents", "a: 1\n---\nb: 2\n", "a second document begins here; only one is allowed"},
		{"anchor twice", "[&a 1, &a 2]", "anchor &a is set twice"},
		{"alias without an anchor", "*a", "alias *a has no anchor before it"},
		{"tag without a meaning", "!foo bar", "the tag !foo has no meaning"},
		{"equals sign", "a: =", "the tag !!value has no meaning"},
		{"list as a key", "[a]: b", "a list cannot be a key"},
		{"open bracket", "a: [1, 2\nb: 3\n", "expected ',' or ']', found ':'"},
		{"open quote", "a: 'b\n", "the quote opened at line 1, column 4 is not closed"},
		{"contains itself", "&a [*a]", "the document contains itself"},
		{"nested beyond reason", strings.Repeat("[", 1000), "nested too deep"},
		{"merge keys that multiply", "- &a0 {k: v}\n" + doubled(22), "the document is beyond reason: its aliases multiply"},
		{"aliases that multiply", "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", "the document is beyond reason: its aliases multiply"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := Load(c.text)
			got := v.Repr()
			var e *Error
			if errors.As(err, &e) {
				got = e.Msg
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func TestPositions(t *testing.T) {
	v, err := Load("# comment\na: 1\nlist:\n- x\n- {k: 'v'}\na: 2\n")
	if err != nil {
		t.Fatal(err)
	}
	list := v.Get("list").Items
	got := []Pos{v.Get("a").Pos, list[0].Pos, list[1].Get("k").Pos, v.Shadowed[0].Value.Pos, v.Shadowed[0].Key.Pos}
	want := []Pos{{6, 4}, {4, 3}, {5, 7}, {2, 4}, {6, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Load("a: b\n  c: d\n"); err == nil || err.Error() != "line 2, column 4: a mapping value is not allowed here" {
		t.Errorf("got %v", err)
	}
}

func TestPythonNames(t *testing.T) {
	v, err := Load(`["a'b", 'a"b', "a'\"", "\n\t\\", "\x7f\u00e9\u2028\U0001f600\ud800", 1.0, 1.5e+20, 0.00001, -0.0, 1.0e+16, [], {}, !!set {a}, ~]`)
	if err != nil {
		t.Fatal(err)
	}
	want := `["a'b", 'a"b', 'a\'"', '\n\t\\', '\x7fé\u2028😀\ud800', 1.0, 1.5e+20, 1e-05, -0.0, 1e+16, [], {}, {'a'}, None]`
	if diff := cmp.Diff(want, v.Repr()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{"a: [b, {c: d}]\n", "- |\n  x\n- \"\\x41\"\n", "%YAML 1.1\n---\n&a !!set {b}\n...\n", "? a\n: <<: *b\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Load(text)
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%T is no *Error", err)
		}
		if err == nil && !Equal(v, v) && !strings.Contains(strings.ToLower(text), ".nan") {
			t.Error("the value does not equal itself")
		}
	})
}

// doubled are n mappings, each merged from the one before it, twice.
func doubled(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- &a%d {<<: [*a%d, *a%d]}\n", i+1, i, i)
	}
	return b.String()
}
