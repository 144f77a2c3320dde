package instancegroups

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/kops/pkg/apis/kops"
	sigsyaml "sigs.k8s.io/yaml"
)

// printer writes parts in the form that kops prints. Many groups have the same parts, so it keeps what it wrote.
// The zero value is ready to use, also concurrently.
type printer struct {
	printed sync.Map // printKey to string
}

type printKey struct {
	part   kops.UserData
	indent int
}

// check refuses a part that kops cannot print, or would change when it stores it.
func (p *printer) check(u kops.UserData) error {
	if isPlain(u) {
		return nil
	}
	_, err := p.part(u, 0)
	return err
}

// part returns a part as an item of a block list whose "-" stands behind indent spaces.
func (p *printer) part(u kops.UserData, indent int) (string, error) {
	key := printKey{u, indent}
	if s, ok := p.printed.Load(key); ok {
		return s.(string), nil
	}
	var s string
	if isPlain(u) {
		s = printPlain(u, indent)
	} else {
		data, err := json.Marshal(v1Part(u))
		if err != nil {
			return "", err
		}
		if s, err = printItem(data, indent); err != nil {
			return "", fmt.Errorf("kops cannot print it: %w", err)
		}
		if !survives(s, u) {
			return "", errors.New("kops would change it when it stores it")
		}
	}
	p.printed.Store(key, s)
	return s, nil
}

// survives says whether kops reads back the part that it printed: its way from JSON to YAML changes U+0085.
func survives(printed string, u kops.UserData) bool {
	r, err := readYAML([]byte(printed))
	return err == nil && len(r.root.items) == 1 && r.part(&r.root.items[0]).UserData == u
}

// v1Part has the fields of a part in kops' order for JSON (v1alpha2/instancegroup.go:240).
type v1Part struct {
	Name    string `json:"name,omitempty"`
	Type    string `json:"type,omitempty"`
	Content string `json:"content,omitempty"`
}

// printItem prints an item, given as JSON, as kops does: with sigs.k8s.io/yaml.
func printItem(item []byte, indent int) (string, error) {
	const head = "spec:\n  additionalUserData:\n"
	data, err := sigsyaml.JSONToYAML(fmt.Appendf(nil, `{"spec":{"additionalUserData":[%s]}}`, item))
	if err != nil {
		return "", err
	}
	s, ok := strings.CutPrefix(string(data), head)
	if !ok {
		return "", fmt.Errorf("unexpected YAML: %.40q", data)
	}
	return reindent(s, indent-2), nil
}

// reindent moves lines to the right, or to the left where n is negative. Empty lines stay empty.
func reindent(s string, n int) string {
	if n == 0 {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		switch {
		case line == "\n":
		case n > 0:
			writeSpaces(&b, n)
		default:
			line = line[-n:]
		}
		b.WriteString(line)
	}
	return b.String()
}

// isPlain says whether kops prints a part as printPlain does, without doubt. Nearly all parts are so.
func isPlain(u kops.UserData) bool {
	return plainName(u.Name, Prefix) && plainName(u.Type, "text/") && literal(u.Content)
}

// printPlain prints a part without the detour through the YAML library: the content as a literal scalar. A test
// compares both.
func printPlain(u kops.UserData, indent int) string {
	var b strings.Builder
	b.Grow(len(u.Content) + strings.Count(u.Content, "\n")*(indent+4) + 100)
	writeSpaces(&b, indent)
	b.WriteString("- content: |\n")
	for line := range strings.Lines(u.Content) {
		if line != "\n" {
			writeSpaces(&b, indent+4)
		}
		b.WriteString(line)
	}
	writeSpaces(&b, indent+2)
	b.WriteString("name: " + u.Name + "\n")
	writeSpaces(&b, indent+2)
	b.WriteString("type: " + u.Type + "\n")
	return b.String()
}

// plainName says whether a string is a plain YAML scalar without doubt.
func plainName(s, prefix string) bool {
	if !strings.HasPrefix(s, prefix) || len(s) > 70 {
		return false
	}
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '/') {
			return false
		}
	}
	return true
}

// literal says whether yaml.v2 prints a content as a literal scalar without indicators: printable ASCII, one line break
// at the end, no space before a line break, and neither a space nor a line break at the begin.
func literal(s string) bool {
	if len(s) < 2 || s[0] == ' ' || s[0] == '\n' || s[len(s)-1] != '\n' || s[len(s)-2] == '\n' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c == '\n' {
			if s[i-1] == ' ' {
				return false
			}
		} else if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return true
}

func writeSpaces(b *strings.Builder, n int) {
	const spaces = "                                "
	for ; n > len(spaces); n -= len(spaces) {
		b.WriteString(spaces)
	}
	b.WriteString(spaces[:n])
}
