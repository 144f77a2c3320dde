package report

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest returns the candidate that word most likely was meant to be, or "" when none is near: for
// "did you mean ...?". Case does not count.
func Nearest(word string, candidates []string) string {
	best, bestDist := "", 0
	for _, c := range candidates {
		d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(c), nil)
		if d == 2 && letters(word) == letters(c) {
			d = 1 // two letters are swapped
		}
		if d > max(1, min(len(word), len(c))/3) {
			continue
		}
		if best == "" || d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// letters returns the letters of a word in the order of the alphabet.
func letters(word string) string {
	runes := []rune(strings.ToLower(word))
	slices.Sort(runes)
	return string(runes)
}
