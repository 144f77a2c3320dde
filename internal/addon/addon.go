package addon

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// Images are pinned by the digest of their index, which has amd64 and arm64. docs/addon.md says where the digests are
// from.
const (
	DefaultImage       = "registry.k8s.io/e2e-test-images/busybox:1.36.1-1@sha256:a9155b13325b2abef48e71de77bb8ac015412a566829f621d06bfae5c699b1b9"
	DefaultStatusImage = "registry.k8s.io/node-problem-detector/node-problem-detector:v0.8.20@sha256:52f0618e9bc2cea60b7aa9d9c962a0b84dace6ef3cff62d1e1a29c92ba1c4177"
)

// Options of an addon. The zero value of a field is its default.
type Options struct {
	Name           string        // of the addon, first part of its objects' names; default "kopshook"
	Image          string        // of the pods that run hooks: sh, nsenter, sha256sum and what busybox has
	StatusImage    string        // of node-problem-detector
	PriorityClass  string        // an existing one; by default the addon has its own
	MaxUnavailable string        // pods at once in a rollout, a number or a percentage; default "10%"
	MinReady       time.Duration // how long a pod has to be ready before the rollout goes on; whole seconds
	OnDelete       bool          // pods are replaced when somebody deletes them
	RollNodes      string        // control-plane, workers or all: kops marks these nodes for its rolling update when the addon has changed
	Status         bool          // with node-problem-detector
}

// Input is what an addon is made of.
type Input struct {
	Specs   []*hookspec.Doc // in any order
	Cluster string          // "" when it is not known
	Groups  []Group         // of that cluster; nil when they are not known
	// Read returns hooks with their bytes and reports what cannot be read.
	Read func([]hookspec.Resolved) []generator.Hook
	Options
}

// Group is an instance group.
type Group struct {
	hookspec.Group
	Position report.Position
	// Labelled says that its nodes get the label kops.k8s.io/instancegroup.
	Labelled bool
	Taints   []Taint // of its nodes when they join
}

// Addon is the result.
type Addon struct {
	Objects []any // Kubernetes objects, in the order in which they have to be applied
	Name    string
	options Options
	rules   []any // NodeReadinessRules
}

// nameCharacters are those of a cluster's name, as user data has them (generator/validate.go). $ is not among them, which
// Kubernetes expands in variables.
const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

// Build makes the addon. It reports all that is wrong; the result is of use only when r has no errors.
func Build(in Input, r *report.Report) *Addon {
	in.Specs = slices.Clone(in.Specs)
	slices.SortStableFunc(in.Specs, func(x, y *hookspec.Doc) int {
		return cmp.Compare(x.Spec.Metadata.Name, y.Spec.Metadata.Name)
	})
	in.setDefaults()
	in.check(r)
	if strings.ContainsFunc(in.Cluster, func(c rune) bool { return !strings.ContainsRune(nameCharacters, c) }) {
		r.Errorf(report.Position{}, "", "give the name that `kops get clusters` prints",
			"cluster %q has characters other than letters, digits, dots, dashes and underscores", in.Cluster)
	}
	b := &builder{Input: in, r: r, names: map[string]report.Position{}}
	a := &Addon{Name: in.Name, options: in.Options}
	var config, sets []any
	for _, d := range in.Specs {
		config = append(config, b.daemonSets(d)...)
	}
	b.refuseSameHook()
	for i := range b.hookSets {
		s := &b.hookSets[i]
		b.rolls(s.object, b.share(s))
		sets = append(sets, s.object)
	}
	rules, waited := b.readiness()
	a.rules = rules
	if in.Status {
		m, s := b.status(waited)
		config, sets = append(config, m...), append(sets, s...)
	}
	if len(b.hookSets) == 0 && !in.Status {
		r.Warnf(report.Position{}, "", "give a hook the phase daemon, or apply the addon to remove what an earlier one made",
			"no spec has a hook of phase daemon for this cluster")
	}
	if len(b.hookSets) > 0 {
		config = append([]any{b.runner()}, config...)
	}
	if len(sets) > 0 && in.PriorityClass == in.Name {
		a.Objects = append(a.Objects, b.priorityClass())
	}
	a.Objects = slices.Concat(a.Objects, config, sets)
	return a
}

// builder holds what Build has so far.
type builder struct {
	Input
	r        *report.Report
	names    map[string]report.Position // of the specs, by the name of the DaemonSet made of them
	hookSets []hookSet
}

// hookSet is the daemon hooks of a spec for some nodes.
type hookSet struct {
	doc    *hookspec.Doc
	hooks  []hookspec.Resolved // all that some of the nodes have
	object *appsv1.DaemonSet
	target
}

func (o *Options) setDefaults() {
	def := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	def(&o.Name, "kopshook")
	def(&o.Image, DefaultImage)
	def(&o.StatusImage, DefaultStatusImage)
	def(&o.PriorityClass, o.Name)
	def(&o.MaxUnavailable, "10%")
}

// check reports options that no cluster would take.
func (o *Options) check(r *report.Report) {
	bad := func(remedy, format string, args ...any) { r.Errorf(report.Position{}, "", remedy, format, args...) }
	if len(o.Name) > 40 || len(validation.IsDNS1123Label(o.Name)) > 0 {
		bad("use at most 40 lower case letters, digits and dashes", "the name %q cannot be part of the names of objects", o.Name)
	}
	if o.PriorityClass != o.Name && len(validation.IsDNS1123Subdomain(o.PriorityClass)) > 0 {
		bad("name an existing PriorityClass, such as system-node-critical", "%q cannot be the name of a PriorityClass", o.PriorityClass)
	}
	if !regexp.MustCompile(`^([1-9][0-9]{0,8}|[1-9][0-9]?%|100%)$`).MatchString(o.MaxUnavailable) {
		bad("write a number such as 1, or a percentage such as 10%", "max-unavailable is %q", o.MaxUnavailable)
	}
	if o.MinReady < 0 || o.MinReady%time.Second != 0 || o.MinReady > 24*time.Hour {
		bad("write a duration such as 5m, up to 24h", "min-ready is %s", o.MinReady)
	}
	if !slices.Contains([]string{"", "control-plane", "workers", "all"}, o.RollNodes) {
		bad("choose control-plane, workers or all", "needs-rolling-update is %q", o.RollNodes)
	}
	images := []string{o.Image}
	if o.Status {
		images = append(images, o.StatusImage)
	}
	for _, image := range images {
		switch {
		case !isImage(image):
			bad("write REGISTRY/NAME:TAG@sha256:DIGEST; NAME is in lower case", "%q is not an image", image)
		case !strings.Contains(image, "@"):
			r.Warnf(report.Position{}, "", "add its digest: NAME:TAG@sha256:DIGEST", "the image %s is not pinned: what runs on the nodes may change", image)
		}
	}
}

// isImage says whether a container runtime takes the reference: [REGISTRY/]NAME[:TAG][@DIGEST], the grammar of
// distribution/reference. A registry has a dot or a port, or is localhost.
func isImage(s string) bool {
	const (
		host     = `(localhost|[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+|[a-zA-Z0-9-]+:[0-9]+|\[[0-9a-fA-F:]+\])(:[0-9]+)?/`
		part     = `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
		tag      = `:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}`
		digest   = `@(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})`
		wholeRef = `^(` + host + `)?` + part + `(/` + part + `)*(` + tag + `)?(` + digest + `)?$`
	)
	return regexp.MustCompile(wholeRef).MatchString(s)
}

// refuseSameHook finds hooks of one name that a node may get from two specs: they would share a unit and a status
// file. Where the instance groups are known, hookspec.ForGroup says it for all phases.
func (b *builder) refuseSameHook() {
	if b.Groups != nil {
		for _, g := range b.Groups {
			var docs []*hookspec.Doc
			for _, d := range b.Specs {
				if d.Selects(g.Group) {
					docs = append(docs, d)
				}
			}
			hookspec.ForGroup(docs, g.Group, b.r)
		}
		return
	}
	for i, a := range b.hookSets {
		for _, c := range b.hookSets[:i] {
			if a.doc == c.doc || a.disjoint(&c.target) {
				continue
			}
			for _, h := range a.hooks {
				if j := slices.IndexFunc(c.hooks, func(o hookspec.Resolved) bool { return o.Name == h.Name }); j >= 0 {
					b.r.Errorf(h.Pos("name"), h.FieldPath("name"), "rename one, or give the cluster's manifests too, to show that no node has both",
						"a node may get hook %q from %s as well", h.Name, fmt.Sprint(c.hooks[j].Pos("name")))
				}
			}
		}
	}
}
