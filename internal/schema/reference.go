package schema

import (
	"cmp"
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/strict"
)

// Reference returns the page docs/spec.md, made from the same table as decoding, defaults and the schema.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, o := range hookspec.Objects() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| field | holds | default | |\n| --- | --- | --- | --- |\n", strings.ToUpper(o.Name[:1])+o.Name[1:], o.Doc)
		for i := range o.Fields {
			f := &o.Fields[i]
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, holds(f), defaults(f), cell(meaning(f)))
		}
	}
	b.WriteString(matrix())
	return b.String()
}

// matrix is what a hook's fields default to in each phase, and which phases refuse them.
func matrix() string {
	var b strings.Builder
	b.WriteString("\n## Defaults by phase\n\n`-` is where a phase refuses a field; the message says why, and what to do instead.\n\n| field |")
	for _, phase := range hookspec.Phases {
		fmt.Fprintf(&b, " `%s` |", phase)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(hookspec.Phases)) + "\n")
	for _, o := range hookspec.Objects() {
		for i := range o.Fields {
			if f := &o.Fields[i]; o.Name == "hook" && f.Name != "name" && f.Name != "phase" {
				fmt.Fprintf(&b, "| `%s` |", f.Name)
				for _, phase := range hookspec.Phases {
					fmt.Fprintf(&b, " %s |", whatPhaseTakes(f, phase))
				}
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

func whatPhaseTakes(f *strict.Field, phase hookspec.Phase) string {
	refused := f.Refused(phase)
	switch {
	case refused == nil:
		return cmp.Or(f.DefaultFor(phase), "yes")
	case refused.Except != "":
		return "only " + refused.Except
	}
	return "-"
}

const referenceHead = `# The hook spec, field by field

A hook spec is YAML or JSON, several documents in one file if you like. Unknown keys, duplicate keys and wrong types are
errors with file, line and column. ` + "`kopshook new`" + ` writes a spec to begin with, [recipes](recipes/) are whole ones, and
[phases](phases.md) says when hooks run and what they find.

Hooks run in the order of their phases; within a phase by ` + "`weight`" + `, lighter ones
first, and hooks of the same weight by name. The order in which they stand in the file means nothing.

## In editors

Editors with the YAML language server (VS Code, Neovim, Helix and others) complete fields, show what they mean, and
underline mistakes. Keep the schema in the folder of the specs:

` + "```sh\nkopshook schema > hooks.schema.json\n```" + `

` + "`kopshook new`" + ` and ` + "`kopshook adopt`" + ` then write a first line that names it. Write it into specs that you have already:
` + "`# yaml-language-server: $schema=hooks.schema.json`" + `. Make the file again after an upgrade of kopshook.

A schema cannot say everything: ` + "`kopshook lint`" + ` has the last word.
`

func holds(f *strict.Field) string {
	s := string(f.Type)
	if f.Of != nil {
		s = fmt.Sprintf("[%s](#%s)", s, strings.ToLower(f.Of.Name))
	}
	if len(f.Enum) > 0 {
		s += ": `" + strings.Join(f.Enum, "`, `") + "`"
	}
	if f.Min != 0 || f.Max != 0 {
		unit := ""
		if f.Type == strict.Span {
			unit = " s"
		}
		s += fmt.Sprintf(", %d to %d%s", f.Min, f.Max, unit)
	}
	return cell(s)
}

func defaults(f *strict.Field) string {
	if f.Required {
		return "required"
	}
	var list []string
	if f.Default != "" {
		list = append(list, "`"+f.Default+"`")
	}
	for _, d := range f.DefaultIn {
		list = append(list, fmt.Sprintf("`%s` in `%s`", d.Value, d.Phase))
	}
	return strings.Join(list, ", ")
}

// meaning is the field's doc, what its text must be, and the phases that do not take it.
func meaning(f *strict.Field) string {
	s := f.Doc
	if f.Says != "" {
		s += " Must be " + f.Says + "."
	}
	for _, n := range f.Not {
		var phases []string
		for _, p := range n.Phases {
			phases = append(phases, "`"+string(p)+"`")
		}
		s += fmt.Sprintf(" Not in %s: %s.", strings.Join(phases, ", "), n.Why)
	}
	return s
}

// cell keeps a text within its cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
