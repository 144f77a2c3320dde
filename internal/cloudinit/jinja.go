package cloudinit

import (
	"errors"
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

var errUnpredictable = errors.New("what the node knows of itself decides")

// renderJinja renders a template as far as that can be told without a node (cloudinit/templater.py:84): plain text, comments
// and variables whose values are given. Anything more is errUnpredictable.
func renderJinja(payload string, data map[string]string) (string, error) {
	first, text, _ := strings.Cut(payload, "\n")
	if typ := templateType(first); typ != "jinja" {
		return "", fmt.Errorf("its first line is not \"## template: jinja\"")
	}
	trailing := strings.HasSuffix(text, "\n")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.TrimSuffix(text, "\n")
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '{')
		if i < 0 || i+1 == len(text) {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		var err error
		switch text[1] {
		case '{':
			text, err = jinjaVariable(&b, text, data)
		case '#':
			text, err = jinjaComment(text)
		case '%':
			err = fmt.Errorf("a template with statements: %w", errUnpredictable)
		default:
			b.WriteByte('{')
			text = text[1:]
		}
		if err != nil {
			return "", err
		}
	}
	if trailing {
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// templateType is what stands behind "## template:" in a first line.
func templateType(first string) string {
	rest, ok := strings.CutPrefix(first, "##")
	if !ok {
		return ""
	}
	rest = strings.TrimLeftFunc(rest, pyyaml.IsSpace)
	if len(rest) < len("template:") || !strings.EqualFold(rest[:len("template:")], "template:") {
		return ""
	}
	return pyyaml.Strip(pyLower(rest[len("template:"):]))
}

func jinjaVariable(b *strings.Builder, text string, data map[string]string) (string, error) {
	name, rest, ok := strings.Cut(text[2:], "}}")
	name = strings.Trim(name, " \t\n")
	value, known := data[name]
	if !known {
		value, known = data["v1."+name] // they are there without it, too
	}
	switch {
	case !ok || !isDottedName(name):
		return "", fmt.Errorf("a template with expressions: %w", errUnpredictable)
	case !known:
		return "", fmt.Errorf("a template with {{ %s }}: %w", name, errUnpredictable)
	}
	b.WriteString(value)
	return rest, nil
}

func isDottedName(s string) bool {
	for _, part := range strings.Split(s, ".") {
		if !isName(part) {
			return false
		}
	}
	return true
}

// jinjaComment goes over {# ... #}, and a line feed behind it (trim_blocks).
func jinjaComment(text string) (string, error) {
	_, rest, ok := strings.Cut(text[2:], "#}")
	if !ok || strings.HasPrefix(text[2:], "-") || strings.HasPrefix(text[2:], "+") || strings.HasSuffix(text[:len(text)-len(rest)-2], "-") {
		return "", fmt.Errorf("a template with comments that trim: %w", errUnpredictable)
	}
	return strings.TrimPrefix(rest, "\n"), nil
}
