package generator

import "testing"

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
