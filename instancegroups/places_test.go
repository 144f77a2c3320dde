package instancegroups

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"
)

func places(t *testing.T, text string) *yamlDocument {
	t.Helper()
	d, err := parseYAML(whole([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// YAML 1.1 has five line breaks.
func TestLinesBeginWhereTheParsersSayThatTheyDo(t *testing.T) {
	for text, want := range map[string][]int{
		"":          {0},
		"a\nb\n":    {0, 2, 4},
		"a\rb":      {0, 2},
		"a\r":       {0, 2},
		"a\r\nb":    {0, 3},
		"\ufeffa\n": {3, 5},
		"a\u0085b":  {0, 3},
		"a\u2028b":  {0, 4},
		"a\u2029b":  {0, 4},
		"a\u00a0b":  {0},
		"a\u2027b":  {0},
		"a\u20a8b":  {0},
		"a\u3028b":  {0},
	} {
		if diff := cmp.Diff(want, yamlLines([]byte(text))); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestPlacesInText(t *testing.T) {
	d := places(t, "a: é b\nc: d\n")
	for place, want := range map[[2]int]int{{1, 1}: 0, {1, 4}: 3, {1, 5}: 5, {2, 1}: 8, {2, 4}: 11, {3, 1}: 13, {4, 1}: 13, {0, 1}: 13, {2, 99}: 13} {
		if got := d.at(place[0], place[1]); got != want {
			t.Errorf("line %d, column %d is at %d, want %d", place[0], place[1], got, want)
		}
	}
	for at, want := range map[int]int{0: 0, 7: 0, 8: 1, 12: 1, 13: 2} {
		if got := d.lineOf(at); got != want {
			t.Errorf("offset %d is in line %d, want %d", at, got, want)
		}
	}
	if d.byteAt(12) != '\n' || d.byteAt(13) != 0 {
		t.Error("bytes at and behind the end")
	}
}

func TestEndsOfQuotedScalars(t *testing.T) {
	for text, want := range map[string]int{
		`'a' b`: 3, `'a'`: 3, `'a''b' c`: 6, `''`: 2, `'''' `: 4, `'a\' b`: 4, `'a`: 0, `'a''`: 0,
		`"a" b`: 3, `"a\"b" c`: 6, `"a\\" b`: 5, `"a""b"`: 3, `"a\"`: 0, `"`: 0, `a`: 0, ``: 0,
	} {
		d := &yamlDocument{elided: whole([]byte(text))}
		if got, ok := d.quotedEnd(0); got != want || ok != (want > 0) {
			t.Errorf("%s ends at %d (%v), want %d", text, got, ok, want)
		}
	}
}

func TestLinesThatBelongToNothing(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, " \t": true, "# a": true, "\t#a": true, "...": true, "... # a": true, "...\ta": true, "---": true, "--- a": true, "---\ta": true,
		"a": false, "- # a": false, "....": false, "---a": false, " ---": false,
	} {
		if got := isFiller([]byte(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestDashesOfItems(t *testing.T) {
	for text, want := range map[string]bool{
		"a:\n- b\n": true, "a:\n-\n  b\n": true, "a:\n- \n  b\n": true, "a:\n- # c\n\n  b\n": true, "a:\n- &x\n  b\n": true, "a: [b]\n": false,
	} {
		d := places(t, text)
		_, list := pair(d.root(), "a")
		if line, ok := d.dash(list.Content[0], 0, 0); ok != want || ok && line != 1 {
			t.Errorf("%q: the dash is in line %d, %v", text, line, ok)
		}
	}
}

func TestCommentsInBrackets(t *testing.T) {
	for text, want := range map[string]bool{
		"a: [b #c\n, d]\n": true, "a: [\"b\" #c\n, d]\n": true, "a: [\n#c\nb]\n": true, "a: [b,\t#c\nd]\n": true,
		"a: [b#c]\n": false, "a: [b# c]\n": false, "a: [\"b #c\", ' #d']\n": false, "a: [b] #c\n": false,
	} {
		d := places(t, text)
		_, list := pair(d.root(), "a")
		end, ok := d.flowEnd(list)
		if got := d.hasComment(list, d.at(list.Line, list.Column), end); !ok || got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}

// A body that is taken out is text without doubt. Where it is not, it stays.
func TestBodiesThatAreTakenOut(t *testing.T) {
	for body, want := range map[string][2]int{ // below a key in column 2: indentation and size
		"    a\n":                    {4, 6},
		"    a\n  b: c\n":            {4, 6},
		"    a\n\n    b\n\n\n  c:\n": {4, 13},
		"    a\n      b\n":           {4, 14},
		"   a\tb ~\n":                {3, 9},
		"    a\nb\n":                 {4, 6},
		"\n    a\n":                  {},
		"  a\n":                      {},
		" a\n":                       {},
		"    \n    a\n":              {},
		"    \ta\n":                  {},
		"    a\n   b\n":              {},
		"    a\n  \n":                {},
		"    a\n     \n":             {},
		"    a\x7f\n":                {},
		"    a\x1f\n":                {},
		"    \u00e9\n":               {},
		"    a":                      {},
	} {
		if indent, size := literalBody([]byte(body), 2); size != want[1] || size > 0 && indent != want[0] {
			t.Errorf("%q: %d bytes behind %d spaces, want %v", body, size, indent, want)
		}
	}
	for line, want := range map[string]int{"content": 0, "  content": 2, "- content": 2, "  - content": 4, "- - content": -1, "a: content": -1, "x content": -1} {
		src := []byte("a: b\n" + line + ": |\n")
		column, ok := keyColumn(src, strings.Index(string(src), "content"))
		if ok != (want >= 0) || ok && column != want {
			t.Errorf("%q: column %d, %v", line, column, ok)
		}
	}
}

func TestTokensStandForBodies(t *testing.T) {
	for text, want := range map[string]int{"@kopshook-body-0@\n": 0, "@kopshook-body-12@\n": 12, "@kopshook-body-x@\n": -1, "@kopshook-body-@\n": -1, "kopshook-body-1@\n": -1} {
		if n, ok := tokenNumber(text); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %v", text, n, ok)
		}
	}
	const head, body = "spec:\n  additionalUserData:\n", "    @kopshook-body-0@\n"
	for text, want := range map[string]bool{
		head + "  - content: |\n  " + body:                            true,
		head + "  - name: |\n  " + body:                               false, // is no content
		head + "  - name: |\n  " + body + "    content: |\n  " + body: false,
		"spec:\n  other: |\n" + body:                                  false,
	} {
		r, err := readYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.tokensInPlace(1); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestPartsAtTheLimitsOfTheShortWay(t *testing.T) {
	part := func(change func(u *kops.UserData)) kops.UserData {
		u := kops.UserData{Name: "kopshook-az09.yaml", Type: "text/az09", Content: "az09 ~\n"}
		change(&u)
		return u
	}
	for name, c := range map[string]struct {
		u    kops.UserData
		want bool
	}{
		"letters and digits":  {part(func(u *kops.UserData) {}), true},
		"one letter":          {part(func(u *kops.UserData) { u.Content = "a\n" }), true},
		"70 characters":       {part(func(u *kops.UserData) { u.Name = Prefix + strings.Repeat("a", 70-len(Prefix)) }), true},
		"71 characters":       {part(func(u *kops.UserData) { u.Name = Prefix + strings.Repeat("a", 71-len(Prefix)) }), false},
		"a name of another's": {part(func(u *kops.UserData) { u.Name = "x-1" }), false},
		"a capital":           {part(func(u *kops.UserData) { u.Type = "text/X" }), false},
		"DEL":                 {part(func(u *kops.UserData) { u.Content = "a\x7f\n" }), false},
		"a tab":               {part(func(u *kops.UserData) { u.Content = "a\tb\n" }), false},
		"nothing":             {part(func(u *kops.UserData) { u.Content = "" }), false},
	} {
		if got := isPlain(c.u); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		printed, err := new(printer).part(c.u, 2)
		if ok := name != "DEL"; ok != (err == nil) || ok && !survives(printed, c.u) {
			t.Errorf("%s: %v\n%s", name, err, printed)
		}
		if survives(printed+printed, c.u) || survives("a: b\n", c.u) || survives("{", c.u) {
			t.Errorf("%s: something else is taken for it", name)
		}
	}
}

// kops takes JSON for YAML, which has no control characters.
func TestCharactersThatYAMLDoesNotHave(t *testing.T) {
	for text, want := range map[string]int{"\u007f": 0, "a\u0080": 1, "a\u009f": 1, "\u00a0": -1, "\u0085": -1, "\ufffd": -1, "\ufffe": 0, "\uffff": 0, "\U00010000": -1, "~": -1} {
		if got := controlCharacter([]byte(text)); got != want {
			t.Errorf("%q: at %d, want %d", text, got, want)
		}
	}
}
