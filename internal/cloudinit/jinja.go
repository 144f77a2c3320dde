package cloudinit

import (
	"errors"
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

var errUnpredictable = errors.New("what the node knows of itself decides")

// render renders a template as far as that can be told without a node (cloudinit/templater.py:84): plain text, comments and
// variables whose values are given. Anything more is errUnpredictable.
func (r *reader) render(payload string) (string, error) {
	first, text, _ := strings.Cut(payload, "\n")
	switch typ, ok := templateType(first); {
	case typ == "jinja":
		return renderJinja(text, r.InstanceData)
	case r.Version.has(jinjaMustSayJinja), ok && typ != "basic":
		return "", errors.New("its first line is not \"## template: jinja\"")
	case ok:
		return renderBasic(text)
	}
	return renderBasic(payload)
}

// renderBasic renders a template of cloud-init's own kind, which has variables of the form $name and ${name}.
func renderBasic(text string) (string, error) {
	for i := range len(text) - 1 {
		switch next := text[i+1]; {
		case text[i] == '$' && (next == '{' || next == '_' || next == '.' || next >= '0' && next <= '9' || next|0x20 >= 'a' && next|0x20 <= 'z'):
			return "", fmt.Errorf("a template with variables: %w", errUnpredictable)
		}
	}
	return text, nil
}

func renderJinja(text string, data map[string]string) (string, error) {
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

// templateType is what stands behind "## template:" in a first line; false where that does not stand there.
func templateType(first string) (string, bool) {
	rest, ok := strings.CutPrefix(first, "##")
	if !ok {
		return "", false
	}
	rest = strings.TrimLeftFunc(rest, pyyaml.IsSpace)
	if len(rest) < len("template:") || !strings.EqualFold(rest[:len("template:")], "template:") {
		return "", false
	}
	return pyyaml.Strip(pyLower(rest[len("template:"):])), true
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
