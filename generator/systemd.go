package generator

import (
	"fmt"
	"strconv"
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

// splitArguments returns the arguments that argument quoted, one after the other.
func splitArguments(line string) []string {
	var words []string
	var word strings.Builder
	quote, open := byte(0), false
	for i := 0; i < len(line); i++ {
		c, more := line[i], i+1 < len(line)
		switch {
		case quote == 0 && (c == '"' || c == '\'') && !open:
			quote, open = c, true
		case c == quote && quote != 0:
			quote = 0
		case quote == 0 && c == ' ':
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		case more && (c == '%' || c == '$') && line[i+1] == c:
			word.WriteByte(c)
			open = true
			i++
		case more && c == '\\' && quote != 0:
			i++
			word.WriteByte(unescaped(line, &i))
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}

// unescaped returns the byte that the escape stands for whose letter is at *i, and leaves *i at its end.
func unescaped(line string, i *int) byte {
	switch c := line[*i]; c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'x':
		if n, err := strconv.ParseUint(line[min(*i+1, len(line)):min(*i+3, len(line))], 16, 8); err == nil {
			*i += 2
			return byte(n)
		}
		return c
	default:
		return c
	}
}
