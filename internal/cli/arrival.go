package cli

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// checkArrival warns of parts of the user's own for which the hooks beside them do not arrive on the nodes: those nodes
// joined before the hooks came, and would not any more. Groups without such parts cost nothing, and what does not fit is
// not looked into.
func (in *inputs) checkArrival(groups []*plan.Group) {
	for _, g := range groups {
		if len(g.Parts) == 0 || g.Size != nil && g.Size.Verdict == budget.TooLarge {
			continue
		}
		var parts []cloudinit.Part
		for _, p := range g.UserData() {
			if !strings.HasPrefix(p.Name, instancegroups.Prefix) {
				parts = append(parts, cloudinit.Part(p))
			}
		}
		theirs := len(parts)
		if theirs == 0 {
			continue
		}
		for _, p := range g.Parts {
			parts = append(parts, cloudinit.Part(p))
		}
		version := cloudinit.VersionOf(g.Object.Spec.Image)
		loss := cloudinit.ReadParts(nil, g.Role, parts, cloudinit.Options{Version: version}).Hinders(theirs)
		if loss == nil {
			continue
		}
		if f, ok := in.hindrance(g, parts, loss); ok {
			in.report.Add(f)
		}
	}
}

// hindrance tells of a loss as lint does, in the user's file. It is nothing to tell where the user has told lint so: an
// image may have more than the model knows of, such as the user that a file is for.
func (in *inputs) hindrance(g *plan.Group, parts []cloudinit.Part, loss *cloudinit.Loss) (report.Finding, bool) {
	theirs := func(source []byte) []lint.Finding {
		l := &lint.Group{Group: g.Group, File: g.Manifest.Name, Source: source, Parts: parts}
		return slices.DeleteFunc(lint.Check(l, lint.Options{}), func(f lint.Finding) bool {
			return f.Severity != report.Error || f.Col == 0 // hooks have no place in the file
		})
	}
	source := in.sources[g.Manifest.Name]
	found := theirs(source)
	if len(found) == 0 && len(theirs(nil)) > 0 {
		return report.Finding{}, false
	}
	f := report.Finding{Severity: report.Warning, Position: report.Position{File: g.Manifest.Name, Line: g.Line}, Path: "spec.additionalUserData",
		Message: fmt.Sprintf("%s is lost: %s", loss.What, loss.Why), Remedy: "run kopshook lint"}
	if len(found) > 0 {
		best := found[0]
		place := lint.NewPlaces(&lint.Group{Group: g.Group, File: g.Manifest.Name, Source: source, Parts: parts}).Of(loss.By)
		if i := slices.IndexFunc(found, func(f lint.Finding) bool { return f.Line == place.Line }); i >= 0 {
			best = found[i]
		}
		f.Position, f.Message, f.Remedy = best.Position, best.Message, best.Remedy+"; kopshook lint says more"
	}
	if loss.Kind != cloudinit.Overwritten {
		f.Message = "the hooks do not arrive: " + f.Message
	}
	f.Message = fmt.Sprintf("instance group %q: %s", g.Name, f.Message)
	return f, true
}
