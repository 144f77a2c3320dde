package explain

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/report"
)

// Screen is what a text is for. A terminal has a width, in columns, to which names are cut. The zero value is a pipe or a
// file: nothing is cut, and lines are of 80 columns where they can be.
type Screen struct {
	Width int
	Color bool
}

const (
	usualWidth = 80
	mostWidth  = 160 // lines that are longer are hard to follow
)

// Texts prints the timelines of groups: with several, first a table of them, then each that is the same for some groups once.
func Texts(w io.Writer, all []*Timeline, on Screen) error {
	folded := Fold(all)
	if len(all) > 1 {
		var rows []Row
		for _, t := range all {
			rows = append(rows, t.Row())
		}
		if err := Table(w, rows, on); err != nil {
			return err
		}
		fmt.Fprint(w, reasons(folded, on), "\n\n")
	}
	for i, t := range folded {
		if i > 0 {
			fmt.Fprint(w, "\n\n")
		}
		if err := Text(w, t, on); err != nil {
			return err
		}
	}
	return nil
}

// reasons says of each group with which something is wrong, or may be, what that is: the same of several once. An empty line
// is before them.
func reasons(folded []*Timeline, on Screen) string {
	p := newTextPrinter(on)
	for _, t := range folded {
		if why := t.Row().Why; why != "" {
			if p.b.Len() == 0 {
				p.line("")
			}
			for _, s := range report.Wrap(t.title()+": "+why, p.width) {
				p.line("%s", s)
			}
		}
	}
	return p.b.String()
}

// Text prints a timeline.
func Text(w io.Writer, t *Timeline, on Screen) error {
	p := newTextPrinter(on)
	title := t.title()
	if t.Cluster != "" && !strings.Contains(title, "/") {
		title += ", " + t.Cluster
	}
	if t.Role != "" {
		title += ", " + t.Role
	}
	for _, s := range report.Wrap(title, p.width) {
		p.line("%s", p.bold(s))
	}
	if len(t.Same) > 1 {
		for _, s := range report.Wrap(fmt.Sprintf("the same for %d groups: %s", len(t.Same), strings.Join(t.Same, ", ")), p.width) {
			p.line("%s", s)
		}
	}
	p.verdict(t)
	legend := []string{"● on every boot", "○ on the first boot", "■ if it fails, the node does not join"}
	if line := strings.Join(legend, "   "); utf8.RuneCountInString(line) <= p.width {
		legend = []string{line}
	}
	if !t.runs() {
		legend = nil
	}
	for _, line := range legend {
		p.line("%s", p.dim(line))
	}
	var names []string
	for _, s := range t.Stages {
		for _, st := range s.Steps {
			names = append(names, st.Name)
		}
	}
	name := p.column(26, names)
	for _, s := range t.Stages {
		p.stage(s, name)
	}
	p.time(t)
	if t.Node {
		p.failures(t)
	}
	p.losses(t)
	p.size(t)
	_, err := io.WriteString(w, p.b.String())
	return err
}

// advice is where one reads what to do, "" of user data that no manifest of kops makes.
func (t *Timeline) advice() string {
	if t.Role == "" {
		return ""
	}
	return "kopshook lint says what to do"
}

// verdict is what becomes of the machines. It is red where that is not what anybody wants.
func (p *textPrinter) verdict(t *Timeline) {
	for _, s := range report.Wrap(t.headline(), p.width) {
		p.line("%s", p.paint(t.Row().color(), p.bold(s)))
	}
	if t.Verdict.Bad() && t.advice() != "" {
		p.line("%s", p.dim(t.advice()))
	}
	code := 0
	if len(t.Over) > 0 {
		code = 33
	}
	for _, s := range report.Wrap(t.waitsFor(), p.width) {
		p.line("%s", p.paint(code, s))
	}
}

type textPrinter struct {
	b     strings.Builder
	color bool
	width int
	whole bool // nothing is cut
}

func newTextPrinter(on Screen) *textPrinter {
	p := &textPrinter{color: on.Color, width: min(on.Width, mostWidth), whole: on.Width == 0}
	if p.whole {
		p.width = usualWidth
	}
	p.width = max(p.width, 40)
	return p
}

// cut shortens a text to n columns, where there is a terminal.
func (p *textPrinter) cut(s string, n int) string {
	if p.whole {
		return s
	}
	return report.Middle(s, n)
}

// column is how wide a column of names is: as in 80 columns, or what they need, up to a third.
func (p *textPrinter) column(usual int, names []string) int {
	longest := 0
	for _, name := range names {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	if p.whole {
		return max(usual, longest)
	}
	most := max(p.width/3, min(usual, p.width*usual/usualWidth))
	return min(most, max(longest, min(usual, most)))
}

func (p *textPrinter) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

func (p *textPrinter) paint(code int, s string) string {
	if !p.color || s == "" || code == 0 {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, s)
}

func (p *textPrinter) bold(s string) string { return p.paint(1, s) }
func (p *textPrinter) dim(s string) string  { return p.paint(2, s) }

// heading is a title, a rule and a note.
func (p *textPrinter) heading(title, note string) {
	fill := p.width - utf8.RuneCountInString(title) - utf8.RuneCountInString(note) - 2
	if fill < 1 {
		p.line("\n%s", p.bold(title))
		p.line("%s", p.dim(note))
		return
	}
	p.line("\n%s %s %s", p.bold(title), p.dim(strings.Repeat("─", fill)), p.dim(note))
}

// ownerWidth is that of the column that says whose a step is.
const ownerWidth = 8

func (p *textPrinter) stage(s Stage, nameWidth int) {
	p.heading(s.Title, s.Note)
	for _, st := range s.Steps {
		when, blocks := "○", " "
		if st.EveryBoot {
			when = "●"
		}
		if st.Never {
			when = "–"
		}
		if st.Blocks {
			blocks = "■"
		}
		detail := st.detail()
		room := p.width - 4 - nameWidth - 1 - ownerWidth - 1
		place := base(st.Place)
		if st.Place == "" {
			place = ""
		}
		free := room - utf8.RuneCountInString(place) - 1
		if place == "" {
			free = room
		}
		text := pad(p.cut(detail, max(free, 0)), max(free, 0))
		if st.Ends {
			text = p.paint(31, text)
		}
		if place != "" {
			text += " " + p.dim(place)
		}
		p.line(" %s%s %s %s %s", p.paint(ownerColor(st.Owner), when), p.bold(blocks), pad(p.cut(st.Name, nameWidth), nameWidth),
			p.paint(ownerColor(st.Owner), pad(string(st.Owner), ownerWidth)), text)
		for _, s := range report.Wrap(st.Also, p.width-6) {
			p.line("      %s", p.dim(s))
		}
	}
}

func ownerColor(o Owner) int {
	switch o {
	case Yours:
		return 33
	case Kopshook:
		return 36
	}
	return 34
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}
