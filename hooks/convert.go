package hooks

import (
	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/waits"
)

func convert(out *plan.Output) (Output, Report) {
	var o Output
	for _, f := range out.Files {
		o.Manifests = append(o.Manifests, File{Name: f.Name, Data: f.Bytes()})
	}
	for _, g := range out.Groups {
		o.Groups = append(o.Groups, convertGroup(g))
	}
	var r Report
	for _, f := range out.Report.Findings {
		r = append(r, Finding{Severity: Severity(f.Severity.String()), File: f.File, Line: f.Line, Col: f.Col, Path: f.Path, Message: f.Message, Remedy: f.Remedy})
	}
	return o, r
}

func convertGroup(g *plan.Group) Group {
	out := Group{Cluster: g.Cluster, Name: g.Name, Role: g.Role, File: g.Manifest.Name, Line: g.Line, Skipped: g.Skipped}
	var waiting []waits.Hook
	for i := range g.Hooks {
		h := convertHook(&g.Hooks[i])
		out.Hooks = append(out.Hooks, h)
		waiting = append(waiting, waits.Hook{Name: h.Name, Phase: g.Hooks[i].Phase, Attempts: h.Attempts, Delay: h.RetryDelay, Timeout: g.Hooks[i].AttemptTimeout(),
			Reboots: len(h.RebootExitCodes) > 0})
	}
	out.NodeupWaits, out.KubeletWaits = waits.Nodeup(waiting).Total, waits.Kubelet(waiting).Total
	for _, p := range g.Parts {
		out.Parts = append(out.Parts, Part(p))
	}
	if a, _ := g.Archive(); a != nil { // generating the parts has found all that is wrong with it
		out.Archive = &Archive{URL: a.Address(), SHA256: a.SHA256, Content: a.Content}
	}
	for _, c := range g.HookChanges() {
		change := Change{Hook: c.Hook, Verb: c.Verb}
		for _, f := range c.Fields {
			change.Fields = append(change.Fields, FieldChange(f))
		}
		out.Changes = append(out.Changes, change)
	}
	if s := g.Size; s != nil {
		out.Size = Size{Low: s.Low, High: s.High, Limit: s.Limit.Bytes, Fits: s.Verdict == budget.Fits}
	}
	return out
}

func convertHook(h *hookspec.Resolved) Hook {
	out := Hook{
		Spec: h.Doc.Spec.Metadata.Name, Name: h.Name, Phase: string(h.Phase), Weight: h.Weight, EveryBoot: h.EveryBoot, OncePerImage: h.OncePerImage,
		Verify: h.Verify, Env: h.Env, Timeout: h.Timeout, Attempts: h.Attempts, RetryDelay: h.RetryDelay, Continue: h.Continue,
		Before: h.Before, RebootExitCodes: h.RebootExitCodes, Compress: h.Compress, Archive: h.Archive, ArchiveURL: h.ArchiveURL, CleanUp: h.CleanUp,
	}
	for _, s := range h.Scripts {
		out.Scripts = append(out.Scripts, Script(s))
	}
	for _, f := range h.Files {
		out.Files = append(out.Files, NodeFile(f))
	}
	for _, d := range h.DropIns {
		out.DropIns = append(out.DropIns, DropIn(d))
	}
	if h.CloudConfig != nil {
		out.CloudConfig, _ = yaml.Marshal(h.CloudConfig) // a tree that was decoded can be encoded
	}
	return out
}
