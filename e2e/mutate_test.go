//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/kops/pkg/apis/kops"
)

// mutation names a fault to build into what the generator made, or is empty.
var mutation = os.Getenv("KOPSHOOK_E2E_MUTATE")

// mutations take one of the runtime's promises out. Each must make the tests that it names fail: make e2e-mutations runs
// those that are quick to be seen, and with ALL=1 all of them. pattern is replaced in the part whose name contains part.
// What needs no boot to be seen is not here: the tests of generator run the same scripts in a folder.
var mutations = []struct {
	name, why     string
	part          string
	pattern, with string
	tests         string // a regular expression for -test.run; all of them must fail
	sub           string // of their subtests; empty is trixie
	slow          bool
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
	{
		name: "no-verify", why: "what an image has done is not verified",
		part: "-001-runtime", pattern: `until try "\$@"`, with: `until [ $$n = 0 ] || try "$$@"`,
		tests: "TestBakedHooks", slow: true,
	},
	{
		name: "no-hash", why: "nobody knows which version of a hook an image has done",
		part: "-001-runtime", pattern: `echo "\$hash" >"\$d"`, with: `echo >"$$d"`,
		tests: "TestFieldsGoTogether", slow: true,
	},
	{
		name: "no-reboot", why: "bake takes the wish for a reboot for a failure",
		part: "bake", pattern: `case " \$codes "`, with: `case ""`,
		tests: "TestBakeStopsWhereAnImageIsNotDone", slow: true,
	},
	{
		name: "no-wait", why: "hooks do not wait until a machine of a warm pool joins",
		part: "-001-runtime", pattern: `systemctl -q is-enabled kubelet \|\|`, with: ": ||",
		tests: "TestTry", sub: "a_machine_of_a_warm_pool",
	},
	{
		name: "no-network", why: "hooks do not wait for the network",
		part: "kopshook-", pattern: `After=network-online\.target cloud-config\.target`, with: "After=local-fs.target",
		tests: "TestHooksWaitForTheNetwork",
	},
	{
		name: "short", why: "systemd ends a hook that takes longer than 90 s",
		part: "kopshook-", pattern: `TimeoutStartSec=\d+`, with: "TimeoutStartSec=90",
		tests: "TestAHookMayTakeLongerThanSystemdWaits", slow: true,
	},
	{
		name: "no-answer", why: "hooks behind the kubelet do not wait until it answers",
		part: "-kubelet", pattern: `(?s)until \{.*?done\n`, with: "",
		tests: "TestPostKubeletWaitsForAnAnswer",
	},
	{
		name: "no-memory", why: "the gate, run again, forgets what has succeeded on this boot",
		part: "-000-gate", pattern: `\[ -e "\$r/\$b" \] \|\|`, with: "",
		tests: "TestTroubleshooting", slow: true,
	},
	{
		name: "no-end", why: "a hook that had no gate stays failed when it has one again",
		part: "-001-runtime", pattern: `grep -qs '"succ' "\$f"`, with: ":",
		tests: "TestTroubleshooting", slow: true,
	},
	{
		name: "disk-first", why: "the console gets a state when the disk has taken it",
		part: "-001-runtime", pattern: `echo "kopshook: \$j" >/dev/console`, with: `echo "$$j" >"$$f~" && echo "kopshook: $$j" >/dev/console`,
		tests: "TestTroubleshooting", slow: true,
	},
	{
		name: "others-hooks", why: "a hook that the user data no longer has runs all the same",
		part: "-001-runtime", pattern: `read -r i <"\$r/hook/\$h" \|\|`, with: `read -r i <"$$r/hook/$$h" || true ||`,
		tests: "TestTroubleshooting", slow: true,
	},
	{
		name: "no-reload", why: "systemd keeps the units of the machine that an image was made of",
		part: "-000-gate", pattern: `first=true new=1`, with: "first=true",
		tests: "TestBakedImage", slow: true,
	},
	{
		name: "no-system", why: "hooks cannot ask which system the node has",
		part: "-001-runtime", pattern: ` NODE_OS=\$\([^)]*\)`, with: "",
		tests: "TestChainStopsAtABlockingFailure", slow: true,
	},
	{
		name: "no-kill", why: "what an attempt that took too long has started lives on",
		part: "-001-runtime", pattern: `(?s)while grep -q \. "\$c/cgroup\.procs".*?done 2>/dev/null`, with: ":",
		tests: "TestTimeoutEndsTheWholeAttempt", slow: true,
	},
	{
		name: "no-archive", why: "an archive that is damaged is not on the console",
		part: "-archive", pattern: `\[ \$\? = 0 \] \|\|`, with: "true ||",
		tests: "TestDamagedArchiveFailsClosed", slow: true,
	},
}

// mutate builds the fault of this run into the parts.
func mutate(t testing.TB, parts []kops.UserData) []kops.UserData {
	t.Helper()
	for i, p := range parts {
		parts[i].Content = mutated(t, p.Name, p.Content)
	}
	return parts
}

// mutated builds the fault of this run into the part called name.
func mutated(t testing.TB, name, text string) string {
	t.Helper()
	if mutation == "" {
		return text
	}
	for _, m := range mutations {
		if m.name != mutation {
			continue
		}
		if strings.Contains(name, m.part) {
			text = regexp.MustCompile(m.pattern).ReplaceAllString(text, m.with)
		}
		return text
	}
	t.Fatalf("KOPSHOOK_E2E_MUTATE=%s is not known", mutation)
	return ""
}

// TestMutations runs tests with each fault and expects them to fail.
func TestMutations(t *testing.T) {
	which := os.Getenv("KOPSHOOK_E2E_MUTATIONS")
	if which == "" {
		t.Skip("make e2e-mutations runs tests with a gate that is broken on purpose")
	}
	sound := slices.Concat(parts(t, spec("all", allPhases)), parts(t, archived(quick)), []kops.UserData{{Name: "bake", Content: string(bakeScript(t, baked))}})
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			// a fault that finds nothing to break is an error, so that none quietly stops being one
			if !slices.ContainsFunc(sound, func(p kops.UserData) bool {
				return strings.Contains(p.Name, m.part) && regexp.MustCompile(m.pattern).MatchString(p.Content)
			}) {
				t.Fatalf("there is nothing to break: no part %s matches %s", m.part, m.pattern)
			}
			if m.slow && which != "all" {
				t.Skip("make e2e-mutations ALL=1 runs it")
			}
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run", fmt.Sprintf("^(%s)$/^%s$", m.tests, cmp.Or(m.sub, "trixie")), "-test.v")
			cmd.Env = append(os.Environ(), "KOPSHOOK_E2E_MUTATIONS=", "KOPSHOOK_E2E_MUTATE="+m.name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("%s: no test fails\n%s", m.why, out)
			}
			var failed []string
			for _, line := range regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`).FindAllStringSubmatch(string(out), -1) {
				failed = append(failed, line[1])
			}
			if len(failed) == 0 {
				t.Fatalf("%s: no test ran\n%s", m.why, out)
			}
			what := regexp.MustCompile(`(?m)^ +\w+_test\.go:\d+: (?:boot \d: (?:events|the |\[)|the |drop-ins|events|hook |run ).*$`).FindString(string(out))
			t.Logf("%s: %s fails: %s", m.why, failed[len(failed)-1], strings.TrimSpace(what))
		})
	}
}
