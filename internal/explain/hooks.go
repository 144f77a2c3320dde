package explain

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
)

// Hook is a hook as its unit tells it.
type Hook struct {
	Name      string
	Phase     string
	EveryBoot bool
	Continue  bool // when it fails the node joins all the same
	Attempts  int
	Delay     time.Duration // before the second attempt; it doubles
	Timeout   time.Duration // of an attempt
	Missing   bool          // the gate names it, but its unit does not arrive
	order     string        // of the drop-ins that the gate writes for it
}

// holds says whether the kubelet waits for the hook.
func (h *Hook) holds() bool { return h.Phase == "pre-nodeup" || h.Phase == "pre-kubelet" }

// tries says how often it is tried, and how long: "3 x 20m".
func (h *Hook) tries() string {
	if h.Attempts <= 1 {
		return "up to " + short(h.Timeout)
	}
	return fmt.Sprintf("up to %d × %s", h.Attempts, short(h.Timeout))
}

// short prints a duration without its zeros.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// runner is how a unit runs a hook: run NAME PHASE HASH once|every block|continue ATTEMPTS DELAY TIMEOUT ... It is the
// same in all units of runtime v1 (templates/v1/run.sh).
const runner = "/opt/kopshook/bin/run "

// findHooks finds the hooks among the units that write_files makes or an archive holds, in the order in which they run.
func findHooks(r *cloudinit.Result) []Hook {
	var hooks []Hook
	var gate []Hook
	for _, run := range r.Runs {
		switch {
		case run.What == "boothook" && strings.Contains(run.Name, "-gate"):
			gate = gateHooks(run.Content)
		case run.What == "boothook" && strings.Contains(run.Name, "-archive"):
			files, _ := generator.Archived(run.Content)
			for _, f := range files {
				if strings.HasSuffix(f.Path, ".service") {
					if h, ok := hookOfUnit(string(f.Content)); ok {
						hooks = append(hooks, h)
					}
				}
			}
		case run.File != nil && strings.HasPrefix(path.Base(run.File.Path), "kopshook-") && strings.HasSuffix(run.File.Path, ".service"):
			if h, ok := hookOfUnit(run.Content); ok {
				hooks = append(hooks, h)
			}
		}
	}
	for _, g := range gate {
		i := slices.IndexFunc(hooks, func(h Hook) bool { return h.Name == g.Name })
		if i < 0 {
			hooks = append(hooks, g)
			continue
		}
		hooks[i].order = g.order
	}
	slices.SortStableFunc(hooks, func(a, b Hook) int { return strings.Compare(a.order, b.order) })
	return hooks
}

// gateHooks reads the gate's lines, which name each hook as NNN-NAME and the units that wait for it, in the order in which
// hooks run (templates/v1/gate.sh).
func gateHooks(gate string) []Hook {
	var hooks []Hook
	for i, l := range strings.Split(gate, "\n") {
		words := strings.Fields(l)
		if len(words) < 2 || words[0] != "hook" && words[0] != "nodeup" {
			continue
		}
		h := Hook{Missing: true, Phase: "post-nodeup", order: fmt.Sprintf("%04d", i)}
		for _, w := range words[1:] {
			number, name, ok := strings.Cut(w, "-")
			if _, err := strconv.Atoi(number); ok && err == nil && len(number) == 3 && h.Name == "" {
				h.Name = name
			}
		}
		switch {
		case words[0] == "nodeup" || slices.Contains(words, "kops-configuration.service"):
			h.Phase = "pre-nodeup"
		case slices.Contains(words, "kubelet.service"):
			h.Phase = "pre-kubelet"
		}
		if h.Name != "" {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

func hookOfUnit(unit string) (Hook, bool) {
	_, rest, ok := strings.Cut(unit, runner)
	if !ok {
		return Hook{}, false
	}
	f := strings.Fields(rest)
	if len(f) < 8 {
		return Hook{}, false
	}
	seconds := func(s string) time.Duration {
		n, _ := strconv.Atoi(s)
		return time.Duration(n) * time.Second
	}
	attempts, _ := strconv.Atoi(f[5])
	return Hook{Name: f[0], Phase: f[1], EveryBoot: f[3] == "every", Continue: f[4] == "continue", Attempts: attempts, Delay: seconds(f[6]), Timeout: seconds(f[7])}, true
}

// bootHook finds the name of a boot hook in the command that runs it, or "".
func bootHook(command string) string {
	_, rest, ok := strings.Cut(command, "KOPSHOOK_HOOK=")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "'")
	name, _, _ = strings.Cut(name, " ")
	return name
}
