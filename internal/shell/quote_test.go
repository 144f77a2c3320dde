package shell

import (
	"os/exec"
	"testing"
)

func TestNamesOfFilesAreNoOptions(t *testing.T) {
	for name, word := range map[string]string{"a.yaml": "a.yaml", "-w.yaml": "./-w.yaml", "-a b": "'./-a b'", "my file": "'my file'", "-": "-"} {
		if got := File(name); got != word {
			t.Errorf("%q is the word %s, want %s", name, got, word)
		}
	}
}

func TestQuotedWordsAreThemselves(t *testing.T) {
	for s, word := range map[string]string{
		"": "''", "a": "a", "/A-z_0.9:=@%+,": "/A-z_0.9:=@%+,", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "a\nb": "'a\nb'", "~": "'~'", "é": "'é'",
		"a;b": "'a;b'", "*": "'*'", "#a": "'#a'", "`x`": "'`x`'", `\`: `'\'`,
	} {
		if got := Word(s); got != word {
			t.Errorf("%q is the word %s, want %s", s, got, word)
		}
		for _, w := range []string{Word(s), Quote(s)} {
			if out, err := exec.Command("/bin/sh", "-c", "printf '%s|' "+w).Output(); err != nil || string(out) != s+"|" {
				t.Errorf("%s is %q to a shell, %v", w, out, err)
			}
		}
	}
}
