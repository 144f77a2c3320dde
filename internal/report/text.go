package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// TextOptions says how Text prints.
type TextOptions struct {
	// Sources maps file names to their bytes: where a finding's file is there, its line is shown with a caret.
	Sources map[string][]byte
	// Snippets turns source lines on; they are for people, so the CLI sets it on a terminal only.
	Snippets bool
	// Color uses ANSI colors. The CLI sets it on a terminal, unless NO_COLOR is set.
	Color bool
}

// Text prints findings, one a line, as "file:line:col: severity: message [code]", with the remedy on a "hint:" line
// of its own.
func Text(w io.Writer, findings []Finding, opts TextOptions) error {
	var b bytes.Buffer
	for _, f := range findings {
		if p := f.Position.String(); p != "" {
			fmt.Fprintf(&b, "%s: ", clean(p))
		} else {
			b.WriteString("kopshook: ")
		}
		fmt.Fprintf(&b, "%s: %s", opts.severity(f.Severity), clean(f.Message))
		if f.Code != "" {
			fmt.Fprintf(&b, " [%s]", f.Code)
		}
		b.WriteByte('\n')
		if opts.Snippets {
			opts.snippet(&b, f)
		}
		if f.Remedy != "" {
			fmt.Fprintf(&b, "  hint: %s\n", clean(f.Remedy))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (o TextOptions) severity(s Severity) string {
	if !o.Color {
		return s.String()
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", [...]int{31, 33, 36}[s], s)
}

// snippet prints the finding's source line and a caret under its column. Long lines are cut around the column.
func (o TextOptions) snippet(b *bytes.Buffer, f Finding) {
	src, ok := o.Sources[f.File]
	if !ok || f.Line == 0 {
		return
	}
	for range f.Line - 1 {
		_, rest, more := bytes.Cut(src, []byte("\n"))
		if !more {
			return
		}
		src = rest
	}
	line, _, _ := bytes.Cut(src, []byte("\n"))
	runes := []rune(strings.TrimSuffix(string(line), "\r"))
	col := min(max(f.Col, 1), len(runes)+1)
	const before, width = 50, 100
	start := 0
	if col > before+20 {
		start = col - before
	}
	end := min(len(runes), start+width)
	indent := len(fmt.Sprint(f.Line))
	fmt.Fprintf(b, "%*s |\n%d | %s\n", indent, "", f.Line, clean(strings.ReplaceAll(string(runes[start:end]), "\t", " ")))
	if f.Col > 0 {
		fmt.Fprintf(b, "%*s | %s^\n", indent, "", strings.Repeat(" ", col-1-start))
	}
}

// clean keeps control characters of somebody's input from reaching the terminal.
func clean(s string) string {
	bad := func(r rune) bool { return r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError }
	if !strings.ContainsFunc(s, bad) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return '\ufffd'
		}
		return r
	}, s)
}
