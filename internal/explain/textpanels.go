package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// time shows how long the kubelet may wait for each hook: a bar from when it may start to when it must have ended.
func (p *textPrinter) time(t *Timeline) {
	if len(t.Waits) == 0 {
		return
	}
	p.heading("time", "at most; kops rolling-update gives up after "+report.Duration(waits.KopsGivesUp))
	const number = 9
	var names []string
	for _, w := range t.Waits {
		names = append(names, w.Hook)
	}
	name := p.column(22, names)
	cells := max(10, p.width-name-number-4)
	_, measured := t.took()
	if measured {
		cells -= number + 1
	}
	at := func(d time.Duration) int { return int(int64(d) * int64(cells-1) / int64(t.scale())) }
	mark := at(waits.KopsGivesUp)
	for _, w := range t.Waits {
		from, to := at(w.Start), at(w.Start+w.Worst)
		var bar strings.Builder
		for i := range cells {
			switch {
			case i == mark:
				bar.WriteString("│")
			case i >= from && i < max(to, from+1):
				bar.WriteString("█")
			default:
				bar.WriteString(" ")
			}
		}
		took := ""
		if measured {
			took = fmt.Sprintf(" %*s", number, "")
			if w.Took > 0 {
				took = fmt.Sprintf(" %*s", number, seconds(w.Took))
			}
		}
		p.line(" %s %*s%s %s", pad(p.cut(w.Hook, name), name), number, report.Duration(w.Worst), p.dim(took), bar.String())
	}
	took := ""
	if sum, _ := t.took(); measured {
		took = fmt.Sprintf(" %*s", number, seconds(sum))
	}
	all := "all"
	if t.Kubelet.Unknown > 0 {
		all = "all that is known"
	}
	p.line(" %s %*s%s %s", p.bold(pad(all, name)), number, report.Duration(t.Kubelet.Total), took, p.dim(strings.Repeat(" ", max(0, mark-3))+"15m ┘"))
}

// failures says what happens when what fails.
func (p *textPrinter) failures(t *Timeline) {
	type group struct {
		fails string
		names []string
	}
	var groups []group
	for _, s := range t.Stages {
		for _, st := range s.Steps {
			if st.Fails == "" {
				continue
			}
			i := slices.IndexFunc(groups, func(g group) bool { return g.fails == st.Fails })
			if i < 0 {
				groups = append(groups, group{fails: st.Fails})
				i = len(groups) - 1
			}
			if !slices.Contains(groups[i].names, st.Name) {
				groups[i].names = append(groups[i].names, st.Name)
			}
		}
	}
	if len(groups) == 0 {
		return
	}
	p.heading("what fails", "what happens then")
	for _, g := range groups {
		for _, line := range report.Wrap(strings.Join(g.names, ", "), p.width-1) {
			p.line(" %s", p.cut(line, p.width-1))
		}
		for _, line := range report.Wrap(g.fails, p.width-4) {
			p.line("    %s", line)
		}
	}
}

func (p *textPrinter) losses(t *Timeline) {
	if len(t.Lost) == 0 {
		return
	}
	p.heading("lost or changed", t.advice())
	for _, l := range t.Lost {
		place := ""
		if l.Place != "" {
			place = base(l.Place)
		}
		what := p.cut(l.What, p.width-4-utf8.RuneCountInString(place))
		p.line(" %s %s %s", p.paint(31, "!"), pad(what, p.width-4-utf8.RuneCountInString(place)), p.dim(place))
		for _, s := range report.Wrap(l.Why, p.width-4) {
			p.line("    %s", s)
		}
	}
}

func (p *textPrinter) size(t *Timeline) {
	s := t.Size
	if s == nil || s.Limit.Bytes == 0 {
		return
	}
	estimate := ""
	if !s.Exact {
		estimate = ", kops' script estimated"
	}
	p.heading("size", fmt.Sprintf("%s takes %s bytes%s", s.Limit.Cloud, report.Thousands(s.Limit.Bytes), estimate))
	if !s.Known {
		p.line(" The cloud is not known: give the Cluster, too.")
	}
	cells := min(50, p.width-30)
	full := min(cells, (s.High*cells+s.Limit.Bytes-1)/s.Limit.Bytes)
	code := 32
	switch share := s.Percent(); {
	case share > 100:
		code = 31
	case share > 80:
		code = 33
	}
	p.line(" %s%s %s bytes, %d %%", p.paint(code, strings.Repeat("█", full)), p.dim(strings.Repeat("░", cells-full)), report.Thousands(s.Told()), s.Percent())
	var names []string
	for _, it := range s.Items {
		names = append(names, cmp.Or(it.Hook, it.Name))
	}
	column := p.column(30, names)
	for i, it := range s.Items {
		bar := max(1, (it.Bytes*cells/2+s.Limit.Bytes/2)/s.Limit.Bytes)
		p.line("   %s %8s %s", pad(p.cut(names[i], column), column), report.Thousands(it.Bytes), p.dim(strings.Repeat("▪", max(0, min(bar, p.width-column-13)))))
	}
}
