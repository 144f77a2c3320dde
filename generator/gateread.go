package generator

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// GateHook is a hook as a gate names it.
type GateHook struct {
	Number string // NNN: 500 + the weight
	Name   string
	Phase  Phase    // PreNodeup or PreKubelet; PostNodeup stands for all phases that nothing waits for
	Before []string // further units that wait for it
	Hash   string   // the beginning of that in the hook's unit, where it lies in a bucket; else ""
}

// Lines of a gate are "hook WANTS NNN-NAME UNIT...", "nodeup NNN-NAME UNIT...", or, where hooks lie in a bucket, rows of a
// table, "NNN-NAME HASH UNIT...", and lines of hooks that end in "# HASH" (templates/v1/gate.sh). Like the other patterns of
// this package these are compiled when they are needed: the program starts often.
var (
	gateWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{3})-([a-z0-9][-a-z0-9]*)$`) })
	gateHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{8}$`) })
)

// GateHooks returns the hooks that a gate names, in the order in which they run.
func GateHooks(gate string) []GateHook {
	var hooks []GateHook
	for line := range strings.Lines(gate) {
		words := strings.Fields(line)
		tabled := line[0] >= '0' && line[0] <= '9'
		if len(words) < 2 || !tabled && words[0] != "hook" && words[0] != "nodeup" {
			continue
		}
		i := slices.IndexFunc(words, gateWord().MatchString)
		if i < 0 || tabled && !gateHash().MatchString(words[1]) {
			continue
		}
		m := gateWord().FindStringSubmatch(words[i])
		h := GateHook{Number: m[1], Name: m[2], Phase: PostNodeup}
		rest := words[i+1:]
		switch {
		case tabled:
			h.Hash = rest[0]
		case len(rest) > 1 && rest[len(rest)-2] == "#" && gateHash().MatchString(rest[len(rest)-1]):
			h.Hash = rest[len(rest)-1]
		}
		switch {
		case tabled || words[0] == "nodeup" || slices.Contains(rest, "kops-configuration.service"):
			h.Phase = PreNodeup
		case slices.Contains(rest, "kubelet.service"):
			h.Phase = PreKubelet
		}
		h.Before = otherUnits(rest)
		hooks = append(hooks, h)
	}
	return hooks
}

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
