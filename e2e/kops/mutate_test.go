//go:build e2e

package kops

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// mutation names a fault to build into what kopshook made, or is empty.
var mutation = os.Getenv("KOPSHOOK_E2E_MUTATE")

// mutating says that this process starts others, one for each fault, and has no cluster itself.
var mutating = os.Getenv("KOPSHOOK_E2E_MUTATIONS") != ""

// mutations take out what tests guard, and each must make all of its tests fail: make e2e-kops-mutations. TestOpenGateIsSeen does
// the same for TestPhases; TestMountHides, TestRegistryMirror and TestTry have cases of their own that go wrong.
var mutations = []struct {
	name, why string
	old, new  string // in manifests of instance groups
	tests     []string
	sub       string // of their subtests
}{
	{name: "no-gate", why: "neither nodeup nor the kubelet waits for hooks", old: "for u; do add", new: "for u; do continue; add",
		tests: []string{"TestFailsClosed", "TestControlPlane", "TestRecipes"}, sub: "retry"},
}

// mutated builds the fault of this run into a manifest.
func mutated(manifest string) string {
	for _, m := range mutations {
		if m.name == mutation {
			return strings.ReplaceAll(manifest, m.old, m.new)
		}
	}
	return manifest
}

// TestMutations runs tests with each fault, in a cluster of their own, and expects them to fail.
func TestMutations(t *testing.T) {
	if !mutating {
		t.Skip("make e2e-kops-mutations runs tests with what they guard taken out")
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run", fmt.Sprintf("^(%s)$/%s", strings.Join(m.tests, "|"), m.sub), "-test.v", "-test.parallel", "2")
			cmd.Env = append(os.Environ(), "KOPSHOOK_E2E_MUTATIONS=", "KOPSHOOK_E2E_MUTATE="+m.name)
			cmd.WaitDelay = time.Minute
			out, _ := cmd.CombinedOutput()
			var failed []string
			for _, line := range regexp.MustCompile(`(?m)^--- FAIL: (\S+)`).FindAllStringSubmatch(string(out), -1) {
				failed = append(failed, line[1])
			}
			slices.Sort(failed)
			if want := slices.Sorted(slices.Values(m.tests)); !slices.Equal(failed, want) {
				t.Errorf("%s: %q fail, want %q\n%s", m.why, failed, want, out)
			}
			for _, line := range regexp.MustCompile(`(?m)^ +\w+_test\.go:\d+: .*$`).FindAllString(string(out), -1) {
				if !strings.Contains(line, ": boot ") || strings.Contains(line, " did not ") {
					t.Logf("%s: %s", m.why, strings.TrimSpace(line))
				}
			}
		})
	}
}
