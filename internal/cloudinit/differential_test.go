//go:build e2e

package cloudinit

import (
	"os"
	"strconv"
	"testing"
)

// number reads a number from the environment.
func number(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return fallback
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestRandomMessagesAreSeenAlike holds the model against cloud-init's own code over random messages. KOPSHOOK_SEED,
// KOPSHOOK_FIRST and KOPSHOOK_N choose others than the fixed set.
func TestRandomMessagesAreSeenAlike(t *testing.T) {
	seed, first, n := number(t, "KOPSHOOK_SEED", 1), number(t, "KOPSHOOK_FIRST", 0), number(t, "KOPSHOOK_N", 1500)
	for _, rel := range releases() {
		t.Run(rel.suite, func(t *testing.T) {
			t.Parallel()
			r := start(t, rel)
			bad := 0
			for i := first; i < first+n; i++ {
				trial := newTrial(seed, i)
				diff := compare(t, r, trial.data, trial.opts, trial.base)
				if diff == "" {
					continue
				}
				if bad++; bad <= 5 {
					t.Errorf("seed %d, message %d: %s", seed, i, diff)
				}
			}
			t.Logf("%s: %d messages of seed %d from message %d on, %d disagreements; %d not compared since they hold templates that nobody can predict",
				r.name, n, seed, first, bad, r.unpredicted)
			if bad > 5 {
				t.Errorf("the first 5 of %d disagreements are shown", bad)
			}
		})
	}
}

// TestCasesAreSeenAlike does so for the messages that show one rule each.
func TestCasesAreSeenAlike(t *testing.T) {
	for _, rel := range releases() {
		t.Run(rel.suite, func(t *testing.T) {
			t.Parallel()
			r := start(t, rel)
			for _, c := range testCases {
				data := Message([]byte("#!/bin/bash\n"), "Node", c.parts)
				if diff := compare(t, r, data, c.opts, c.base); diff != "" {
					t.Errorf("%s: %s", c.name, diff)
				}
			}
		})
	}
}

// TestTheKernelRefusesTheSameScripts really starts harmless ones.
func TestTheKernelRefusesTheSameScripts(t *testing.T) {
	r := start(t, release{suite: "trixie"})
	for _, script := range []string{"#!/bin/sh\n", "#! /bin/sh\n", "#!\t/bin/sh -e\n", "true\n", "\n#!/bin/sh\n", " #!/bin/sh\n", "", "#!", "#! \n", "#!/bin/sh\r\ntrue\r\n", "#!/bin/sh", "#!/bin/sh\r"} {
		var a struct {
			Ran bool
			Why string
		}
		r.ask(t, map[string]any{"script": []byte(script)}, &a)
		if why := cannotRun(script); a.Ran != (why == "") {
			t.Errorf("%q: ran %v %s; the model says %q", script, a.Ran, a.Why, why)
		}
	}
}
