package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

func init() {
	theirs := cli.HelpPrinter
	cli.HelpPrinter = func(w io.Writer, template string, data any) {
		switch d := data.(type) {
		case *cli.App:
			io.WriteString(w, appHelp(d))
		case *cli.Command:
			io.WriteString(w, commandHelp(d))
		default:
			theirs(w, template, data)
		}
	}
}

// helpWidth is how wide help is, as terminals are at least.
const helpWidth = 80

// categories are the commands as the help groups them, in the order in which people need them. Those that it does not name come last.
var categories = []struct {
	title    string
	commands []string
}{
	{"write hooks", []string{"new", "adopt", "convert", "schema"}},
	{"review", []string{"lint", "explain", "list", "diff", "check", "try"}},
	{"ship", []string{"merge", "render", "edit", "fn", "external", "lock", "vendor", "fit", "push", "bake", "addon", "exec"}},
	{"on the node", []string{"status"}},
}

func appHelp(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\nusage: %s\n\n", app.Name, app.Usage, app.UsageText)
	helpText(&b, app.Description)
	left := map[string]*cli.Command{}
	for _, c := range app.VisibleCommands() {
		left[c.Name] = c
	}
	for _, category := range categories {
		fmt.Fprintf(&b, "\n%s:\n", category.title)
		for _, name := range category.commands {
			helpTerm(&b, 3, 15, name, left[name].Usage)
			delete(left, name)
		}
	}
	b.WriteString("\nmore:\n")
	for _, c := range app.VisibleCommands() {
		if left[c.Name] != nil && c.Name != "help" {
			helpTerm(&b, 3, 15, c.Name, c.Usage)
		}
	}
	helpTerm(&b, 3, 15, "help", "print this, or the help of a command: kopshook help COMMAND")
	return b.String()
}

func commandHelp(c *cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - ", c.HelpName)
	helpWrap(&b, 3, c.Usage, utf8.RuneCountInString(c.HelpName)+3)
	for i, usage := range strings.Split(c.UsageText, "\n") {
		head := "       "
		if i == 0 {
			head = "\nusage: "
		}
		b.WriteString(head)
		helpWrap(&b, 10, strings.TrimSpace(usage), 7)
	}
	if c.Description != "" {
		b.WriteString("\n")
		helpText(&b, c.Description)
	}
	subcommands := slices.DeleteFunc(c.VisibleCommands(), func(sub *cli.Command) bool { return sub.Name == "help" })
	for i, sub := range subcommands {
		if i == 0 {
			b.WriteString("\ncommands:\n")
		}
		helpTerm(&b, 3, 15, sub.Name, sub.Usage)
	}
	b.WriteString("\noptions:\n")
	for _, f := range c.VisibleFlags() {
		o := describeOption(f)
		helpTerm(&b, 3, 26, o.syntax(), o.says())
	}
	return b.String()
}

// helpText prints a description: paragraphs are wrapped, and so are terms and what they mean. Code that is too long goes on
// in a further line, as shells take it.
func helpText(b *strings.Builder, text string) {
	colon := false
	for i, p := range passages(text) {
		if i > 0 && (p.text != "" || !colon) {
			b.WriteString("\n")
		}
		colon = strings.HasSuffix(p.text, ":")
		switch {
		case p.text != "":
			helpWrap(b, 0, p.text, 0)
		case p.terms != nil:
			for _, t := range p.terms {
				helpTerm(b, 3, 12, t[0], t[1])
			}
		default:
			for _, line := range p.code {
				b.WriteString("   ")
				for utf8.RuneCountInString(line) > helpWidth-3 {
					at := strings.LastIndex(line[:helpWidth-5], " ")
					if at < 0 {
						break
					}
					b.WriteString(line[:at] + " \\\n     ")
					line = strings.TrimLeft(line[at:], " ")
				}
				b.WriteString(line + "\n")
			}
		}
	}
}

// helpTerm prints a term and, from a column on, what it means.
func helpTerm(b *strings.Builder, indent, column int, term, text string) {
	b.WriteString(strings.Repeat(" ", indent) + term)
	at := indent + utf8.RuneCountInString(term)
	if at+2 > column {
		b.WriteString("\n")
		at = 0
	}
	b.WriteString(strings.Repeat(" ", column-at))
	helpWrap(b, column, text, column)
}

// helpWrap prints words from column at on, further lines indented.
func helpWrap(b *strings.Builder, indent int, text string, at int) {
	first := true
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case first:
		case at+1+n > helpWidth:
			at = max(0, min(indent, helpWidth-n)) // an address may be long
			b.WriteString("\n" + strings.Repeat(" ", at))
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at, first = at+n, false
	}
	b.WriteString("\n")
}

// passage is a part of a help text: a paragraph, terms with what they mean, or lines of code.
type passage struct {
	text  string
	terms [][2]string
	code  []string
}

var termLine = regexp.MustCompile(`^   (\S+) {2,}(\S.*)$`)

// passages reads a help text: lines that begin with spaces are terms when each names one, and code otherwise.
func passages(text string) []passage {
	var all []passage
	inside := false // a paragraph that the next line goes on with
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, "   ")
		var last *passage
		if len(all) > 0 {
			last = &all[len(all)-1]
		}
		switch {
		case line == "":
			inside = false
			continue
		case !indented && inside && last.text != "":
			last.text += " " + line
		case !indented:
			all = append(all, passage{text: line})
		case termLine.MatchString(line) && inside && last.terms != nil:
			m := termLine.FindStringSubmatch(line)
			last.terms = append(last.terms, [2]string{m[1], m[2]})
		case termLine.MatchString(line):
			m := termLine.FindStringSubmatch(line)
			all = append(all, passage{terms: [][2]string{{m[1], m[2]}}})
		case strings.HasPrefix(line, "    ") && inside && last.terms != nil:
			last.terms[len(last.terms)-1][1] += " " + strings.TrimSpace(line)
		case inside && last.code != nil:
			last.code = append(last.code, line[3:])
		default:
			all = append(all, passage{code: []string{line[3:]}})
		}
		inside = true
	}
	return all
}
