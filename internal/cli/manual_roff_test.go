package cli

import (
	"fmt"
	"strings"
)

// roff returns the manual page docs/man/kopshook.1, in the macros of man(7).
func (m manual) roff() string {
	var b strings.Builder
	// neither hyphens nor wide gaps in names that people copy
	b.WriteString(".TH KOPSHOOK 1 \"\" kopshook \"User Commands\"\n.nh\n.ad l\n.SH NAME\n" + roffText(m.name+" - "+m.usage) + ".SH SYNOPSIS\n")
	b.WriteString(roffLines(m.synopsis) + ".SH DESCRIPTION\n")
	roffPassages(&b, m.description)
	b.WriteString(".PP\n" + roffText("Options and files may be given in any order; -- ends the options, and - is standard input. An option that is not for a list is given once, and no option has an empty value. Each document of a "+
		"file is told by its kind. Results go to standard output, everything else to standard error, and nothing to standard output when "+
		"anything is wrong. Files are written all or none."))
	b.WriteString(".SH OPTIONS OF SEVERAL COMMANDS\n")
	roffOptions(&b, m.common)
	b.WriteString(".SH COMMANDS\n")
	for _, c := range m.commands {
		b.WriteString(".SS " + roffQuote("kopshook "+c.name) + upperFirst(roffText(c.usage+".")))
		b.WriteString(".PP\n" + roffLines(c.synopsis))
		if len(c.description) > 0 && c.description[0].text != "" {
			b.WriteString(".PP\n")
		}
		roffPassages(&b, c.description)
		roffOptions(&b, c.options)
		if len(c.common) > 0 {
			var names []string
			for _, o := range c.common {
				names = append(names, o.names[len(o.names)-1])
			}
			b.WriteString(".PP\n" + roffText("As in other commands: "+strings.Join(names, ", ")+"."))
		}
	}
	for _, list := range []struct {
		title string
		rows  [][2]string
	}{
		{"EXIT STATUS", exitCodes},
		{"ENVIRONMENT", environment},
		{"FILES", files},
		{"FILES ON A NODE", nodeFiles},
	} {
		b.WriteString(".SH " + list.title + "\n")
		for _, row := range list.rows {
			roffTerm(&b, row[0], row[1])
		}
	}
	b.WriteString(".SH SEE ALSO\n" + roffText("cloud-init(1), systemd.unit(5), journalctl(1)"))
	return b.String()
}

func roffPassages(b *strings.Builder, passages []passage) {
	for i, p := range passages {
		switch {
		case p.code != nil:
			b.WriteString(".PP\n.RS 4\n.nf\n")
			for _, line := range p.code {
				b.WriteString(roffText(line))
			}
			b.WriteString(".fi\n.RE\n")
		case p.terms != nil:
			for _, t := range p.terms {
				roffTerm(b, t[0], t[1])
			}
		default:
			if i > 0 {
				b.WriteString(".PP\n")
			}
			b.WriteString(roffText(p.text))
		}
	}
}

func roffOptions(b *strings.Builder, options []option) {
	for _, o := range options {
		roffTerm(b, o.syntax(), o.says())
	}
}

func roffTerm(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, ".TP\n.B %s%s", roffText(name), roffText(text))
}

// roffLines are lines in bold that are not filled: words of a synopsis stay together.
func roffLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(".B " + roffText(strings.TrimSpace(line)))
	}
	return ".nf\n" + b.String() + ".fi\n"
}

// roffText is a line of text. A hyphen is a minus sign, since people copy options; a dot or an apostrophe at the
// beginning of a line would be a request.
func roffText(s string) string {
	s = strings.NewReplacer(`\`, `\(rs`, "-", `\-`, "`", "", "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`).Replace(s)
	for _, word := range strings.Fields(s) {
		if len(word) > 50 { // a path that fits into no line
			s = strings.Replace(s, word, strings.ReplaceAll(word, "/", `/\:`), 1)
		}
	}
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s + "\n"
}

func roffQuote(s string) string {
	return `"` + strings.TrimSuffix(roffText(s), "\n") + "\"\n"
}
