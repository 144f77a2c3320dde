package report

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Middle shortens a text to n characters, in its middle: names differ at their ends as often as at their beginnings.
func Middle(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	runes := []rune(s)
	tail := (n - 1) / 2
	return string(runes[:n-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// color is what switches a color of a terminal on or off.
var color = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Wrap breaks a text into lines of at most n characters, at spaces. Colors take no room.
func Wrap(s string, n int) []string {
	var lines []string
	line, width := "", 0
	for _, w := range strings.Fields(s) {
		more := utf8.RuneCountInString(color.ReplaceAllString(w, ""))
		if line != "" && width+1+more > n {
			lines = append(lines, line)
			line, width = "", -1
		}
		width += 1 + more
		if line != "" {
			line += " "
		}
		line += w
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
