package generator

import (
	"path"
	"slices"
	"strings"
)

// GateHook is a hook as a gate names it.
type GateHook struct {
	Number string // NNN: 500 + the weight
	Name   string
	Phase  Phase    // "" where it is PostNodeup or PostKubelet, and the gate does not tell which
	Before []string // further units that wait for it
	Hash   string   // the beginning of that in the hook's unit, where it lies in a bucket; else ""
}

// GateHooks returns the hooks that a gate names, in the order in which they run.
//
// Its lines are "hook WANTS NNN-NAME UNIT...", "nodeup NNN-NAME UNIT...", or, where hooks lie in a bucket, rows of a table,
// "NNN-NAME HASH UNIT...", and lines of hooks that end in "# HASH" (templates/v1/gate.sh).
func GateHooks(gate string) []GateHook {
	var hooks []GateHook
	var next []string // the unit of a hook of the same phase that waits for the hook, "" without one
	for line := range strings.Lines(gate) {
		tabled := line[0] >= '0' && line[0] <= '9'
		if !tabled && !strings.HasPrefix(line, "hook ") && !strings.HasPrefix(line, "nodeup ") {
			continue
		}
		words := strings.Fields(line)
		i := slices.IndexFunc(words, isGateName)
		if i < 0 || tabled && (i > 0 || len(words) < 2 || !isGateHash(words[1])) {
			continue
		}
		h := GateHook{Number: words[i][:3], Name: words[i][4:]}
		rest := words[i+1:]
		switch {
		case tabled:
			h.Hash = rest[0]
		case len(rest) > 1 && rest[len(rest)-2] == "#" && isGateHash(rest[len(rest)-1]):
			h.Hash = rest[len(rest)-1]
		}
		switch {
		case tabled || words[0] == "nodeup" || slices.Contains(rest, "kops-configuration.service"):
			h.Phase = PreNodeup
		case slices.Contains(rest, "kubelet.service"):
			h.Phase = PreKubelet
		case len(words) > 1 && words[1] == pullBefore:
			h.Phase = PreShutdown
		}
		h.Before = otherUnits(rest)
		hooks = append(hooks, h)
		next = append(next, "")
		if j := slices.IndexFunc(rest, func(w string) bool { return strings.HasPrefix(w, "kopshook-") }); j >= 0 {
			next[len(next)-1] = rest[j]
		}
	}
	tellPosts(hooks, next)
	return hooks
}

// tellPosts tells hooks of post-nodeup from those of post-kubelet, where there are both: each of a phase waits for the one before it,
// and between the phases nothing waits.
func tellPosts(hooks []GateHook, next []string) {
	first := slices.IndexFunc(hooks, func(h GateHook) bool { return h.Phase == "" })
	for i := max(first, 0); i+1 < len(hooks) && hooks[i+1].Phase == ""; i++ {
		if next[i] != UnitName(hooks[i+1].Name) {
			for j := first; j < len(hooks) && hooks[j].Phase == ""; j++ {
				hooks[j].Phase = PostKubelet
				if j <= i {
					hooks[j].Phase = PostNodeup
				}
			}
			return
		}
	}
}

// isGateName says whether a word is NNN-NAME.
func isGateName(w string) bool {
	return len(w) > 4 && w[3] == '-' && w[4] != '-' && strings.Trim(w[:3], "0123456789") == "" &&
		strings.Trim(w[4:], "-0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

func isGateHash(w string) bool { return len(w) == 8 && strings.Trim(w, "0123456789abcdef") == "" }

// otherUnits are those of the words that name a unit of neither kops nor a hook.
func otherUnits(words []string) []string {
	var found []string
	for _, w := range words {
		w = strings.Trim(w, "'")
		if path.Ext(w) != "" && w != "kops-configuration.service" && w != "kubelet.service" && !strings.HasPrefix(w, "kopshook-") {
			found = append(found, w)
		}
	}
	return found
}
