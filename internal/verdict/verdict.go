// Package verdict says in a few words what becomes of the machines of an instance group.
package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// Kind is what becomes of the machines.
type Kind string

const (
	Joins    Kind = "joins"       // when the hooks that the kubelet waits for succeed
	Loses    Kind = "loses"       // they join, and not all of the user data arrives or runs
	TooLarge Kind = "too-large"   // the cloud refuses the user data
	Never    Kind = "never-joins" // none becomes a node
	Other    Kind = "other"       // no user data of kops' own form, so that nothing is known of a kubelet
)

// Verdict is what becomes of the machines of an instance group, and why. The zero value knows nothing: it is of user data
// that kops has nothing to do with.
type Verdict struct {
	Kind Kind `json:"kind"`
	// Why says more, unless they join; of things lost, about the first. It does not name the group: groups with the same fault have the same.
	Why   string `json:"why,omitempty"`
	Place string `json:"place,omitempty"` // file:line of what is to blame, where it is in a file of the user's
	Lost  int    `json:"lost,omitempty"`  // how many things do not arrive or do not run
	Hooks int    `json:"hooks"`           // how many the kubelet waits for
	Late  bool   `json:"late,omitempty"`  // they may join when somebody has given up on them; only for programs

	// Effect says how far the machines come, for those who draw it; Hook and At say where that ends: at a hook, by its name on the
	// node, or at a place in a file.
	Effect lint.Effect     `json:"-"`
	Hook   string          `json:"-"`
	At     report.Position `json:"-"`

	noKubelet bool   // a bastion, or no nodeup.sh
	continues int    // of Hooks, those with onFailure: continue
	unknown   int    // of Hooks, those of which nobody knows it: they lie in a bucket
	unsure    string // when it may be too large: by how much
}

// Facts are what a verdict goes by.
type Facts struct {
	Role     string
	Result   *cloudinit.Result
	Findings []lint.Finding // about the user data and about its hooks
	Hooks    []waits.Hook
	Size     *budget.Result // nil when it is not known
}

// Of is the verdict over facts. What a comment in the user's file switches off is in none of the findings, and does not count.
func Of(f Facts) Verdict {
	v := Verdict{Kind: Joins, noKubelet: f.Role == "Bastion"}
	worst := &lint.Finding{}
	leftOut := slices.ContainsFunc(f.Findings, func(f lint.Finding) bool { return f.Effect == lint.LeftOut })
	for i := range f.Findings {
		found := &f.Findings[i]
		switch e := found.Effect; {
		case leftOut && e != lint.LeftOut && e != lint.Refused: // what does not arrive does no harm, but kops reads it
			continue
		case v.noKubelet && (e == lint.HookFails || e == lint.KubeletFails):
			continue
		}
		if found.Effect == lint.Loses || found.Effect == lint.LeftOut {
			v.Lost++
		}
		if found.Effect > worst.Effect {
			worst = found
		}
	}
	v.Effect, v.Hook, v.At = worst.Effect, worst.Hook, worst.Position
	missing := ""
	for i := range f.Hooks {
		if v.Idle() {
			break
		}
		h := &f.Hooks[i]
		if h.Holds() && !h.Fetches() {
			v.Hooks++
			if h.Continue {
				v.continues++
			}
			if h.Elsewhere {
				v.unknown++
			}
		}
		if h.Holds() && h.Missing && missing == "" {
			missing = h.Name
		}
	}
	if v.Lost == 0 && len(f.Result.Lost) > 0 {
		missing = "" // comments say that nothing is lost on the user's image
	}
	switch {
	case worst.Effect == lint.TooLarge:
		v.Kind, v.Why = TooLarge, f.Size.Takes()+", so it makes no machine"
	case worst.Effect > lint.HookFails:
		v.Kind = Never
		v.blame(worst, "")
	case missing != "":
		v.Kind, v.Why = Never, fmt.Sprintf("hook %q does not arrive on the node", missing)
		if worst.Effect == lint.Loses {
			v.blame(worst, v.Why+": ")
		}
		v.Effect, v.Hook = lint.HookFails, missing
	case worst.Effect > lint.LeftOut:
		v.Kind = Never
		v.blame(worst, "")
	case worst.Effect >= lint.Loses:
		v.Kind = Loses
		v.blame(worst, "")
	}
	if f.Size != nil && f.Size.Verdict == budget.MayNotFit && !leftOut {
		v.unsure = f.Size.Takes()
	}
	return v
}

// OfOther is the verdict over user data that is no message of kops' own form: of machines that are not of kops, of bastions, or what
// another program has packed anew. Nothing is known of it but what cloud-init does with it.
func OfOther(r *cloudinit.Result) Verdict {
	nodeup := slices.ContainsFunc(r.Runs, func(run cloudinit.Run) bool { return run.What == "script" && run.Name == cloudinit.NodeupName })
	v := Verdict{Kind: Other, noKubelet: !nodeup}
	if l := r.Fatal(); l != nil {
		v.Kind, v.Why, v.Effect = Never, l.Why, lint.NothingRuns
		return v
	}
	if nodeup {
		v.Why = "kops did not write the message around nodeup.sh, and so nothing is known of the kubelet"
		return v
	}
	for _, l := range r.Lost {
		if l.Kind == cloudinit.Changed || l.Kind == cloudinit.Unpredictable {
			continue
		}
		v.Kind = Loses
		v.Lost++
		v.Why = cmp.Or(v.Why, l.Why)
	}
	v.Why = cmp.Or(v.Why, "there is no nodeup.sh, and so nothing is known of a kubelet")
	return v
}

func (v *Verdict) blame(f *lint.Finding, before string) {
	v.Why = before + strings.TrimSuffix(f.Message, ": the node never joins")
	if f.Col > 0 { // else it is the group's own line
		v.Place = report.Position{File: f.File, Line: f.Line}.String()
	}
}

// MayBeLate says whether the machines join, and over, somebody may have given up on them before.
func (v Verdict) MayBeLate(over bool) bool { return over && v.Kind == Joins }

// WithLate is the verdict for programs: over says that hooks may take longer than somebody waits.
func (v Verdict) WithLate(over bool) Verdict {
	v.Late = v.MayBeLate(over)
	return v
}

// Bad says whether the machines do not join, or lack something.
func (v Verdict) Bad() bool { return v.Kind != Joins && v.Kind != Other && v.Kind != "" }

// NoNode says whether no machine becomes a node.
func (v Verdict) NoNode() bool { return v.Kind == Never || v.Kind == TooLarge }

// LeftOut says whether nothing of the user data reaches the machines, which join without it.
func (v Verdict) LeftOut() bool { return v.Effect == lint.LeftOut }

// Idle says whether the machines run none of the hooks that are units, and nothing waits for them: the hooks do not arrive, or
// there is neither nodeup nor a kubelet, one of which starts each of them.
func (v Verdict) Idle() bool { return v.noKubelet || v.LeftOut() }

// NoWait says whether it means nothing how long hooks may take: nothing waits for them, or it waits in vain.
func (v Verdict) NoWait() bool { return v.NoNode() || v.Idle() }

// NoMachine says whether there is no machine at all: the cloud refuses its user data, or kops the whole group.
func (v Verdict) NoMachine() bool { return v.Effect >= lint.TooLarge }

// Label is the verdict in a few words: "never joins", "too large", "joins, but loses 2 things", "joins"; "boots" where there is no
// kubelet.
func (v Verdict) Label() string {
	switch v.Kind {
	case Never:
		if v.noKubelet {
			return "never comes up"
		}
		return "never joins"
	case TooLarge:
		return "too large"
	case Loses:
		return v.joins() + v.loses()
	case Joins:
		return v.joins()
	case Other:
		if v.noKubelet {
			return v.joins()
		}
		return "unknown"
	}
	return ""
}

func (v Verdict) joins() string {
	if v.noKubelet {
		return "boots"
	}
	return "joins"
}

func (v Verdict) loses() string { return ", but loses " + report.Count(v.Lost, "thing") }

// String is the verdict in a sentence: "joins when its 2 hooks succeed", "never joins: ...", "joins when its hook succeeds, but
// loses 1 thing: ...".
func (v Verdict) String() string {
	s := v.Label()
	switch v.Kind {
	case Loses:
		s = v.joins() + v.when() + v.loses()
	case Joins:
		s += v.when()
		if v.unsure != "" {
			s += ", unless the user data is too large: " + v.unsure
		}
	}
	if v.Why != "" {
		s += ": " + v.Why
	}
	if v.Place != "" {
		what := ""
		if strings.Contains(v.Why, " is lost") { // there may be the place of what it is lost to, too
			what = "lost: "
		}
		s += " (" + what + v.Place + ")"
	}
	if v.Kind == Loses && v.Lost > 1 {
		s += fmt.Sprintf("; and %d more", v.Lost-1)
	}
	return s
}

// when says what machines that join wait for: hooks with onFailure: continue only have to end.
func (v Verdict) when() string {
	block := v.Hooks - v.continues
	switch {
	case v.Hooks == 0:
		return ""
	case v.unknown > 0 && v.Hooks == 1:
		return " when its hook is through"
	case v.unknown > 0:
		return fmt.Sprintf(" when its %d hooks are through", v.Hooks)
	case v.Hooks == 1 && block == 0:
		return " when its hook has run"
	case block == 0:
		return fmt.Sprintf(" when its %d hooks have run", v.Hooks)
	case v.Hooks == 1:
		return " when its hook succeeds"
	case v.continues == 0:
		return fmt.Sprintf(" when its %d hooks succeed", v.Hooks)
	case block == 1:
		return " when its blocking hook succeeds"
	}
	return fmt.Sprintf(" when its %d blocking hooks succeed", block)
}

// Short is the verdict for the cell of a table: why it is bad stands elsewhere.
func (v Verdict) Short() string {
	switch {
	case v.Kind == Loses:
		return v.joins() + v.when() + v.loses()
	case v.Bad():
		return v.Label()
	}
	return v.String()
}

// WithoutSize is the verdict without numbers of bytes: groups with the same hooks differ in them by the lengths of names.
func (v Verdict) WithoutSize() Verdict {
	if v.Kind == TooLarge {
		v.Why = ""
	}
	v.unsure = ""
	return v
}
