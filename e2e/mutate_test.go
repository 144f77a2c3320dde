//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"k8s.io/kops/pkg/apis/kops"
)

// mutation names a fault to build into what the generator made, or is empty.
var mutation = os.Getenv("KOPSHOOK_E2E_MUTATE")

// mutations break the gate on purpose. Each must make the tests that it names fail: make e2e-mutations. pattern is
// replaced in the part whose name contains part.
var mutations = []struct {
	name, why     string
	part          string
	pattern, with string
	tests         string // a regular expression for -test.run; all of them must fail
	sub           string // of their subtests; empty is trixie
}{
	{
		name: "requires", why: "Requires= where the assert is",
		part: "-000-gate", pattern: `"AssertPathExists=\$r/ok/\$h"`, with: `"Requires=kopshook-$$h.service"`,
		tests: "TestUnitsAreRestartedMeanwhile",
	},
	{
		name: "append", why: "drop-ins are appended to, not written anew",
		part: "-000-gate", pattern: `(?s)for f in \*/\*; do\n.*?\ndone`, with: `for f in */*; do mkdir -p "$$e/$${f%/*}"; cat "$$f" >> "$$e/$$f"; reload=1; done`,
		tests: "TestPhasesHaveTheirMoments",
	},
	{
		name: "one-unit", why: "kops-configuration.service alone waits for hooks",
		part: "-000-gate", pattern: `for u; do add`, with: `for u; do [ "$$u" != kubelet.service ] || continue; add`,
		tests: "TestFailsAfterReboot",
	},
	{
		name: "no-chain", why: "hooks do not wait for each other",
		part: "-000-gate", pattern: `for u; do add`, with: `for u; do case $$u in kopshook-*) continue ;; esac; add`,
		tests: "TestChainStopsAtABlockingFailure",
	},
	{
		name: "no-sweep", why: "drop-ins of an older gate stay",
		part: "-000-gate", pattern: `(?m)^for f in \*\.d/kopshook-\*\.conf;.*$`, with: ":",
		tests: "TestBakedImage",
	},
	{
		name: "no-stop", why: "what an image's units start before the gate goes on",
		part: "-000-gate", pattern: `systemctl --no-block try-restart`, with: ":",
		tests: "TestFailsClosedInEachLayout", sub: "rhel-trixie",
	},
	{
		name: "no-state", why: "a boot without a gate is taken for one with other hooks",
		part: "-001-runtime", pattern: `\[ -e \$r/ok/.gate \] \|\| failed`, with: ": ||",
		tests: "TestTroubleshooting",
	},
	{
		name: "no-console", why: "states are not on the console",
		part: "-001-runtime", pattern: `echo "kopshook: \$j" >/dev/console`, with: ":",
		tests: "TestTroubleshooting",
	},
	{
		name: "not-closed", why: "a gate that fails neither closes the node nor says so",
		part: "-000-gate", pattern: `(?m)^trap closed EXIT$`, with: ":",
		tests: "TestTroubleshooting",
	},
	{
		name: "no-folder", why: "hooks without a script have no working folder",
		part: "-001-runtime", pattern: `mkdir -p "\$c" "\$w"`, with: `mkdir -p "$$c"`,
		tests: "TestFieldsGoTogether",
	},
	{
		name: "no-image", why: "what an image has done counts for nothing",
		part: "-001-runtime", pattern: `grep -qs \$hash \$s/\*/\$h`, with: "false",
		tests: "TestBakedHooks",
	},
}

// mutate builds the fault of this run into the parts. A fault that finds nothing to break is an error, so that none
// quietly stops being one.
func mutate(t testing.TB, parts []kops.UserData) []kops.UserData {
	t.Helper()
	if mutation == "" {
		return parts
	}
	for _, m := range mutations {
		if m.name != mutation {
			continue
		}
		pattern := regexp.MustCompile(m.pattern)
		for i, p := range parts {
			if strings.Contains(p.Name, m.part) {
				parts[i].Content = pattern.ReplaceAllString(p.Content, m.with)
			}
		}
		return parts
	}
	t.Fatalf("KOPSHOOK_E2E_MUTATE=%s is not known", mutation)
	return nil
}

// TestMutations runs tests with each fault and expects them to fail.
func TestMutations(t *testing.T) {
	if os.Getenv("KOPSHOOK_E2E_MUTATIONS") == "" {
		t.Skip("make e2e-mutations runs tests with a gate that is broken on purpose")
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			sound := parts(t, spec("all", allPhases))
			broken := false
			for _, p := range sound {
				broken = broken || strings.Contains(p.Name, m.part) && regexp.MustCompile(m.pattern).MatchString(p.Content)
			}
			if !broken {
				t.Fatalf("there is nothing to break: no part %s matches %s", m.part, m.pattern)
			}
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run", fmt.Sprintf("^(%s)$/^%s$", m.tests, cmp.Or(m.sub, "trixie")), "-test.v")
			cmd.Env = append(os.Environ(), "KOPSHOOK_E2E_MUTATIONS=", "KOPSHOOK_E2E_MUTATE="+m.name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("%s: no test fails\n%s", m.why, out)
			}
			var failed []string
			for _, line := range regexp.MustCompile(`--- FAIL: (\S+/[a-z-]*trixie) `).FindAllStringSubmatch(string(out), -1) {
				failed = append(failed, line[1])
			}
			if len(failed) == 0 {
				t.Fatalf("%s: no test ran\n%s", m.why, out)
			}
			what := regexp.MustCompile(`(?m)^ +\w+_test\.go:\d+: (?:boot \d: (?:events|the kubelet|\[)|the kubelet|drop-ins).*$`).FindString(string(out))
			t.Logf("%s: %s fails: %s", m.why, strings.Join(failed, ", "), strings.TrimSpace(what))
		})
	}
}
