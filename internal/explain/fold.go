package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/verdict"
)

// Fold makes one timeline of those that are the same but for the name of the group and some bytes of size: the one with the
// largest user data, with the names of all.
func Fold(all []*Timeline) []*Timeline {
	var folded []*Timeline
	known := map[string]int{}
	for _, t := range all {
		key := t.key()
		i, ok := known[key]
		if !ok {
			known[key] = len(folded)
			t.Same = []string{t.Label}
			folded = append(folded, t)
			continue
		}
		first := folded[i]
		first.Same = append(first.Same, t.Label)
		if first.Size != nil && t.Size != nil && t.Size.High > first.Size.High {
			first.Size, first.Verdict = t.Size, t.Verdict
		}
	}
	return folded
}

// key is all of a timeline that readers may tell two groups by, beside their names.
func (t *Timeline) key() string {
	plain := *t
	plain.Group, plain.Cluster, plain.Label, plain.Same, plain.Size = "", "", "", nil, nil
	plain.Verdict = t.Verdict.WithoutSize()
	var b bytes.Buffer
	Text(&b, &plain, Screen{})
	if t.Size != nil {
		fmt.Fprint(&b, t.Size.Limit.Cloud, t.Size.Verdict)
	}
	return b.String()
}

// Row is what the table of groups says of one.
type Row struct {
	Group   string
	Outcome string // a few words
	Short   string // fewer
	Bad     bool
	Late    bool   // somebody may give up on the machines
	Why     string // what is wrong, in a sentence; "" where nothing is
	Waits   string // how long the kubelet may wait
	Size    string
	Lost    string // how many things do not arrive as they were written
}

// Row is the timeline's.
func (t *Timeline) Row() Row {
	r := Row{Group: t.Label, Outcome: Outcome(t.Verdict, len(t.Over) > 0), Short: ShortOutcome(t.Verdict, len(t.Over) > 0), Bad: t.Verdict.Bad(), Late: t.late()}
	switch {
	case r.Bad:
		r.Why = t.headline()
	case r.Late:
		r.Why = t.waitsFor()
	}
	if w := t.Kubelet; w.Slowest != nil {
		r.Waits = w.Short()
	}
	if s := t.Size; s != nil && s.Limit.Bytes > 0 {
		r.Size = fmt.Sprintf("%d %%", s.Percent())
	}
	if len(t.Lost) > 0 {
		r.Lost = report.Count(len(t.Lost), "thing")
	}
	return r
}

// Outcome is a verdict for the cell of a table; late says that somebody may give up on the machines before.
func Outcome(v verdict.Verdict, late bool) string {
	return maybeLate(v.Short(), v, late)
}

// ShortOutcome is Outcome without what has to succeed.
func ShortOutcome(v verdict.Verdict, late bool) string { return maybeLate(v.Label(), v, late) }

// Sentence is a verdict with why and where; late as in Outcome.
func Sentence(v verdict.Verdict, late bool) string { return maybeLate(v.String(), v, late) }

func maybeLate(s string, v verdict.Verdict, late bool) string {
	if v.MayBeLate(late) {
		return s + ", maybe too late"
	}
	return s
}

// color is that of the outcome on a terminal: red where something is wrong, yellow where it may be.
func (r Row) color() int {
	switch {
	case r.Bad:
		return 31
	case r.Late:
		return 33
	}
	return 0
}

// class is the same on a page.
func (r Row) class() string {
	switch {
	case r.Bad:
		return ` class="bad"`
	case r.Late:
		return ` class="late"`
	}
	return ""
}

// columns of the table of groups.
var columns = []string{"INSTANCE GROUP", "OUTCOME", "KUBELET MAY WAIT", "SIZE", "LOST"}

func (r Row) cells() []string { return []string{r.Group, r.Outcome, r.Waits, r.Size, r.Lost} }

// leastName is how many columns a group's name has at least.
const leastName = 12

// fitting makes rows fit into a terminal, as far as that goes: how many hooks have to succeed, which hook is the slowest and how much
// is lost stand below the table, too.
func fitting(rows []Row, width int) []Row {
	rows = slices.Clone(rows)
	for _, shorten := range []func(*Row){
		func(r *Row) {
			if time, hook, ok := strings.Cut(r.Waits, " ("); ok {
				r.Waits = time + " (" + report.Middle(strings.TrimSuffix(hook, ")"), leastName) + ")"
			}
		},
		func(r *Row) { r.Outcome = cmp.Or(r.Short, r.Outcome) },
		func(r *Row) { r.Lost = "" },
		func(r *Row) { r.Size = "" },
	} {
		var most [5]int
		for _, r := range rows {
			for i, c := range r.cells() {
				if c != "" {
					most[i] = max(most[i], utf8.RuneCountInString(columns[i]), utf8.RuneCountInString(c))
				}
			}
		}
		all := leastName
		for _, n := range most[1:] {
			if n > 0 {
				all += n + 2
			}
		}
		if all <= width {
			break
		}
		for i := range rows {
			shorten(&rows[i])
		}
	}
	return rows
}

// Table prints a row for each group. A column that is empty for all is left out. On a terminal the names of the groups get what
// the others leave.
func Table(w io.Writer, rows []Row, on Screen) error {
	p := newTextPrinter(on)
	if !p.whole {
		rows = fitting(rows, p.width)
	}
	lines := [][]string{columns}
	for _, r := range rows {
		lines = append(lines, r.cells())
	}
	widths := make([]int, len(columns))
	for i := range columns {
		for _, cells := range lines[1:] {
			if cells[i] != "" {
				widths[i] = max(widths[i], utf8.RuneCountInString(columns[i]), utf8.RuneCountInString(report.OneLine(cells[i])))
			}
		}
	}
	others := 0
	for _, n := range widths[1:] {
		if n > 0 {
			others += n + 2
		}
	}
	if !p.whole {
		widths[0] = min(widths[0], max(leastName, p.width-others))
	}
	for n, cells := range lines {
		var line []string
		for i, c := range cells {
			if widths[i] == 0 {
				continue
			}
			c = pad(p.cut(report.OneLine(c), widths[i]), widths[i])
			if i == 1 && n > 0 {
				c = p.paint(rows[n-1].color(), c)
			}
			line = append(line, c)
		}
		p.line("%s", strings.Join(line, "  "))
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}
