package cli

import (
	"fmt"

	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// said is a text, and the instance groups that it is about.
type said struct {
	text   string
	bad    bool // it is about a defect
	groups []*plan.Group
}

// tally says each text once, in the order in which they come, and of which groups it is.
type tally struct {
	all   []*said
	known map[string]*said
}

// add says text of a group. Texts with the same key are the same.
func (t *tally) add(key, text string, g *plan.Group) *said {
	if t.known == nil {
		t.known = map[string]*said{}
	}
	s := t.known[key]
	if s == nil {
		s = &said{text: text}
		t.known[key] = s
		t.all = append(t.all, s)
	}
	s.groups = append(s.groups, g)
	return s
}

// names lists the groups, the first of many.
func (s *said) names() string {
	return report.OneLine(someGroups(labels(s.groups)))
}

// among says which groups those are, and how many machines they may have: "12 groups, 78 to 123 nodes: a, b and 10 more".
func (s *said) among() string {
	if n := len(s.groups); n > mostNamed {
		return fmt.Sprintf("%d groups, %s: %s", n, plan.Nodes(s.groups), s.names())
	}
	return s.names() + ": " + plan.Nodes(s.groups)
}

// mostNamed bounds how many instance groups are named in a line.
const mostNamed = 3

// someGroups lists names, the first of many.
func someGroups(names []string) string {
	if len(names) <= mostNamed {
		return report.Some(names, mostNamed)
	}
	return report.Some(names, mostNamed-1)
}
