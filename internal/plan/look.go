package plan

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/sourcemap"
	"kopshook.dev/kopshook/internal/verdict"
	"kopshook.dev/kopshook/internal/waits"
)

// Look is what there is to say of a group's user data as merging makes it.
type Look struct {
	Parts    []cloudinit.Part
	Result   *cloudinit.Result // what cloud-init does with it
	Findings []lint.Finding    // of lint
	Hooks    []waits.Hook      // that arrive, or are to
	Archive  []generator.File  // what the parts name in a bucket, nil where the specs that make it are not given
	Size     *budget.Result
	Verdict  verdict.Verdict
}

// Looker looks at groups. Its zero value is ready to use; what it finds of a hook it finds once for all groups.
type Looker struct {
	Options cloudinit.Options
	Input   *Input // its files, for places inside of parts; nil for none

	hooks map[string][]lint.Finding
	known known
}

// Brief is the part of a look that lists of groups show.
type Brief struct {
	Verdict verdict.Verdict
	Kubelet waits.Wait // how long the kubelet may wait, if it ever starts
	Size    *budget.Result
	Over    []waits.Limit // that hooks may take longer than
	hooks   []waits.Hook
}

// Look looks at a group.
func (l *Looker) Look(g *Group) (*Look, error) {
	seen := &Look{Parts: g.Merged(), Size: g.Size}
	if seen.Size == nil {
		var err error
		if seen.Size, err = g.Measure(); err != nil {
			return nil, fmt.Errorf("instance group %s: %w", g.Name, err)
		}
	}
	var err error
	if seen.Archive, err = g.archiveOf(seen.Parts); err != nil {
		return nil, fmt.Errorf("instance group %s: %w", g.Name, err)
	}
	seen.Findings, seen.Result = lint.Look(&lint.Group{Group: g.Group, Label: g.Label(), File: g.Manifest.Name, Source: l.Text(g.Manifest.Name),
		Parts: seen.Parts, Archive: seen.Archive, Size: seen.Size}, lint.Options{Options: l.Options})
	seen.Hooks = waits.Find(seen.Result, seen.Archive)
	seen.Verdict = verdict.Of(verdict.Facts{Role: g.Role, Result: seen.Result, Hooks: seen.Hooks, Size: seen.Size,
		Findings: slices.Concat(seen.Findings, l.ofHooks(g))})
	return seen, nil
}

// Text returns a file of Input; nil without one.
func (l *Looker) Text(name string) *sourcemap.Text {
	if l.Input == nil {
		return nil
	}
	return l.Input.Text(name)
}

// ofHooks returns the findings about the group's hooks that mean something for its nodes.
func (l *Looker) ofHooks(g *Group) []lint.Finding {
	if l.hooks == nil {
		l.hooks = map[string][]lint.Finding{}
	}
	var all []lint.Finding
	for i := range g.Hooks {
		cloud := g.Cloud()
		key := fmt.Sprint(g.hookIDs[i], " ", g.Object.Spec.Image, " ", cloud)
		found, ok := l.hooks[key]
		if !ok {
			h := &g.Hooks[i]
			hook := &lint.Hook{Resolved: h, Images: []string{g.Object.Spec.Image}, Source: l.Text(h.Doc.File)}
			found = append(lint.CheckHook(hook), lint.CheckCloud(hook, cloud)...)
			found = slices.DeleteFunc(found, func(f lint.Finding) bool { return f.Effect == lint.NoEffect })
			l.hooks[key] = found
		}
		all = append(all, found...)
	}
	return all
}

// Brief looks at a group. Groups of which there is the same to say are looked at once: see known.
func (l *Looker) Brief(g *Group) (Brief, error) {
	if len(g.Object.Spec.AdditionalUserData) == 0 && len(g.Parts) == 0 {
		size, err := g.Measure() // kops' nodeup.sh alone
		return Brief{Verdict: verdict.Of(verdict.Facts{Role: g.Role, Result: &cloudinit.Result{}}), Size: size}, err
	}
	key := l.known.key(g, l.Text(g.Manifest.Name))
	if b, ok := l.known.briefs[key]; ok {
		b.Over = waits.Exceeded(waits.Limits(g.Group), b.hooks)
		return b, nil
	}
	seen, err := l.Look(g)
	if err != nil {
		return Brief{}, err
	}
	b := seen.Brief(g)
	if here := b.Verdict.Place != "" && b.Verdict.At.File == g.Manifest.Name; key != "" && !here {
		l.known.add(key, b)
	}
	return b, nil
}

// Brief is the part of the look at g that lists of groups show.
func (l *Look) Brief(g *Group) Brief {
	b := Brief{Verdict: l.Verdict, Size: l.Size}
	if !l.Verdict.NoWait() {
		b.hooks, b.Kubelet = l.Hooks, waits.Kubelet(l.Hooks)
		b.Over = waits.Exceeded(waits.Limits(g.Group), b.hooks)
	}
	return b
}

// Briefs is a check that sets the Brief of all groups. It has nothing to say itself.
func Briefs(out *Output) {
	l := Looker{Input: out.Input}
	for _, g := range out.Groups {
		var err error
		if g.Brief, err = l.Brief(g); err != nil {
			out.Report.AddError(g.position(), "", err)
		}
	}
}

// archiveOf returns what the parts name in a bucket, where the specs that make it are given; else nil.
func (g *Group) archiveOf(parts []cloudinit.Part) ([]generator.File, error) {
	o, err := g.Archive()
	if err != nil || o == nil {
		return nil, err
	}
	named := slices.ContainsFunc(parts, func(p cloudinit.Part) bool {
		url, sum, ok := generator.InBucket(p.Content)
		return ok && url == o.URL && sum == o.SHA256
	})
	if !named {
		return nil, nil
	}
	return o.Files()
}

// GroupOfUserData is a group that stands for one machine's user data: kops' script, nil for a bastion's, and other parts.
func GroupOfUserData(nodeup []byte, parts []cloudinit.Part) *Group {
	role := kops.InstanceGroupRoleNode
	if nodeup == nil {
		role = kops.InstanceGroupRoleBastion
	}
	ig := &kops.InstanceGroup{Spec: kops.InstanceGroupSpec{Role: role}}
	for _, p := range parts {
		ig.Spec.AdditionalUserData = append(ig.Spec.AdditionalUserData, kops.UserData(p))
	}
	if string(nodeup) == cloudinit.NodeupPlaceholder {
		nodeup = nil // its size is to be estimated
	}
	return &Group{Group: &instancegroups.Group{Role: string(role), Object: ig}, Manifest: &Manifest{}, Nodeup: nodeup, asIs: true}
}

// HookPlace is where a hook of the group is written: in its spec, or else where the manifest holds its part; "" where that
// is not known.
func (g *Group) HookPlace(hook string) string {
	var pos report.Position
	if i := slices.IndexFunc(g.Hooks, func(h hookspec.Resolved) bool { return h.Name == hook }); i >= 0 {
		pos = g.Hooks[i].Pos("")
	} else {
		for i, p := range g.Object.Spec.AdditionalUserData {
			if _, name, ok := generator.HookOfPart(p.Name); ok && name == hook {
				pos.File = g.Manifest.Name
				pos.Line, _ = g.Position("spec", "additionalUserData", strconv.Itoa(i))
			}
		}
	}
	if pos.Line == 0 {
		return ""
	}
	return report.Position{File: pos.File, Line: pos.Line}.String()
}
