package adopt

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/templates"
)

// document is one spec.
type document struct {
	name     string
	header   []string // comments
	clusters []string
	names    []string // of instance groups
	hooks    []*hook
}

// render writes the spec. People read it: scripts stand in it line by line, and comments stand where they belong.
func (d *document) render() []byte {
	var b strings.Builder
	writeComment(&b, 0, d.header)
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\nspec:\n  runtime: %s\n", hookspec.APIVersion, hookspec.Kind, word(d.name), templates.Newest())
	if len(d.clusters)+len(d.names) == 0 {
		b.WriteString("  selector: {}\n")
	} else {
		b.WriteString("  selector:\n")
		writeList(&b, "clusters", d.clusters)
		writeList(&b, "names", d.names)
	}
	b.WriteString("  hooks:\n")
	for _, h := range d.hooks {
		h.write(&b)
	}
	return []byte(b.String())
}

func writeList(b *strings.Builder, key string, list []string) {
	if len(list) == 0 {
		return
	}
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = word(s)
	}
	fmt.Fprintf(b, "    %s: [%s]\n", key, strings.Join(words, ", "))
}

// write writes the hook as an item of spec.hooks.
func (h *hook) write(b *strings.Builder) {
	writeComment(b, 2, h.comment)
	fmt.Fprintf(b, "  - name: %s\n", word(h.name))
	fmt.Fprintf(b, "    phase: %s\n", h.phase)
	if h.weight != 0 {
		fmt.Fprintf(b, "    weight: %d\n", h.weight)
	}
	if h.disabled {
		b.WriteString("    enabled: false\n")
	}
	if h.phase != hookspec.Boot {
		if h.everyBoot {
			b.WriteString("    run: every-boot\n")
		}
		if h.phase == hookspec.PreNodeup && !h.block {
			b.WriteString("    onFailure: continue\n")
		}
		if h.script != "" {
			fmt.Fprintf(b, "    attempts: 1\n    timeout: %s\n", cmp.Or(h.timeout, "24h"))
		}
	}
	if h.script != "" {
		b.WriteString("    script:" + text(h.script, 4))
	}
	if len(h.files) > 0 {
		b.WriteString("    files:\n")
	}
	for _, f := range h.files {
		f.write(b)
	}
	if h.config != nil {
		b.WriteString("    cloudConfig:\n")
		writeEntries(b, h.config, 6)
	}
}

func (f *file) write(b *strings.Builder) {
	fmt.Fprintf(b, "    - path: %s\n", word(f.path))
	if f.mode != 0o644 {
		fmt.Fprintf(b, "      mode: \"%04o\"\n", f.mode)
	}
	if f.owner != "root:root" {
		fmt.Fprintf(b, "      owner: %s\n", word(f.owner))
	}
	if utf8.ValidString(f.content) && !strings.ContainsFunc(f.content, binary) {
		b.WriteString("      content:" + text(f.content, 6))
		return
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(f.content))
	b.WriteString("      contentBase64: |\n")
	for len(encoded) > 0 {
		n := min(len(encoded), 100)
		b.WriteString("        " + encoded[:n] + "\n")
		encoded = encoded[n:]
	}
}

// binary says whether a character shows that a file is no text.
func binary(c rune) bool {
	return c < ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\x1b'
}

// writeComment writes lines of a comment, broken where they get long.
func writeComment(b *strings.Builder, indent int, lines []string) {
	const width = 116
	for _, line := range lines {
		prefix := strings.Repeat(" ", indent) + "#"
		column, begin := 0, true
		hang := ""
		if strings.HasPrefix(line, "- ") {
			hang = "  "
		}
		for _, w := range strings.Fields(onOneLine(line)) {
			if column > 0 && column+1+len(w) > width {
				b.WriteByte('\n')
				column, begin = 0, false
			}
			if column == 0 {
				b.WriteString(prefix)
				column = len(prefix)
				if !begin {
					b.WriteString(hang)
					column += len(hang)
				}
			}
			b.WriteString(" " + w)
			column += 1 + len(w)
		}
		if column == 0 {
			b.WriteString(prefix)
		}
		b.WriteByte('\n')
	}
}

// onOneLine takes out what would end a comment, or a line on a terminal.
func onOneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
}

// word is a string on one line: without quotes where nobody takes it for something else.
func word(s string) string {
	v := yaml.Node{}
	safe := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:+@", r))
	}) && !strings.ContainsAny(s[:1], "-.:@+0123456789") && !strings.HasSuffix(s, ":")
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		safe = false
	}
	if safe && yaml.Unmarshal([]byte(s), &v) == nil && len(v.Content) == 1 && v.Content[0].Kind == yaml.ScalarNode && v.Content[0].Value == s && v.Content[0].Tag == "!!str" {
		return s
	}
	return quoted(s)
}

// quoted is a string in double quotes. JSON's are YAML's.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // strings always encode
	}
	out := strings.TrimSuffix(b.String(), "\n")
	return strings.NewReplacer("\x7f", `\x7f`, "\u0085", `\x85`, "\ufeff", `\ufeff`).Replace(out)
}

// text is a string behind "key:": a literal block where it has several lines that can stand in one, else quoted.
func text(s string, indent int) string {
	if block, ok := literal(s, indent); ok {
		return block
	}
	return " " + quoted(s) + "\n"
}

// literal writes a block scalar whose lines stand at indent+2, and reads it again to see that it is right.
func literal(s string, indent int) (string, bool) {
	if !strings.Contains(s, "\n") || strings.Trim(s, " \t\n") == "" || strings.ContainsFunc(s, func(c rune) bool {
		return c < ' ' && c != '\n' && c != '\t' || c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == utf8.RuneError || c >= 0xfffe
	}) {
		return "", false
	}
	var b strings.Builder
	b.WriteString(" |")
	if strings.ContainsAny(s[:1], " \t\n") {
		b.WriteByte('2') // else the indentation would be taken from that line
	}
	switch {
	case !strings.HasSuffix(s, "\n"):
		b.WriteByte('-')
	case strings.HasSuffix(s, "\n\n"):
		b.WriteByte('+')
	}
	b.WriteByte('\n')
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			b.WriteString(strings.Repeat(" ", indent+2) + line)
		}
		b.WriteByte('\n')
	}
	var read map[string]string
	err := yaml.Unmarshal([]byte(strings.Repeat(" ", indent)+"k:"+b.String()+strings.Repeat(" ", indent)+"l: end\n"), &read)
	return b.String(), err == nil && read["k"] == s && read["l"] == "end"
}
