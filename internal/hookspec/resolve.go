package hookspec

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// Resolved is one hook for one instance group: overrides applied, one phase, all defaults set.
type Resolved struct {
	Doc     *Doc
	Path    string // of the hook in the spec: "spec.hooks[1]"
	Runtime string // "v1"

	Name            string // NAME, or NAME-PHASE where the spec lists phases
	Phase           Phase
	Weight          int
	EveryBoot       bool
	Script          *string // at most one of Script and Source
	Source          *string
	Verify          *string
	Env             map[string]string
	Timeout         time.Duration
	Attempts        int
	RetryDelay      time.Duration
	Continue        bool // onFailure: continue
	Before          []string
	RebootExitCodes []int
	Compress        bool
	CleanUp         bool   // cleanup: on-success
	Files           []File // Mode and Owner are set
	DropIns         []DropIn
	CloudConfig     *yaml.Node // a mapping without anchors, aliases and merge keys, or nil

	origin map[string]string // field -> path of the mapping that gave it, where that is an override
}

// FieldPath returns the path of a field of the hook ("script", "files[0].mode", "env.DRIVER") in the spec: that of
// the override which gave it, or the hook's own.
func (h *Resolved) FieldPath(field string) string {
	for f := field; f != ""; f = parent(f) {
		if base, ok := h.origin[f]; ok {
			return base + "." + field
		}
	}
	return h.Path + "." + field
}

// Pos returns where a field of the hook stands, or would stand.
func (h *Resolved) Pos(field string) report.Position { return h.Doc.Pos(h.FieldPath(field)) }

// Resolve returns the enabled hooks of the spec for g, whether it selects g or not: overrides applied in their order,
// phase lists expanded, defaults set. The spec must be free of errors.
func (d *Doc) Resolve(g Group) []Resolved {
	var out []Resolved
	for i := range d.Spec.Spec.Hooks {
		h := &d.Spec.Spec.Hooks[i]
		phases := h.Phase
		if len(phases) == 0 {
			phases = PhaseList{PreNodeup}
		}
		for _, p := range phases {
			name := h.Name
			if len(phases) > 1 {
				name += "-" + string(p)
			}
			r := Resolved{Doc: d, Path: fmt.Sprintf("spec.hooks[%d]", i), Runtime: "v1", Name: name, Phase: p,
				Script: h.Script, Source: h.Source, Verify: h.Verify, Env: h.Env, Timeout: 20 * time.Minute, Attempts: 3,
				RetryDelay: 10 * time.Second, Before: h.Before, RebootExitCodes: h.RebootExitCodes, Files: h.Files,
				DropIns: h.DropIns, CloudConfig: h.CloudConfig}
			out = append(out, r)
		}
	}
	return out
}

// ForGroup returns the hooks of all specs that select g, in the order in which they run: phase, weight, name. It
// reports what the specs do not agree about: two hooks of one name, two runtimes, one file or drop-in placed twice.
func ForGroup(docs []*Doc, g Group, r *report.Report) []Resolved {
	var out []Resolved
	for _, d := range docs {
		if d.Selects(g) {
			out = append(out, d.Resolve(g)...)
		}
	}
	slices.SortStableFunc(out, func(a, b Resolved) int {
		return cmp.Or(cmp.Compare(slices.Index(Phases, a.Phase), slices.Index(Phases, b.Phase)),
			cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name))
	})
	return out
}
