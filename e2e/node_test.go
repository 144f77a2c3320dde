//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/nodestatus"
)

// atTheEnds are the tests that run on the oldest and the newest system each time: short ones, of all that the node's
// scripts do. With KOPSHOOK_E2E_ALL, as make e2e-suites sets it, all tests run there.
var atTheEnds = []string{"TestPhasesHaveTheirMoments", "TestFieldsGoTogether", "TestBakedHooks", "TestChainStopsAtABlockingFailure",
	"TestConsoleExplainsANodeThatDidNotJoin", "TestHooksKnowWhatTheNodeDoes"}

// onSuites runs a test on every suite. Those that cannot be built here are skipped: Ubuntu, which needs a mirror, and
// the ends of the range, where the archive does not have them.
func onSuites(t *testing.T, test func(t *testing.T, suite string)) {
	t.Parallel()
	for _, s := range boot.Suites {
		if s.EndOfRange && os.Getenv("KOPSHOOK_E2E_ALL") == "" && !slices.Contains(atTheEnds, t.Name()) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if missing := s.Missing(); missing != "" {
				if strings.HasPrefix(s.Title, "Debian") {
					t.Fatal(missing)
				}
				t.Skip(missing)
			}
			if why, ok := unbuilt.Load(s.Name); ok {
				t.Skip(why)
			}
			test(t, s.Name)
		})
	}
}

// node is a machine under test. What was seen of its boots is printed when the test fails, or when KOPSHOOK_E2E_SHOW is
// set and the tests are verbose.
type node struct {
	*boot.Machine
	t *testing.T
}

func newNode(t *testing.T, suite string, userData []byte) *node {
	t.Helper()
	return newNodeOf(t, boot.Config{Suite: suite, UserData: userData})
}

func newNodeOf(t *testing.T, config boot.Config) *node {
	t.Helper()
	config.Progress = os.Stderr
	m, err := boot.New(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	return watched(t, m)
}

func watched(t *testing.T, m *boot.Machine) *node {
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return &node{m, t}
}

// clone is a node made from an image of n's disk.
func (n *node) clone(userData []byte, instanceID string) *node {
	n.t.Helper()
	m, err := n.Machine.Clone(userData, instanceID)
	if err != nil {
		n.t.Fatal(err)
	}
	return watched(n.t, m)
}

// boot boots the node once.
func (n *node) boot(o boot.Options) *result {
	n.t.Helper()
	r, err := n.Boot(context.Background(), o)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		if n.t.Failed() || os.Getenv("KOPSHOOK_E2E_SHOW") != "" {
			n.t.Logf("boot %d: %s; failed units %v; jobs left %v; %v\n%s", r.Number, r.Outcome, r.Failed, r.Jobs, r.Versions, brief(r.Timeline))
			n.t.Logf("boot %d: console\n%s", r.Number, briefConsole(r.Console))
			if r.Scenario != "" {
				n.t.Logf("boot %d: scenario\n%s", r.Number, r.Scenario)
			}
		}
	})
	return &result{r, n, n.t}
}

// brief leaves out what cloud-init prints, unless it complains.
func brief(tl boot.Timeline) boot.Timeline {
	return slices.DeleteFunc(slices.Clone(tl), func(e boot.Event) bool {
		return e.Name == "log" && strings.HasPrefix(e.Unit, "cloud-") && !strings.Contains(e.Text, "WARNING") && !strings.Contains(e.Text, "rror")
	})
}

// briefConsole leaves out what systemd says of units that are well.
func briefConsole(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "[  OK  ]") && !strings.HasPrefix(line, "         ") && !strings.Contains(line, "ci-info:") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// status reads the status file of a hook.
func (n *node) status(hook string) map[string]any {
	n.t.Helper()
	data, err := n.ReadFile(nodestatus.Dir + "/" + hook + ".json")
	if err != nil {
		n.t.Errorf("hook %s has no status: %v", hook, err)
		return nil
	}
	var status map[string]any
	if err := json.Unmarshal(data, &status); err != nil {
		n.t.Errorf("status of hook %s: %v\n%s", hook, err, data)
	}
	return status
}

// hasStatus expects what the status file of a hook says.
func (n *node) hasStatus(hook string, state nodestatus.State, reason string) {
	n.t.Helper()
	data, err := n.ReadFile(nodestatus.Dir + "/" + hook + ".json")
	if err != nil {
		n.t.Errorf("hook %s has no status: %v", hook, err)
		return
	}
	s, err := nodestatus.Parse(data)
	if err != nil {
		n.t.Errorf("status of hook %s: %v\n%s", hook, err, data)
		return
	}
	if s.State != state || s.Reason != reason {
		n.t.Errorf("hook %s is %s, %q; want %s, %q", hook, s.State, s.Reason, state, reason)
	}
}

// dropIns reads all drop-ins of kopshook's on the node's disk.
func (n *node) dropIns() map[string]string {
	n.t.Helper()
	names, err := n.Glob("/etc/systemd/system/*.d/kopshook-*.conf")
	if err != nil {
		n.t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		text, err := n.ReadFile(name)
		if err != nil {
			n.t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
}

// killsKubelet has the kubelet die, in a scenario, and waits until systemd has started it again.
const killsKubelet = `
kill -9 "$(systemctl show --property=MainPID --value kubelet)"
for i in $(seq 300); do [ "$(grep -c ' kubelet-start$' /trial/out/events)" -lt 2 ] || break; sleep 0.1; done
`

// result is a boot and what is expected of it.
type result struct {
	*boot.Result
	node *node
	t    *testing.T
}

// rawConsole is what the node wrote to its console, byte by byte.
func (r *result) rawConsole() []byte {
	r.t.Helper()
	text, err := r.RawConsole()
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

// joins expects that the kubelet started, once.
func (r *result) joins() *result {
	r.t.Helper()
	if n := r.Timeline.Count("kubelet-start"); n != 1 {
		r.t.Errorf("boot %d: the kubelet started %d times, want once", r.Number, n)
	}
	if r.Outcome != boot.Settled {
		r.t.Errorf("boot %d: %s, want settled; jobs left: %v", r.Number, r.Outcome, r.Jobs)
	}
	return r
}

// blocks expects that the kubelet did not start, though all was settled.
func (r *result) blocks() *result {
	r.t.Helper()
	if n := r.Timeline.Count("kubelet-start"); n != 0 {
		r.t.Errorf("boot %d: the kubelet started %d times, want never", r.Number, n)
	}
	if r.Outcome != boot.Settled {
		r.t.Errorf("boot %d: %s, want settled; jobs left: %v", r.Number, r.Outcome, r.Jobs)
	}
	return r
}

// happens expects that of all events in names and want those of want happen, in this order.
func (r *result) happens(want ...string) *result {
	r.t.Helper()
	names := slices.Clone(want)
	if diff := cmp.Diff(want, r.Timeline.Only(names...)); diff != "" {
		r.t.Errorf("boot %d: events (-want +got)\n%s", r.Number, diff)
	}
	return r
}

// never expects that none of the events happened.
func (r *result) never(names ...string) *result {
	r.t.Helper()
	if got := r.Timeline.Only(names...); len(got) > 0 {
		r.t.Errorf("boot %d: %v happened, want never", r.Number, got)
	}
	return r
}

// ordered expects that each of the events happened and that none came before the one in front of it.
func (r *result) ordered(names ...string) *result {
	r.t.Helper()
	for i := 1; i < len(names); i++ {
		if _, ok := r.Timeline.First(names[i]); !ok {
			r.t.Errorf("boot %d: %s did not happen", r.Number, names[i])
		} else if !r.Timeline.Before(names[i-1], names[i]) {
			r.t.Errorf("boot %d: %s did not come before %s", r.Number, names[i-1], names[i])
		}
	}
	return r
}

// fails expects that exactly these units had failed at the end.
func (r *result) fails(units ...string) *result {
	r.t.Helper()
	slices.Sort(units)
	if diff := cmp.Diff(units, r.Failed); diff != "" {
		r.t.Errorf("boot %d: failed units (-want +got)\n%s", r.Number, diff)
	}
	return r
}

// contains expects text in what is called what.
func (r *result) contains(what, where, text string) *result {
	r.t.Helper()
	if !strings.Contains(where, text) {
		r.t.Errorf("boot %d: the %s does not say %q", r.Number, what, text)
	}
	return r
}
