package explain

import (
	"slices"

	"kopshook.dev/kopshook/internal/report"
)

// clean keeps what would control a terminal or break a table out of names that people chose.
func (t *Timeline) clean() {
	for _, s := range []*string{&t.Group, &t.Cluster, &t.Role, &t.Label} {
		*s = report.OneLine(*s)
	}
	t.Verdict.Why, t.Verdict.Place = report.OneLine(t.Verdict.Why), report.OneLine(t.Verdict.Place)
	for _, stage := range t.Stages {
		for i := range stage.Steps {
			s := &stage.Steps[i]
			s.Name, s.Detail, s.Also, s.Place = report.OneLine(s.Name), report.OneLine(s.Detail), report.OneLine(s.Also), report.OneLine(s.Place)
		}
	}
	for i := range t.Lost {
		l := &t.Lost[i]
		l.What, l.Why, l.Place = report.OneLine(l.What), report.OneLine(l.Why), report.OneLine(l.Place)
	}
	if t.Size == nil {
		return
	}
	size := *t.Size
	size.Items = slices.Clone(size.Items)
	for i := range size.Items {
		size.Items[i].Name, size.Items[i].Hook = report.OneLine(size.Items[i].Name), report.OneLine(size.Items[i].Hook)
	}
	t.Size = &size
}
