package convert

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutComments(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"to the end of a line", "a: b // c\nd: e", "a: b     \nd: e"},
		{"a line of its own", "// a\nb: c", "    \nb: c"},
		{"not in quotes", `a: "b // c" // d`, `a: "b // c"     `},
		{"not in single quotes", `a: 'b // c' // d`, `a: 'b // c'     `},
		{"an escaped quote ends nothing", `a: "b\" // c" // d`, `a: "b\" // c"     `},
		{"an escaped backslash escapes nothing", `a: "b\\" // c`, `a: "b\\"     `},
		{"not in addresses", "a: https://example.com", "a: https://example.com"},
		{"an apostrophe opens no quote", "a: it's // b", "a: it's     "},
		{"behind a comma", `{"a": 1,// b` + "\n}", `{"a": 1     ` + "\n}"},
		{"blocks", "a: /* b */ c", "a:         c"},
		{"blocks over lines", "{/* a\nb */\n}", "{    \n    \n}"},
		{"trailing commas", `{"a": [1, 2, ], }`, `{"a": [1, 2  ]  }`},
		{"trailing commas before a comment", "[1, // one\n]", "[1        \n]"},
		{"commas in quotes", `[","]`, `[","]`},
		{"tabs outside of quotes", "\t\"a\tb\": 1", " \"a\tb\": 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, string(withoutComments([]byte(tc.in)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
