package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What needs no quotes has none: people read units and gates.
func TestPlainWordsAreNotQuoted(t *testing.T) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-:@"
	if got := shellWord(letters); got != letters {
		t.Errorf("a word of the gate is %s", got)
	}
	if got := argument(letters + "+=,~"); got != letters+"+=,~" {
		t.Errorf("an argument is %s", got)
	}
}

func TestTildesNeedNoEscape(t *testing.T) {
	if got := argument("~ x"); got != `"~ x"` {
		t.Errorf("an argument is %s", got)
	}
}

func TestArgumentsAreSplitAsTheyWereQuoted(t *testing.T) {
	if diff := cmp.Diff(awkward, splitArguments(join(awkward))); diff != "" {
		t.Error(diff)
	}
	for line, want := range map[string][]string{ // of units that somebody edited
		"a  b ":  {"a", "b"},
		`a\b`:    {`a\b`},
		"50%":    {"50%"},
		"a$":     {"a$"},
		`"a\`:    {`a\`},
		`"\x4"`:  {"x4"},
		`"\x`:    {"x"},
		`"\xgg"`: {"xgg"},
		"":       nil,
	} {
		if diff := cmp.Diff(want, splitArguments(line)); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}
