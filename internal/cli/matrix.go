package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// mostColumns is how many instance groups have a column each: of more, those with the same hooks share one.
const mostColumns = 8

// printMatrix prints a row for each hook and a column for each group; to a terminal in at most its width, 0 for none.
func printMatrix(w io.Writer, groups []*plan.Group, rows []*listRow, width int) error {
	columns := make([][]string, len(groups))
	for col := range groups {
		for _, r := range rows {
			cell := "."
			for _, p := range r.Groups {
				if p.column != col {
					continue
				}
				if cell = fmt.Sprint(p.Place); p.Place == 0 {
					cell = "addon"
				}
			}
			columns[col] = append(columns[col], cell)
		}
	}
	var shown [][]string // of each column that is printed: its head and its cells
	same := map[string][]string{}
	at := map[string]int{}
	for col, g := range groups {
		key := strings.Join(columns[col], " ")
		if _, ok := at[key]; !ok || len(groups) <= mostColumns {
			at[key] = len(shown)
			shown = append(shown, append([]string{report.OneLine(g.Label())}, columns[col]...))
		}
		same[key] = append(same[key], report.OneLine(g.Label()))
	}
	var legend []string
	ofMany := map[string]string{}
	for key, names := range same {
		if head := &shown[at[key]][0]; len(groups) > mostColumns && len(names) > 1 {
			*head = fmt.Sprintf("%s+%d", names[0], len(names)-1)
			ofMany[*head] = strings.Join(names, ", ")
			legend = append(legend, *head+": "+ofMany[*head])
		}
	}
	slices.Sort(legend)
	fixed := [][]string{{"HOOK"}, {"PHASE"}, {"WEIGHT"}, {"RUN"}, {"SPEC"}}
	for _, r := range rows {
		for i, cell := range []string{report.OneLine(r.Hook), cmp.Or(r.Phase, "-"), fmt.Sprint(r.Weight), cmp.Or(r.Run, "-"), cmp.Or(report.OneLine(r.Spec), "-")} {
			fixed[i] = append(fixed[i], cell)
		}
	}
	if width > 0 && widthOf(fixed)+widthOf(shown)-2 > width {
		legend = numbered(shown, ofMany)
		fixed = narrow(fixed, width+2-widthOf(shown))
	}
	var b strings.Builder
	writeColumns(&b, append(fixed, shown...))
	if len(legend) > 0 {
		b.WriteString("\n")
	}
	for _, l := range legend {
		if width > 0 {
			l = strings.Join(report.Wrap(l, width-2), "\n  ")
		}
		b.WriteString(l + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// numbered gives columns of groups numbers in the place of names, and returns what they stand for; of some, for several groups.
func numbered(columns [][]string, ofMany map[string]string) (legend []string) {
	for i := range columns {
		n := fmt.Sprint(i + 1)
		legend = append(legend, n+": "+cmp.Or(ofMany[columns[i][0]], columns[i][0]))
		columns[i][0] = n
	}
	return legend
}

// narrow makes columns of hooks fit, as far as that goes: what tells the least of a hook is left out, and its name is cut.
func narrow(columns [][]string, width int) [][]string {
	const least = 16
	for _, head := range []string{"SPEC", "WEIGHT", "RUN"} {
		if widthOf(columns)-max(0, widest(columns[0])-least) > width {
			columns = slices.DeleteFunc(columns, func(c []string) bool { return c[0] == head })
		}
	}
	if over := widthOf(columns) - width; over > 0 {
		room := max(least, widest(columns[0])-over)
		for i, name := range columns[0] {
			columns[0][i] = report.Middle(name, room)
		}
	}
	return columns
}

// widthOf is how wide columns are, each with the space behind it.
func widthOf(columns [][]string) (width int) {
	for _, c := range columns {
		width += widest(c) + 2
	}
	return width
}

func widest(cells []string) (most int) {
	for _, cell := range cells {
		most = max(most, utf8.RuneCountInString(cell))
	}
	return most
}

// writeColumns writes a line for each row.
func writeColumns(b *strings.Builder, columns [][]string) {
	for row := range columns[0] {
		line := ""
		for _, c := range columns {
			line += c[row] + strings.Repeat(" ", widest(c)-utf8.RuneCountInString(c[row])+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
