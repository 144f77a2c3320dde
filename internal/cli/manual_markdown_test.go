package cli

import (
	"fmt"
	"strings"
)

// markdown returns docs/commands.md.
func (m manual) markdown() string {
	var b strings.Builder
	b.WriteString(`# Commands

This page is made from the program itself: ` + "`kopshook COMMAND --help`" + ` says the same. A
[manual page](man/kopshook.1) holds it, too: ` + "`man -l docs/man/kopshook.1`" + `.

- Options and files may be given in any order. ` + "`--`" + ` ends the options, ` + "`-`" + ` is standard input. An option that is not for a
  list is given once, and no option has an empty value.
- Each document of a file is told by its kind: hook specs and manifests may be given in any order, also in one file.
- Results go to standard output, everything else to standard error. Nothing is printed to standard output when anything
  is wrong.
- Nothing is written half: a file is as it was, or all of it is new.
- Examples name files of this project, and run in a clone of it.

| command | |
| --- | --- |
`)
	for _, c := range m.commands {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", c.name, c.name, inCell(c.usage))
	}
	b.WriteString("\n## Options of several commands\n\n")
	writeOptions(&b, m.common)
	for _, c := range m.commands {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```text\n%s\n```\n", c.name, upperFirst(escape(c.usage)), c.synopsis)
		writePassages(&b, c.description)
		if len(c.options) > 0 {
			b.WriteString("\n")
			writeOptions(&b, c.options)
		}
		if len(c.common) > 0 {
			var names []string
			for _, o := range c.common {
				names = append(names, "`"+o.names[len(o.names)-1]+"`")
			}
			fmt.Fprintf(&b, "\n[As in other commands](#options-of-several-commands): %s.\n", strings.Join(names, ", "))
		}
	}
	b.WriteString("\n## Exit codes\n\n| code | |\n| --- | --- |\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %s | %s |\n", e[0], inCell(e[1]))
	}
	for _, table := range []struct {
		title, column string
		rows          [][2]string
	}{
		{"Environment", "variable", environment},
		{"Files", "file", files},
		{"Files on a node", "file", nodeFiles},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| %s | |\n| --- | --- |\n", table.title, table.column)
		for _, row := range table.rows {
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(row[0], ", ", "`, `"), inCell(row[1]))
		}
	}
	b.WriteString("\nWhat hooks find in their environment is in [spec.md](spec.md) and, of `exec`, in [cluster-hooks.md](cluster-hooks.md).\n")
	return b.String()
}

func writePassages(b *strings.Builder, passages []passage) {
	for _, p := range passages {
		b.WriteString("\n")
		switch {
		case p.code != nil:
			// TestHelpExamples runs them
			fmt.Fprintf(b, "```sh example\n%s\n```\n", strings.Join(p.code, "\n"))
		case p.terms != nil:
			for _, t := range p.terms {
				fmt.Fprintf(b, "- `%s`: %s\n", t[0], escape(t[1]))
			}
		default:
			b.WriteString(escape(p.text) + "\n")
		}
	}
}

func writeOptions(b *strings.Builder, options []option) {
	b.WriteString("| option | |\n| --- | --- |\n")
	for _, o := range options {
		fmt.Fprintf(b, "| `%s` | %s |\n", o.syntax(), inCell(o.says()))
	}
}

// escape keeps Markdown from reading signs as its own. Backquotes are meant.
func escape(s string) string { return strings.NewReplacer("*", `\*`, "<", `\<`).Replace(s) }

// inCell is escape for a cell of a table.
func inCell(s string) string { return strings.ReplaceAll(escape(s), "|", `\|`) }

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
