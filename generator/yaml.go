package generator

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The parts are YAML that cloud-init reads with PyYAML, YAML 1.1, after it travelled as 7bit through kops and a mail
// parser: every byte must be printable ASCII or a line feed, and no line may hold a tab or end with a space, or kops
// prints the whole part as one line. People review it, so what can stand as plain lines does.

// block returns text as the value of a mapping key whose lines are indented by indent: what follows "key:", with the
// final line feed. It decodes to exactly text, which must be valid UTF-8.
func block(text string, indent int) string {
	if !plainLines(text) {
		return escapedLines(text, indent)
	}
	var b strings.Builder
	b.WriteString(" |")
	lines := strings.Split(text, "\n")
	if first := strings.TrimLeft(text, "\n"); first[0] == ' ' {
		b.WriteByte('2') // else the indentation would be taken from that line
	}
	switch {
	case !strings.HasSuffix(text, "\n"):
		b.WriteByte('-')
	case strings.HasSuffix(text, "\n\n"):
		b.WriteByte('+')
	}
	b.WriteByte('\n')
	if strings.HasSuffix(text, "\n") {
		lines = lines[:len(lines)-1]
	}
	for _, line := range lines {
		if line != "" {
			b.WriteString(strings.Repeat(" ", indent+2))
			b.WriteString(line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plainLines says whether text can stand in a literal block scalar.
func plainLines(text string) bool {
	if strings.Trim(text, "\n") == "" {
		return false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			if i > 0 && text[i-1] == ' ' {
				return false
			}
		case c < ' ' || c > '~':
			return false
		}
	}
	return text[len(text)-1] != ' '
}

// escapedLines returns text as a double-quoted scalar with one line of text per line, so that it can still be reviewed.
func escapedLines(text string, indent int) string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return " \"\"\n"
	}
	var b strings.Builder
	b.WriteString(" \"")
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\\\n" + strings.Repeat(" ", indent+2))
			if line[0] == ' ' {
				b.WriteByte('\\') // spaces at the beginning of a line are not part of the text
			}
		}
		escape(&b, line)
	}
	b.WriteString("\"\n")
	return b.String()
}

// quoted returns text as a double-quoted scalar on one line.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	escape(&b, text)
	b.WriteByte('"')
	return b.String()
}

func escape(b *strings.Builder, text string) {
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
}

// isText says whether content is worth showing to people as it is. A script with a few odd bytes is, a program is not.
func isText(content []byte) bool {
	if !utf8.Valid(content) {
		return false
	}
	control := 0
	for _, c := range content {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			control++
		}
	}
	return control*10 <= len(content)
}

// base64Lines returns content as base64 in lines of 76 characters.
func base64Lines(content []byte) string {
	s := base64.StdEncoding.EncodeToString(content)
	var b strings.Builder
	for len(s) > 76 {
		b.WriteString(s[:76])
		b.WriteByte('\n')
		s = s[76:]
	}
	b.WriteString(s)
	b.WriteByte('\n')
	return b.String()
}
