package report

import (
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest returns the candidate that word most likely was meant to be, or "" when none is near: for
// "did you mean ...?". Case does not count.
func Nearest(word string, candidates []string) string {
	best, bestDist := "", 0
	for _, c := range candidates {
		d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(c), nil)
		if d > max(1, min(len(word), len(c))/3) {
			continue
		}
		if best == "" || d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}
