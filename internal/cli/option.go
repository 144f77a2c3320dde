package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// option is what help, the manual page and docs/commands.md say of an option.
type option struct {
	names    []string // with their dashes, the short one first
	value    string   // what stands for its value, "" when it takes none
	text     string
	fallback string // its default, "" when the text says it or there is none
	env      []string
}

func describeOption(f cli.Flag) option {
	var o option
	for _, name := range f.Names() {
		if len(name) == 1 {
			o.names = append([]string{"-" + name}, o.names...)
		} else {
			o.names = append(o.names, "--"+name)
		}
	}
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return o
	}
	o.text, o.env = d.GetUsage(), d.GetEnvVars()
	before, rest, _ := strings.Cut(o.text, "`")
	if value, after, quoted := strings.Cut(rest, "`"); quoted {
		o.value, o.text = value, before+value+after
	}
	if d.TakesValue() {
		o.fallback = strings.Trim(d.GetDefaultText(), `"`)
	}
	return o
}

// syntax is "-f, --file SPEC".
func (o option) syntax() string {
	return strings.TrimSpace(strings.Join(o.names, ", ") + " " + o.value)
}

// says is the text, with the default and the environment variable.
func (o option) says() string {
	s := o.text
	if o.fallback != "" {
		s += fmt.Sprintf(" (default: %s)", o.fallback)
	}
	for _, name := range o.env {
		s += fmt.Sprintf(" [$%s]", name)
	}
	return s
}

func (o option) helpLine() string { return o.syntax() + "\t" + o.says() }
