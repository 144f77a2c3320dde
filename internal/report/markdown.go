package report

import "strings"

// Markdown is what Markdown shows as somebody's words: on one line, without marks, links or HTML.
func Markdown(s string) string {
	var b strings.Builder
	for _, c := range OneLine(s) {
		switch {
		case c == '<' || c == '>' || c == '&':
			b.WriteString(map[rune]string{'<': "&lt;", '>': "&gt;", '&': "&amp;"}[c])
		case strings.ContainsRune("\\`*_[]|~#@$!", c):
			b.WriteString("\\" + string(c))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
