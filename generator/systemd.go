package generator

import (
	"fmt"
	"strings"
)

// argument quotes s as one argument of ExecStart= (systemd.service(5), "COMMAND LINES"): specifiers and environment
// variables are not expanded, and nothing in it ends the argument or the line.
func argument(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:,@~", r))
	}) {
		return s
	}
	quote := byte('"')
	if strings.ContainsRune(s, '"') && !strings.ContainsRune(s, '\'') {
		quote = '\''
	}
	var b strings.Builder
	b.WriteByte(quote)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' || c == '$':
			b.WriteByte(c)
			b.WriteByte(c)
		case c == quote || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c) // systemd ignores lines with characters that it holds for none, such as U+FFFE
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

// shellWord quotes s as one word of the gate.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:@", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
