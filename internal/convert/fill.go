package convert

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"gopkg.in/yaml.v3"
)

// A chart is somebody else's program: these bound what it may do.
const (
	maxSteps = 100_000 // runs of a loop's body, of a branch or of a template
	maxText  = 8 << 20 // bytes that its functions make, and what it prints
)

var (
	errEndless = fmt.Errorf("it has not ended after %d steps", maxSteps)
	errLong    = fmt.Errorf("it makes more than %d MiB of text", maxText>>20)
)

// filler executes a template within these bounds.
type filler struct {
	steps, text int
	out         bytes.Buffer
}

func fill(text string, values any) ([]byte, error) {
	f := &filler{}
	step := template.FuncMap{"step": f.step}
	t, err := template.New("").Option("missingkey=zero").Funcs(f.funcs()).Funcs(step).Parse(text)
	if err != nil {
		return nil, err
	}
	count := template.Must(template.New("").Funcs(step).Parse("{{step}}")).Root.Nodes[0]
	for _, t := range t.Templates() {
		if t.Tree != nil {
			countSteps(t.Root, count)
		}
	}
	err = t.Execute(f, values)
	return f.out.Bytes(), err
}

// countSteps has each list of nodes begin with a node.
func countSteps(list *parse.ListNode, count parse.Node) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.RangeNode:
			countSteps(n.List, count)
			countSteps(n.ElseList, count)
		case *parse.IfNode:
			countSteps(n.List, count)
			countSteps(n.ElseList, count)
		case *parse.WithNode:
			countSteps(n.List, count)
			countSteps(n.ElseList, count)
		}
	}
	list.Nodes = slices.Insert(list.Nodes, 0, count)
}

func (f *filler) step() (string, error) {
	if f.steps++; f.steps > maxSteps {
		return "", errEndless
	}
	return "", nil
}

// Write takes what the template prints.
func (f *filler) Write(p []byte) (int, error) {
	if err := f.takes(len(p)); err != nil {
		return 0, err
	}
	return f.out.Write(p)
}

// takes notes that n more bytes are made.
func (f *filler) takes(n int) error {
	if f.text += n; f.text > maxText {
		return errLong
	}
	return nil
}

// made returns a string that a function has made.
func (f *filler) made(s string) (string, error) { return s, f.takes(len(s)) }

// of gives a function of one value, whose result is a few times as long as the value at most.
func (f *filler) of(make func(string) string) func(any) (string, error) {
	return func(v any) (string, error) { return f.made(make(textOf(v))) }
}

// ofAll is of for functions of any number of values.
func (f *filler) ofAll(make func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		for _, a := range args {
			if s, ok := a.(string); ok {
				if err := f.takes(len(s)); err != nil {
					return "", err
				}
			}
		}
		return f.made(make(args...))
	}
}

// wide is what makes printf write more than it is given: widths of many digits, those that are taken from arguments, and
// arguments by their number.
var wide = regexp.MustCompile(`%[^a-zA-Z%]*(\*|\[|[0-9]{4})`)

func (f *filler) printf(format string, args ...any) (string, error) {
	if wide.MatchString(format) || strings.Count(format, "%")*1000 > maxText {
		return "", errors.New("printf with such a format")
	}
	return f.ofAll(func(args ...any) string { return fmt.Sprintf(format, args...) })(args...)
}

func (f *filler) replace(old, with string, v any) (string, error) {
	s := textOf(v)
	if n := strings.Count(s, old); n*len(with) > maxText {
		return "", errLong
	}
	return f.made(strings.ReplaceAll(s, old, with))
}

func (f *filler) indent(n int, v any) (string, error) {
	pad := strings.Repeat(" ", max(0, min(n, 100)))
	return f.replace("\n", "\n"+pad, pad+textOf(v))
}

func textOf(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// funcs are functions of Helm's that act on strings, and those of text/template that make any.
func (f *filler) funcs() template.FuncMap {
	return template.FuncMap{
		"default": func(otherwise any, given ...any) any {
			if len(given) == 0 || given[0] == nil || given[0] == "" || given[0] == 0 || given[0] == false {
				return otherwise
			}
			return given[0]
		},
		"required": func(message string, v any) (any, error) {
			if v == nil || v == "" {
				return nil, fmt.Errorf("%s", message)
			}
			return v, nil
		},
		"quote":      f.of(strconv.Quote),
		"squote":     f.of(func(s string) string { return "'" + s + "'" }),
		"toString":   f.of(func(s string) string { return s }),
		"upper":      f.of(strings.ToUpper),
		"lower":      f.of(strings.ToLower),
		"trim":       f.of(strings.TrimSpace),
		"trimSuffix": func(suffix string, v any) string { return strings.TrimSuffix(textOf(v), suffix) },
		"trimPrefix": func(prefix string, v any) string { return strings.TrimPrefix(textOf(v), prefix) },
		"replace":    f.replace,
		"trunc": func(n int, v any) string {
			s := textOf(v)
			if n >= 0 && n < len(s) {
				return s[:n]
			}
			return s
		},
		"indent": f.indent,
		"nindent": func(n int, v any) (string, error) {
			s, err := f.indent(n, v)
			return "\n" + s, err
		},
		"b64enc": f.of(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"toYaml": func(v any) (string, error) {
			b, err := yaml.Marshal(v)
			if err != nil {
				return "", err
			}
			return f.made(strings.TrimSuffix(string(b), "\n"))
		},
		"print":    f.ofAll(fmt.Sprint),
		"println":  f.ofAll(fmt.Sprintln),
		"printf":   f.printf,
		"html":     f.ofAll(template.HTMLEscaper),
		"js":       f.ofAll(template.JSEscaper),
		"urlquery": f.ofAll(template.URLQueryEscaper),
	}
}
