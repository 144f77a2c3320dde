package report

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// TextOptions says how Text prints.
type TextOptions struct {
	// Sources maps file names to their bytes: where a finding's file is there, its line is shown with a caret.
	Sources map[string][]byte
	// Snippets turns source lines on; they are for people, so the CLI sets it on a terminal only.
	Snippets bool
	// Mask takes credentials out of a source line, and leaves everything where it is. It may be nil.
	Mask func(line string) string
	// Color uses ANSI colors. The CLI sets it on a terminal, unless NO_COLOR is set.
	Color bool
}

// Text prints findings, one a line, as "file:line:col: severity: message [code]", with the remedy on a "hint:" line
// of its own. What is the same of several instance groups is said once, at the place of the first.
func Text(w io.Writer, findings []Finding, opts TextOptions) error {
	var b bytes.Buffer
	for _, f := range sameOnce(findings) {
		if p := f.Position.String(); p != "" {
			fmt.Fprintf(&b, "%s: ", Clean(p))
		} else {
			b.WriteString("kopshook: ")
		}
		fmt.Fprintf(&b, "%s: %s", opts.severity(f.Severity), Clean(f.Message))
		if f.Code != "" {
			fmt.Fprintf(&b, " [%s]", Clean(f.Code))
		}
		b.WriteByte('\n')
		if opts.Snippets {
			opts.snippet(&b, f)
		}
		for line := range strings.Lines(f.Detail) {
			fmt.Fprintf(&b, "    %s\n", Clean(strings.TrimSuffix(line, "\n")))
		}
		if f.Remedy != "" {
			fmt.Fprintf(&b, "  hint: %s\n", Clean(f.Remedy))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// sameOnce keeps the first of findings that differ in the instance group and the place alone, and adds the others' names to it.
func sameOnce(findings []Finding) []Finding {
	var kept []Finding
	at, groups := map[Finding]int{}, map[int][]string{}
	for _, f := range findings {
		if f.Group == "" {
			kept = append(kept, f)
			continue
		}
		key := f
		key.Message, key.Position, key.Group = strings.ReplaceAll(f.Message, strconv.Quote(f.Group), `""`), Position{}, ""
		i, known := at[key]
		if !known {
			i = len(kept)
			at[key] = i
			kept = append(kept, f)
		}
		groups[i] = append(groups[i], f.Group)
	}
	for i, names := range groups {
		kept[i].Message += SameFor(names)
	}
	return kept
}

// SameFor ends a message that holds for several instance groups, and names one; "" for one alone.
func SameFor(names []string) string {
	if len(names) < 2 {
		return ""
	}
	return fmt.Sprintf("; the same for %s groups: %s", Thousands(len(names)), Some(names, 10))
}

// Some lists names: of more than most, as many with the number of the others.
func Some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %s more", strings.Join(names[:most], ", "), Thousands(len(names)-most))
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
	if o.Mask != nil {
		line = []byte(o.Mask(string(line)))
	}
	runes := []rune(Clean(strings.ReplaceAll(strings.TrimSuffix(string(line), "\r"), "\t", " ")))
	col := min(max(f.Col, 1), len(runes)+1) - 1
	start, end := window(runes, col)
	indent := len(fmt.Sprint(f.Line))
	text := strings.TrimRight(string(runes[start:end]), " ")
	fmt.Fprintf(b, "%*s |\n%d | %s\n", indent, "", f.Line, text)
	if f.Col > 0 {
		fmt.Fprintf(b, "%*s | %s^\n", indent, "", strings.Repeat(" ", cells(runes[start:col])))
	}
}

// window returns what of a line is shown around the rune at col: all of it, or about a screen's width.
func window(line []rune, col int) (start, end int) {
	const before, most = 50, 100
	if cells(line[:col]) > before+20 {
		for start = col; start > 0 && cells(line[start-1:col]) <= before; start-- {
		}
	}
	for end = start; end < len(line) && cells(line[start:end+1]) <= most; end++ {
	}
	return start, end
}

// cells is how many columns of a terminal the runes take.
func cells(runes []rune) int {
	n := 0
	for _, r := range runes {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// OneLine is what Text prints of somebody's words where there is room for one line.
func OneLine(s string) string {
	return Clean(strings.ReplaceAll(s, "\n", string(utf8.RuneError)))
}

// Cut is at most so many characters of somebody's words.
func Cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// command is what a CI system takes for a command in a log: GitHub's "::NAME" behind any white space at the start of a
// line (actions/runner, src/Runner.Common/ActionCommand.cs), and its and Azure's "##[NAME" and "##vso[NAME" anywhere.
var command = regexp.MustCompile(`(?m)^([\s\pZ]*):(:)|(##)((?:vso)?\[)`)

// Clean keeps what would control the terminal or a CI system, or turn the direction of its text, out of somebody's words.
// Line feeds become lines that are indented, so that no input can make up a finding.
func Clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("\n    ")
		case controls(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	if s = b.String(); strings.Contains(s, "::") || strings.Contains(s, "##") {
		s = command.ReplaceAllString(s, "$1$3"+string(utf8.RuneError)+"$2$4")
	}
	return s
}

// Visible is a text of many lines for a terminal: what would control it, or turn the direction of its text, is shown as
// U+FFFD.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && controls(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

func controls(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
}
