package plan

import (
	"fmt"
	"slices"

	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/sourcemap"
)

// Arrival warns of parts of the user's own for which the hooks beside them do not arrive on the nodes: those nodes
// joined before the hooks came, and would not any more. Groups without such parts cost nothing, those with the same parts and
// hooks cost once, and what does not fit is not looked into.
func Arrival(out *Output) {
	arrives := map[string]bool{}
	var seen known
	for _, g := range out.Groups {
		own := len(g.Own())
		if len(g.Parts) == 0 || own == 0 || g.Size != nil && g.Size.Verdict == budget.TooLarge {
			continue
		}
		parts := g.Merged()
		version := cloudinit.VersionOf(g.Object.Spec.Image)
		key := fmt.Sprintf("%v %s %v %q", version, g.Role, g.hookIDs, g.Own())
		if arrives[key] && !g.Stays() {
			continue
		}
		l := &lint.Group{Group: g.Group, File: g.Manifest.Name, Source: out.Input.Text(g.Manifest.Name), Parts: parts}
		loss := lint.Read(l, lint.Options{}).Hinders(own)
		if loss == nil {
			arrives[key] = !g.Stays() && !seen.commented(g, l.Source)
			continue
		}
		if f, ok := lossFinding(g, parts, loss, out.Input.Text(g.Manifest.Name)); ok {
			out.Report.Add(f)
		}
	}
}

// Hopeless warns of hooks that cannot succeed on the nodes of a group, and so keep them out: lint says errors of them.
// Groups that get the same have it said once.
func Hopeless(out *Output) {
	seen := map[string]bool{}
	for _, g := range out.Groups {
		image, cloud := g.Object.Spec.Image, g.Cloud()
		for i := range g.Hooks {
			key := fmt.Sprint(g.hookIDs[i], " ", image, " ", cloud)
			if seen[key] {
				continue
			}
			seen[key] = true
			h := &lint.Hook{Resolved: &g.Hooks[i], Images: []string{image}, Source: out.Input.Text(g.Hooks[i].Doc.File)}
			for _, f := range lint.CannotSucceed(h, cloud) {
				w := f.Finding
				w.Severity, w.Remedy = report.Warning, f.Remedy+"; kopshook lint says more"
				if !slices.Contains(out.Report.Findings, w) {
					out.Report.Add(w)
				}
			}
		}
	}
}

// Twice warns of hooks that do what a part of the user's does, too, as lint does.
func Twice(out *Output) {
	var seen known
	silent := map[string]bool{} // by parts and hooks: most groups have the same
	for _, g := range out.Groups {
		own := g.Own()
		if len(g.Parts) == 0 || len(own) == 0 {
			continue
		}
		key := fmt.Sprint(g.hookIDs, own)
		if silent[key] {
			continue
		}
		l := &lint.Group{Group: g.Group, File: g.Manifest.Name, Source: out.Input.Text(g.Manifest.Name), Parts: g.Merged(), Archive: g.planned()}
		found := lint.Twice(l, lint.Options{})
		silent[key] = len(found) == 0 && !seen.commented(g, l.Source) // else it may be for this group alone
		for _, f := range found {
			f.Message, f.Group = fmt.Sprintf("instance group %q: %s", g.Label(), f.Message), g.Label()
			out.Report.Add(f.Finding)
		}
	}
}

// lossFinding describes a loss as lint does, at its place in source, the user's file. There is none where a comment of the
// user's switches off what lint has to say: an image may have more than the model knows of, such as the user that a file is
// for.
func lossFinding(g *Group, parts []cloudinit.Part, loss *cloudinit.Loss, source *sourcemap.Text) (report.Finding, bool) {
	lintErrors := func(source *sourcemap.Text) []lint.Finding {
		l := &lint.Group{Group: g.Group, File: g.Manifest.Name, Source: source, Parts: parts}
		return slices.DeleteFunc(lint.Check(l, lint.Options{}), func(f lint.Finding) bool {
			return f.Severity != report.Error || f.Col == 0 // hooks have no place in the file
		})
	}
	found := lintErrors(source)
	if len(found) == 0 && len(lintErrors(nil)) > 0 {
		return report.Finding{}, false
	}
	f := report.Finding{Severity: report.Warning, Position: g.position(), Path: "spec.additionalUserData",
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
	f.Message, f.Group = fmt.Sprintf("instance group %q: %s", g.Label(), f.Message), g.Label()
	return f, true
}
