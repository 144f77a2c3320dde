package cloudinit

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// The other half is in the golden file: the places of whatever is lost.
func TestPlacesCountCharactersAndLines(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "b c", "\n", "\r\n", "\r", "é", "\u2014", "😀", "\u2028", "\u0085", "\n\n"}
	for range 300 {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		text := b.String()
		yaml, lines := yamlPlaces(text), newlinePlaces(text)
		line, col := 1, 1
		for i, c := range text {
			if got := yaml.offset(line, col); got != i && c != '\n' {
				t.Fatalf("%q: line %d, column %d is at %d, want %d", text, line, col, got, i)
			}
			n, start := lines.line(i)
			if before := text[:i]; n != strings.Count(before, "\n") || start != strings.LastIndexByte(before, '\n')+1 {
				t.Fatalf("%q: byte %d is in line %d, which begins at %d", text, i, n, start)
			}
			if got, want := lines.characters(start, i), utf8.RuneCountInString(text[start:i]); got != want {
				t.Fatalf("%q: %d characters from %d to %d, want %d", text, got, start, i, want)
			}
			if col++; c == '\n' || c == '\u0085' || c == '\u2028' || c == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
				line, col = line+1, 1
			}
		}
	}
}
