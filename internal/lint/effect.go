package lint

import (
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/report"
)

// Effect is what an error means for the nodes, as far as it is certain. Of two, the larger one comes first in the life of a machine.
type Effect int

const (
	NoEffect     Effect = iota // it depends, or nothing is lost
	Loses                      // something of the user data does not arrive, or does not run
	LeftOut                    // all of it does not arrive; nodeup runs without it
	KubeletFails               // nodeup runs, and the kubelet does not start
	HookFails                  // a hook that the kubelet waits for cannot succeed
	NoNodeup                   // the user data runs, but for nodeup.sh
	Ends                       // the machine comes no further than to what the finding is about
	NothingRuns                // of the user data
	TooLarge                   // the cloud refuses the user data, and makes no machine
	Refused                    // kops refuses the instance group
)

// effects of errors that mean the same wherever they are found. What is lost has its effect from checkLosses.
var effects = map[string]Effect{
	"KH001": Refused,
	"KH008": Loses,
	"KH012": NoNodeup,
	"KH027": NothingRuns,
	"KH034": Ends,  // the boot hangs
	"KH037": Ends,  // the boot hangs
	"KH060": Loses, // the shell stops there
	Size:    TooLarge,
}

func effect(e Effect) option { return func(f *Finding) { f.Effect = e } }

// settle gives an error the effect that its rule has.
func (f *Finding) settle() {
	if f.Severity == report.Error {
		f.Effect = max(f.Effect, effects[f.Code])
	}
}

// lost gives the findings about a loss, those from number first on, their effect.
func (p *pass) lost(l cloudinit.Loss, first int) {
	imageOwn := l.At.Part < 0 && l.Name == ""
	if l.Kind == cloudinit.Changed || l.Kind == cloudinit.Unpredictable || imageOwn {
		return
	}
	for i := first; i < len(p.found); i++ {
		p.found[i].Effect = max(p.found[i].Effect, Loses)
	}
}

// lackScripts says whether a list of the modules of cloud-init's last stage lacks the one that runs scripts.
func lackScripts(modules *pyyaml.Value) bool {
	return modules.IsSequence() && !slices.ContainsFunc(modules.Items, func(m *pyyaml.Value) bool {
		if m.IsSequence() && len(m.Items) > 0 {
			m = m.Items[0]
		}
		return strings.ReplaceAll(m.Str, "_", "-") == "scripts-user"
	})
}

// fails gives errors for which a hook cannot succeed their effect: it waits for itself, the shell cannot read it, or
// it asks another cloud.
func (p *hookPass) fails(f *Finding) {
	if p.h.Phase.Holds() && !p.h.Continue && f.Severity == report.Error && (f.Code == "KH039" || f.Code == "KH060" || f.Code == "KH088") {
		f.Effect = HookFails
	}
}
