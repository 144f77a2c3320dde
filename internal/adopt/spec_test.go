package adopt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/adopt"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

func TestSpecsOfSeveralGroups(t *testing.T) {
	a, b, c := script("00-a.sh", "#!/bin/sh\necho a\n"), script("10-b.sh", "#!/bin/sh\necho b\n"), script("20-c.sh", "#!/bin/sh\necho c\n")
	otherA := script("30-a.sh", "#!/bin/sh\necho other\n")
	hook1, hook2 := boothook("1", "#!/bin/sh\necho 1\n"), boothook("2", "#!/bin/sh\necho 2\n") // they run in the order of the file
	group := func(cluster, name string, parts ...cloudinit.Part) adopt.Group {
		return adopt.Group{Cluster: cluster, Name: name, Role: "Node", Parts: parts}
	}
	for _, c := range []struct {
		name   string
		groups []adopt.Group
		want   []string // "SPEC CLUSTERS NAMES: HOOK/WEIGHT ..."
	}{
		{"the same parts", []adopt.Group{group("x", "n2", a, b), group("x", "n1", a, b)}, []string{"adopted [x] [n1 n2]: a/-20 b/-10"}},
		{"in several clusters", []adopt.Group{group("x", "n1", a), group("y", "n1", a), group("y", "n2")}, []string{"adopted [x y] [n1]: a/-10"}},
		{"of other groups in each cluster", []adopt.Group{group("x", "n1", a), group("y", "n2", a)}, []string{"adopted-n1 [x] [n1]: a/-10", "adopted-n2 [y] [n2]: a/-10"}},
		{"of no known cluster", []adopt.Group{group("", "n1", a), group("", "n2", a)}, []string{"adopted [] [n1 n2]: a/-10"}},
		{"one has more", []adopt.Group{group("x", "n1", a, b, c), group("x", "n2", a, c)}, []string{"adopted [x] [n1 n2]: a/-30 c/-10", "adopted-n1 [x] [n1]: b/-20"}},
		{"different parts of one name", []adopt.Group{group("x", "n1", a), group("x", "n2", otherA)}, []string{"adopted-n1 [x] [n1]: a/-20", "adopted-n2 [x] [n2]: a/-10"}},
		{"one group has both", []adopt.Group{group("x", "n1", a), group("x", "n2", a, otherA)}, []string{"adopted [x] [n1 n2]: a/-20", "adopted-n2 [x] [n2]: a-2/-10"}},
		{"an order that is another in each", []adopt.Group{group("x", "n1", hook1, hook2), group("x", "n2", hook2, hook1)},
			[]string{"adopted-n1 [x] [n1]: hook-1/-40 hook-2/-30", "adopted-n2 [x] [n2]: hook-2/-20 hook-1/-10"}},
		{"names with odd characters", []adopt.Group{group("x", "no", a), group("x", "1e3", b)}, []string{"adopted-no [x] [no]: a/-20", "adopted-1e3 [x] [1e3]: b/-10"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var groups []*adopt.Adopted
			for _, g := range c.groups {
				groups = append(groups, adopt.Adopt(g))
			}
			spec := adopt.Specs(groups)
			for _, g := range groups {
				prove(t, g, spec)
			}
			var r report.Report
			var got []string
			for _, d := range hookspec.Decode("adopted", spec, &r) {
				var hooks []string
				for _, h := range d.Resolve(hookspec.Group{}) {
					hooks = append(hooks, fmt.Sprintf("%s/%d", h.Name, h.Weight))
				}
				s := d.Spec.Spec.Selector
				got = append(got, fmt.Sprintf("%s %v %v: %s", d.Spec.Metadata.Name, s.Clusters, s.Names, strings.Join(hooks, " ")))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamesOfHooks(t *testing.T) {
	for part, want := range map[string]string{
		"00-agent.sh": "agent", "agent": "agent", "Agent_Setup.YAML": "agent-setup", "99.sh": "hook-99", "run.sh": "hook-run", "gate": "hook-gate", "archive.sh": "hook-archive",
		"../../etc/x": "etc-x", "\u00fc.sh": "hook", "": "hook", "10_sysctl.conf": "sysctl", "a..b": "a-b", strings.Repeat("long-", 30): "long-long-long-long-long-long-long-long-long-long",
		"v1.2-setup.sh": "v1-2-setup", "kubelet.service": "kubelet-service",
	} {
		out := adoptParts(t, "Node", []cloudinit.Part{config("first.yaml", "packages: [jq]\n"), script(part, "#!/bin/sh\n")})
		if part == "" || part == "../../etc/x" || part == "\u00fc.sh" {
			if _, kept := out.Kept[1]; kept {
				continue // cloud-init has no file name for it
			}
		}
		if hooks := out.HooksOf(1); len(hooks) != 1 || hooks[0].Name != want {
			t.Errorf("%q becomes %v, want %s", part, hooks, want)
		}
	}
}

func TestManyHooks(t *testing.T) {
	var parts []cloudinit.Part
	for i := range 120 {
		parts = append(parts, script(fmt.Sprintf("%03d.sh", i), fmt.Sprintf("#!/bin/sh\necho %d\n", i)))
	}
	if out := adoptParts(t, "Node", parts); out.proof.Runs != 120 || len(out.proof.Differences) > 0 {
		t.Errorf("%d run in their order; what differs: %q", out.proof.Runs, out.proof.Differences)
	}
}
