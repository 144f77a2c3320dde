package plan_test

import (
	"slices"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/plan"
)

const swapOn = `[{name: sw, timeout: 1m, attempts: 1, script: "#!/bin/sh\nswapon /x\n"}]`

// TestBriefsOfGroupsThatDiffer: what is known of one group is taken for another where lint would say the same, in either order.
func TestBriefsOfGroupsThatDiffer(t *testing.T) {
	plain := groupOf("bb", "Node", "")
	cluster := func(name, more string) string {
		return "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: " + name + "}\nspec:\n  cloudProvider: aws\n" + more
	}
	elsewhere := func(group, cluster string) string { return strings.Replace(group, "c.example.com", cluster, 1) }
	for name, groups := range map[string][]string{
		"the group": {groupOf("aa", "Node", "  kubelet: {failSwapOn: false}\n"), plain},
		"its cluster": {cluster("a.example.com", "  kubelet: {failSwapOn: false}\n"), cluster("b.example.com", ""),
			elsewhere(plain, "a.example.com"), elsewhere(plain, "b.example.com")},
		"a comment before it": {"# kopshook: ignore=KH090\n" + groupOf("aa", "Node", ""), plain},
		"a comment in it":     {strings.Replace(groupOf("aa", "Node", ""), "\nkind", " # kopshook: ignore=KH090\nkind", 1), plain},
	} {
		t.Run(name, func(t *testing.T) {
			swapped := slices.Clone(groups)
			slices.Reverse(swapped)
			for i, groups := range [][]string{groups, swapped} {
				out := merged(t, []string{spec("one", "{}", swapOn)}, groups, plan.Options{Checks: []plan.Check{plan.Briefs}})
				if len(out.Groups) != 2 {
					t.Fatal(out.Report.Findings)
				}
				for j, g := range out.Groups {
					look, err := (&plan.Looker{Input: out.Input}).Look(g)
					if err != nil {
						t.Fatal(err)
					}
					if got, want := g.Brief.Verdict.String(), look.Verdict.String(); got != want {
						t.Errorf("%s: %s\nwant: %s", g.Name, got, want)
					}
					if never := g.Brief.Verdict.NoNode(); never != (i != j) {
						t.Errorf("order %d: of group %d it is said that it never joins: %v", i, j, never)
					}
				}
			}
		})
	}
}

// TestBriefsOfAlikeGroups: what alike groups differ in costs no second look, and the first one's name is not said of the others.
func TestBriefsOfAlikeGroups(t *testing.T) {
	more := "  minSize: 1\n  maxSize: %\n  machineType: m%.large\n  subnets: [s%]\n  zones: [z%]\n  nodeLabels: {a: l%}\n  cloudLabels: {a: l%}\n  taints: [t%]\n"
	var groups []string
	for _, n := range []string{"1", "2", "3"} {
		groups = append(groups, groupOf("g"+n, "Node", strings.ReplaceAll(more, "%", n)))
	}
	out := merged(t, []string{spec("one", "{}", swapOn)}, groups, plan.Options{Checks: []plan.Check{plan.Briefs}})
	const want = `never joins: hook "sw" switches swap on: the kubelet does not start while swap is on`
	for _, g := range out.Groups {
		if got := g.Brief.Verdict.String(); got != want {
			t.Errorf("%s: %s", g.Name, got)
		}
		if g.Brief.Size != out.Groups[0].Brief.Size {
			t.Errorf("%s was looked at anew", g.Name)
		}
	}
	if out.Groups[0].Object.Spec.MachineType != "m1.large" {
		t.Error("looking at the group changed it")
	}
}

// TestACommentIsForItsGroupAlone: what it switches off is said of the next group with the same parts.
func TestACommentIsForItsGroupAlone(t *testing.T) {
	for code, c := range map[string]struct {
		kind, content string
		check         plan.Check
	}{
		"KH093": {"text/x-shellscript", `#!/bin/sh\nswapon /x\n`, plan.Twice},
		"KH041": {"text/cloud-config", `#cloud-config\nwrite_files: [{path: /a, owner: 'x:x', content: b}]\n`, plan.Arrival},
	} {
		part := "  additionalUserData:\n  - {name: a, type: " + c.kind + ", content: \"" + c.content + "\"}"
		groups := []string{groupOf("aa", "Node", part+" # kopshook: ignore="+code+"\n"), groupOf("bb", "Node", part+"\n")}
		out := merged(t, []string{spec("one", "{}", swapOn)}, groups, plan.Options{Checks: []plan.Check{c.check}})
		var names []string
		for _, f := range out.Report.Findings {
			names = append(names, f.Group)
		}
		if !slices.Equal(names, []string{"bb"}) {
			t.Errorf("%s: said of %q: %v", code, names, out.Report.Findings)
		}
	}
}
