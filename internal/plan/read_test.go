package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// TestForms: whoever looks at hooks looks at each form once, with the groups that have it, and at what no group has.
func TestForms(t *testing.T) {
	text := spec("one", "{}", `
  - {name: same, script: "#!/bin/sh\n"}
  - {name: other, source: a.sh}
  - {name: changed, script: "#!/bin/sh\n"}
  - {name: idle, enabled: false, source: b.sh}
  - {name: addon, phase: daemon, source: c.sh}`) + `  overrides:
  - {selector: {names: [b]}, hooks: {other: {timeout: 3m}, idle: {enabled: true}, addon: {source: d.sh}}}
  - {selector: {}, hooks: {changed: {timeout: 3m}}}
`
	l := &loader{}
	groups, said := planned(t, []string{text}, []string{groupOf("a", "Node", ""), groupOf("b", "Node", ""), groupOf("c", "Node", "")}, l)
	if len(said) > 0 {
		t.Fatal(said)
	}
	var r report.Report
	docs := []*hookspec.Doc{groups[0].Hooks[0].Doc}
	var got []string
	for _, f := range plan.Forms(t.Context(), docs, groups, l, &r) {
		var names []string
		for _, g := range f.Groups {
			names = append(names, g.Name)
		}
		line := fmt.Sprintf("%s %s: %s", f.Name, f.Timeout, strings.Join(names, " "))
		if f.Unused {
			line += ", unused"
		}
		if len(f.Scripts) != 1 {
			t.Errorf("%s was not read", line)
		}
		got = append(got, line)
	}
	want := []string{
		"changed 3m0s: a b c",
		"other 20m0s: a c",
		"same 20m0s: a b c",
		"addon 20m0s: a c",
		"idle 20m0s: b",
		"other 3m0s: b",
		"addon 20m0s: b",
		"idle 20m0s: b, unused",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
