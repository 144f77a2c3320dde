// Package plan decides what each instance group gets: which hooks, with their sources read, and the user data made of
// them. Every command that needs to know that asks here, so that merge, check and explain cannot disagree.
package plan

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// Loader reads what source: names.
type Loader interface {
	Load(ctx context.Context, ref source.Ref) ([]source.File, error)
}

// Manifest is a file with instance groups, under the name that the user gave it.
type Manifest struct {
	Name string
	*instancegroups.File
}

// Group is an instance group and what is planned for it.
type Group struct {
	*instancegroups.Group
	Manifest *Manifest

	// Hooks of all specs that select the group, in the order in which they run, with what they take from sources. Phase
	// daemon is not among them.
	Hooks   []hookspec.Resolved
	changes []HookChange // what HookChanges found, nil before
	hookIDs []string     // the same hook has the same id in all groups
	// Parts is the user data made of them, nil when there are none.
	Parts []generator.UserData
	// Runtime names the templates, "" when there are no hooks.
	Runtime string
	// Nodeup is the script that kops puts before all parts, nil when it is not known.
	Nodeup []byte
	// Size is what the group's user data takes, nil before Sizes has looked and without hooks.
	Size *budget.Result
	// Skipped says why selected hooks are not given to the group, "" when they are. The group then stays as it is.
	Skipped string
	// Brief is what becomes of the nodes, where Briefs has looked.
	Brief Brief

	pushed []generator.File // what lies in the bucket that the manifest names, nil when nobody has looked

	asIs  bool // nobody said anything about its hooks
	diffs *diffs

	ofSeveral bool // there are groups of other clusters
}

// Stays says whether merging leaves the group as it is.
func (g *Group) Stays() bool { return g.asIs || g.Skipped != "" }

// Make plans for all instance groups of the manifests, in their order. What it has to say goes to r; the plan is of use only when r has no
// errors.
func Make(ctx context.Context, docs []*hookspec.Doc, manifests []*Manifest, loader Loader, r *report.Report) []*Group {
	return newPlanner(loader, r).groups(ctx, docs, manifests)
}

func (p *planner) groups(ctx context.Context, docs []*hookspec.Doc, manifests []*Manifest) []*Group {
	var groups []*Group
	selects := map[*hookspec.Doc]bool{}
	clusters, names := map[string]*instancegroups.Cluster{}, map[string]bool{}
	for _, m := range manifests {
		for _, c := range m.Clusters() {
			clusters[c.Name] = c
		}
		for _, ig := range m.Groups() {
			names[ig.Cluster] = true
		}
	}
	p.several = len(names) > 1
	for _, m := range manifests {
		for _, ig := range m.Groups() {
			if ig.ClusterObject == nil {
				ig.ClusterObject = clusters[ig.Cluster]
			}
			groups = append(groups, p.group(ctx, docs, m, ig, selects))
		}
	}
	all := selectable(manifests)
	for _, d := range docs {
		if !selects[d] && !p.oneGroup && (len(selects) == 0 || !elsewhere(d.Spec.Spec.Selector, all)) {
			selectsNone(p.report, d, all)
		}
	}
	return groups
}

// maxHooks bounds the hooks of an instance group. Each takes more than 200 bytes of user data, of which no cloud takes more
// than 256 KiB: more would cost time and memory and come to nothing.
const maxHooks = 1000

// Selectable returns what selectors look at in an instance group.
func Selectable(ig *instancegroups.Group) hookspec.Group {
	return hookspec.Group{Cluster: ig.Cluster, Name: ig.Name, Role: ig.Role, Labels: ig.Labels, NodeLabels: ig.NodeLabels}
}

// PlannedUserData is Parts in kops' type.
func (g *Group) PlannedUserData() []kops.UserData {
	var parts []kops.UserData
	for _, p := range g.Parts {
		parts = append(parts, kops.UserData(p))
	}
	return parts
}

// Ours returns the parts of the group's hooks that the manifest holds.
func (g *Group) Ours() []generator.UserData {
	var ours []generator.UserData
	for _, p := range g.Object.Spec.AdditionalUserData {
		if strings.HasPrefix(p.Name, instancegroups.Prefix) {
			ours = append(ours, generator.UserData(p))
		}
	}
	return ours
}

// Own returns the parts that are the user's own.
func (g *Group) Own() []generator.UserData {
	var own []generator.UserData
	for _, p := range g.UserData() {
		if !strings.HasPrefix(p.Name, instancegroups.Prefix) {
			own = append(own, generator.UserData(p))
		}
	}
	return own
}

// Merged returns what nodes get after merging, for the model of cloud-init: the user's own parts, then ours. A group
// that stays as it is has its parts in the manifest's order.
func (g *Group) Merged() []cloudinit.Part {
	var parts []cloudinit.Part
	if g.Stays() {
		for _, p := range g.Object.Spec.AdditionalUserData {
			parts = append(parts, cloudinit.Part(p))
		}
		return parts
	}
	for _, p := range slices.Concat(g.Own(), g.Parts) {
		parts = append(parts, cloudinit.Part(p))
	}
	return parts
}

// Message is the user data of the group's nodes, with kops' script nodeup: as kops writes it, or as an EC2NodeClass has it.
func (g *Group) Message(nodeup []byte) []byte {
	if g.InNodeClass() {
		return cloudinit.TextMessage(nodeup, g.Role, g.Merged())
	}
	return cloudinit.Message(nodeup, g.Role, g.Merged())
}

// GeneratorHooks are the hooks as the generator takes them.
func (g *Group) GeneratorHooks() []generator.Hook { return generatorHooks(g.Hooks) }

func generatorHooks(hooks []hookspec.Resolved) []generator.Hook {
	var out []generator.Hook
	for _, h := range hooks {
		out = append(out, h.Hook)
	}
	return out
}

type planner struct {
	loader  Loader
	report  *report.Report
	scripts map[source.Ref][]source.File
	broken  map[source.Ref]bool
	known   map[hookKey]knownHook
	tooMany map[report.Position]bool       // hooks that it was said of, once for all groups
	lists   map[string][]hookspec.Resolved // by the hooks' IDs
	memo    generator.Memo
	diffs   diffs
	several bool // clusters

	nodeClasses bool // Options.NodeClasses
	oneGroup    bool // Options.OneGroup
}

func newPlanner(loader Loader, r *report.Report) *planner {
	return &planner{loader: loader, report: r, scripts: map[source.Ref][]source.File{}, broken: map[source.Ref]bool{},
		known: map[hookKey]knownHook{}, lists: map[string][]hookspec.Resolved{}, tooMany: map[report.Position]bool{}}
}

func (p *planner) group(ctx context.Context, docs []*hookspec.Doc, m *Manifest, ig *instancegroups.Group, selects map[*hookspec.Doc]bool) *Group {
	g := &Group{Group: ig, Manifest: m, diffs: &p.diffs, ofSeveral: p.several}
	for i, u := range ig.Object.Spec.AdditionalUserData {
		if strings.HasPrefix(u.Name, instancegroups.Prefix) && !generator.IsPart(u.Name) {
			pos := g.position()
			pos.Line, pos.Col = ig.Position("spec", "additionalUserData", strconv.Itoa(i), "name")
			p.report.Errorf(pos, fmt.Sprintf("spec.additionalUserData[%d].name", i), "give the part another name",
				"instance group %q: names that begin with %s are those of hooks, which merging replaces, and no hook makes a part %q", g.Label(), instancegroups.Prefix, u.Name)
		}
	}
	who := Selectable(ig)
	who.Label = g.Label()
	var chosen []*hookspec.Doc
	exact := false
	for _, d := range docs {
		how := d.Selection(who)
		if how == hookspec.NotSelected {
			continue
		}
		selects[d] = true
		chosen = append(chosen, d)
		exact = exact || how == hookspec.ByName
	}
	for _, h := range hookspec.ForGroup(chosen, who, p.report) {
		if h.Phase != hookspec.Daemon {
			g.Hooks = append(g.Hooks, h)
		}
	}
	if len(g.Hooks) > maxHooks && !p.tooMany[g.Hooks[maxHooks].Pos("name")] {
		h := &g.Hooks[maxHooks]
		p.tooMany[h.Pos("name")] = true
		p.report.Errorf(h.Pos("name"), h.FieldPath("name"), "put what belongs together into one hook",
			"instance group %q has %d hooks, and user data holds no more than %d", g.Label(), len(g.Hooks), maxHooks)
	}
	p.serve(g, exact)
	if g.Skipped != "" || p.report.HasErrors() {
		return g
	}
	p.prefetch(ctx, g.Hooks)
	for i := range g.Hooks {
		var id string
		g.Hooks[i], id = p.shared(ctx, &g.Hooks[i])
		g.hookIDs = append(g.hookIDs, id)
	}
	// nobody changes the list from here on: thousands of groups with the same hooks share it
	key := strings.Join(g.hookIDs, " ")
	if same, ok := p.lists[key]; ok {
		g.Hooks = same
	} else {
		p.lists[key] = g.Hooks
	}
	if len(g.Hooks) == 0 || p.report.HasErrors() {
		return g
	}
	g.Runtime = g.Hooks[0].Runtime
	parts, err := p.memo.Generate(generator.InstanceGroup{Cluster: ig.Cluster, Name: ig.Name, Role: ig.Role}, g.Runtime, g.GeneratorHooks(), g.hookIDs)
	if err != nil {
		p.report.AddError(g.position(), "", err)
		return g
	}
	g.Parts = parts
	return g
}

// serve takes away hooks that the group cannot have: an error where a spec names it, else a warning.
func (p *planner) serve(g *Group, exact bool) {
	if len(g.Hooks) == 0 {
		return
	}
	say := func(remedy, format string, args ...any) {
		f := report.Finding{Severity: report.Warning, Position: g.position(), Remedy: remedy,
			Message: fmt.Sprintf("instance group %q: ", g.Label()) + fmt.Sprintf(format, args...), Group: g.Label()}
		if exact {
			f.Severity = report.Error
		}
		p.report.Add(f)
	}
	reason, remedy := g.Unsupported(), "leave it out with excludeNames in the spec's selector"
	if g.InNodeClass() {
		remedy = "put them into its EC2NodeClass: kopshook render -o ec2nodeclass; or " + remedy
		if p.nodeClasses {
			reason = ""
		}
	}
	if reason != "" {
		g.Skipped = reason
		g.Hooks = nil
		say(remedy, "hooks cannot be served: %s", reason)
		return
	}
	if g.Role != "Bastion" {
		return
	}
	var kept []hookspec.Resolved
	for _, h := range g.Hooks {
		if h.Phase == hookspec.Boot {
			kept = append(kept, h)
			continue
		}
		say("leave it out with roles or excludeNames in the spec's selector",
			"hook %q of phase %s is left out: a bastion runs neither nodeup nor a kubelet", h.Name, h.Phase)
	}
	g.Hooks = kept
}

// Label names the group: with its cluster's name where there are groups of several clusters.
func (g *Group) Label() string {
	if g.ofSeveral && g.Cluster != "" {
		return g.Cluster + "/" + g.Name
	}
	return g.Name
}

func (g *Group) position() report.Position {
	return report.Position{File: g.Manifest.Name, Line: g.Line}
}
