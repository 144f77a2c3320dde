package lint

import (
	"cmp"
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/report"
)

// checkGroup looks at what user data an instance group can have at all.
func (p *pass) checkGroup() {
	if len(p.g.Parts) == 0 {
		return
	}
	name := cmp.Or(p.g.Label, p.g.Name)
	pos := report.Position{File: p.g.File}
	pos.Line, pos.Col = p.g.Position("spec", "additionalUserData")
	if reason := p.g.Unsupported(); reason != "" {
		what := NothingRuns
		if p.g.LeavesOut() {
			what = LeftOut
		}
		p.add("KH083", pos, fmt.Sprintf("additionalUserData does not reach the nodes of %q, or breaks them: %s", name, reason), effect(what))
	}
	s := p.g.Size
	if s == nil || s.Limit.Bytes == 0 {
		return
	}
	if message, hint := s.Message(name); message != "" {
		var opts []option
		if s.Verdict == budget.TooLarge {
			opts = append(opts, severity(report.Error))
		}
		p.add(Size, pos, message, append(opts, remedy("%s", hint), func(f *Finding) { f.Detail = strings.Join(s.Table(), "\n") })...)
		return
	}
	if share := s.Percent(); share > 90 { // kops' own script is taken at its largest already
		p.add(Size, pos, fmt.Sprintf("the user data of %q takes %s, %d %%", name, s.Takes(), share))
	}
}
