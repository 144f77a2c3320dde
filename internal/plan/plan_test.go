package plan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// loader has one file behind every source but "gone", and counts how often it is asked.
type loader struct{ asked []string }

func (l *loader) Load(_ context.Context, ref source.Ref) ([]source.File, error) {
	l.asked = append(l.asked, ref.Source)
	if ref.Source == "gone" {
		return nil, errors.New("it is gone")
	}
	return []source.File{{Name: "a.sh", Content: []byte("#!/bin/sh\n: " + ref.Source + "\n")}}, nil
}

func spec(name, selector, hooks string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec:\n  selector: %s\n  hooks: %s\n",
		hookspec.APIVersion, hookspec.Kind, name, selector, hooks)
}

// groupOf returns an instance group's manifest; more is the rest of its spec, in flow style.
func groupOf(name, role, more string) string {
	return fmt.Sprintf("apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  labels: {kops.k8s.io/cluster: c.example.com}\n"+
		"  name: %s\nspec:\n  role: %s\n%s", name, role, more)
}

// planned makes a plan of specs for instance groups. What was said comes as lines of text.
func planned(t *testing.T, specs, groups []string, l plan.Loader) ([]*plan.Group, []string) {
	t.Helper()
	var r report.Report
	var docs []*hookspec.Doc
	for i, s := range specs {
		docs = append(docs, hookspec.Decode(fmt.Sprintf("hooks%d.yaml", i), []byte(s), &r)...)
	}
	f, err := instancegroups.Parse("ig.yaml", []byte(strings.Join(groups, "---\n")))
	if err != nil {
		t.Fatal(err)
	}
	if r.HasErrors() {
		t.Fatal(r.Findings)
	}
	made := plan.Make(t.Context(), docs, []*plan.Manifest{{Name: "ig.yaml", File: f}}, l, &r)
	var said []string
	for _, f := range r.Findings {
		said = append(said, fmt.Sprintf("%s: %s: %s", f.Position, f.Severity, f.Message))
	}
	return made, said
}

// merged merges specs into groups. The loader is loader, unless o has one.
func merged(t *testing.T, specs, groups []string, o plan.Options) *plan.Output {
	t.Helper()
	var in plan.Input
	for i, s := range specs {
		in.Read(plan.File{Name: fmt.Sprintf("hooks%d.yaml", i), Data: []byte(s), SpecsOnly: true})
	}
	in.Read(plan.File{Name: "ig.yaml", Data: []byte(strings.Join(groups, "---\n"))})
	if o.Loader == nil {
		o.Loader = &loader{}
	}
	out, err := plan.Merge(t.Context(), &in, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const script = `[{name: %s, script: "#!/bin/sh\n:\n"}]`

func TestMake(t *testing.T) {
	all := "{roles: [Node]}"
	for name, c := range map[string]struct {
		specs, groups []string
		want          map[string]string // hooks by group
		said          []string
	}{
		"hooks of several specs come by phase, weight and name": {
			specs: []string{
				spec("one", all, `[{name: z, weight: -1, script: "#!/bin/sh\n"}, {name: b, phase: pre-kubelet, script: "#!/bin/sh\n"}, {name: d, phase: boot, script: "#!/bin/sh\n"}]`),
				spec("two", all, `[{name: a, script: "#!/bin/sh\n"}]`),
			},
			groups: []string{groupOf("nodes", "Node", "")},
			want:   map[string]string{"nodes": "d z a b"},
		},
		"hooks of phase daemon are the addon's": {
			specs:  []string{spec("one", all, `[{name: d, phase: daemon, script: "#!/bin/sh\n"}, {name: n, script: "#!/bin/sh\n"}]`)},
			groups: []string{groupOf("nodes", "Node", "")},
			want:   map[string]string{"nodes": "n"},
		},
		"a spec that selects nothing is said": {
			specs:  []string{spec("one", "{names: [gpu]}", fmt.Sprintf(script, "a"))},
			groups: []string{groupOf("nodes", "Node", "")},
			want:   map[string]string{"nodes": ""},
			said:   []string{`hooks0.yaml:5:3: warning: spec "one" selects none of the instance groups`},
		},
		"a bastion gets its boot hooks, with a warning when a spec selects it among others": {
			specs:  []string{spec("one", "{roles: [Node, Bastion]}", `[{name: b, phase: boot, script: "#!/bin/sh\n"}, {name: n, script: "#!/bin/sh\n"}]`)},
			groups: []string{groupOf("bastions", "Bastion", ""), groupOf("nodes", "Node", "")},
			want:   map[string]string{"bastions": "b", "nodes": "b n"},
			said:   []string{`ig.yaml:1: warning: instance group "bastions": hook "n" of phase pre-nodeup is left out: a bastion runs neither nodeup nor a kubelet`},
		},
		"and with an error when a spec names it": {
			specs:  []string{spec("one", "{names: [bastions]}", fmt.Sprintf(script, "n"))},
			groups: []string{groupOf("bastions", "Bastion", "")},
			want:   map[string]string{"bastions": ""},
			said:   []string{`ig.yaml:1: error: instance group "bastions": hook "n" of phase pre-nodeup is left out: a bastion runs neither nodeup nor a kubelet`},
		},
		"sources are read once for all groups": {
			specs:  []string{spec("one", all, `[{name: a, source: x.sh}, {name: b, source: x.sh}]`)},
			groups: []string{groupOf("n1", "Node", ""), groupOf("n2", "Node", "")},
			want:   map[string]string{"n1": "a b", "n2": "a b"},
		},
		"what cannot be read is said once for all groups": {
			specs:  []string{spec("one", all, `[{name: a, source: gone}]`)},
			groups: []string{groupOf("n1", "Node", ""), groupOf("n2", "Node", "")},
			want:   map[string]string{"n1": "a", "n2": "a"},
			said:   []string{"hooks0.yaml:6:29: error: it is gone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := &loader{}
			groups, said := planned(t, c.specs, c.groups, l)
			got := map[string]string{}
			for _, g := range groups {
				var names []string
				for _, h := range g.Hooks {
					names = append(names, h.Name)
				}
				got[g.Name] = strings.Join(names, " ")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("hooks (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(c.said, said); diff != "" {
				t.Errorf("said (-want +got)\n%s", diff)
			}
			if len(l.asked) > 1 {
				t.Errorf("sources were read again: %q", l.asked)
			}
		})
	}
}

func TestGroupsShareHooksButNotOverrides(t *testing.T) {
	s := spec("one", "{roles: [Node]}", `[{name: a, script: "#!/bin/sh\n"}, {name: b, script: "#!/bin/sh\n"}]`) +
		"  overrides:\n  - selector: {names: [n2]}\n    hooks: {a: {env: {A: mine}}}\n"
	groups, said := planned(t, []string{s}, []string{groupOf("n1", "Node", ""), groupOf("n2", "Node", ""), groupOf("n3", "Node", "")}, &loader{})
	if len(said) > 0 {
		t.Fatal(said)
	}
	for _, g := range groups {
		mine := strings.Contains(fmt.Sprint(g.Parts), "A=mine")
		if mine != (g.Name == "n2") || (g.Hooks[0].Env["A"] == "mine") != mine {
			t.Errorf("%s has the override of n2: %t", g.Name, mine)
		}
	}
	if diff := cmp.Diff(groups[0].Parts[2:], groups[2].Parts[2:]); diff != "" {
		t.Errorf("n1 and n3 differ in a hook: %s", diff)
	}
}

type plainText struct{}

func (plainText) Load(context.Context, source.Ref) ([]source.File, error) {
	return []source.File{{Name: "README.md", Content: []byte("# read me\n")}, {Name: "tool", Content: []byte("\x7fELF\x00")},
		{Name: "windows", Content: []byte("#!/bin/sh\r\ntrue\r\n")}, {Name: "later", Content: []byte("#!/bin/sh\ntrue\r\n")}}, nil
}

func TestSourcesWithoutAnInterpreterAreRefused(t *testing.T) {
	_, said := planned(t, []string{spec("one", "{}", "[{name: a, source: scripts}]")}, []string{groupOf("n1", "Node", "")}, plainText{})
	want := []string{`hooks0.yaml:6:29: error: "README.md" of source "scripts" is not a script: its first two bytes are not #!`,
		`hooks0.yaml:6:29: error: the first line of "windows" of source "scripts" ends with a carriage return: no kernel finds that interpreter`}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}

func TestMoreHooksThanAnyNodeTakesAreRefusedBeforeTheyCostMemory(t *testing.T) {
	hooks := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{name: h%d, source: x.sh}`, i))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	specs := []string{spec("one", "{}", hooks(1000)), spec("two", "{}", `[{name: one-more, weight: 1, source: x.sh}]`)}
	l := &loader{}
	_, said := planned(t, specs, []string{groupOf("nodes", "Node", ""), groupOf("spot", "Node", "")}, l)
	want := []string{`hooks1.yaml:6:18: error: instance group "nodes" has 1001 hooks, and user data holds no more than 1000`}
	if diff := cmp.Diff(want, said); diff != "" || len(l.asked) > 0 {
		t.Errorf("%d sources were read; %s", len(l.asked), diff)
	}
}

func TestUnsupportedGroupsStayAsTheyAre(t *testing.T) {
	groups, said := planned(t, []string{spec("one", "{roles: [Node]}", fmt.Sprintf(script, "a"))},
		[]string{groupOf("win", "Node", "  image: 1/flatcar-stable\n")}, &loader{})
	if g := groups[0]; g.Skipped == "" || len(g.Parts) != 0 || g.Changes() {
		t.Errorf("skipped for %q, with %d parts", g.Skipped, len(g.Parts))
	}
	if len(said) != 1 || !strings.Contains(said[0], `warning: instance group "win": hooks cannot be served: `) {
		t.Errorf("said %q", said)
	}
}

func TestForecast(t *testing.T) {
	hook := []string{spec("one", "{roles: [Node, ControlPlane]}", fmt.Sprintf(script, "a"))}
	for name, c := range map[string]struct {
		specs, groups []string
		want          string
	}{
		"nothing changes":   {nil, []string{groupOf("nodes", "Node", "")}, "user data is what the specs say: merging changes nothing"},
		"sizes not given":   {hook, []string{groupOf("nodes", "Node", "")}, "user data of 1 instance group changes: a rolling update will replace 2 nodes"},
		"a control plane":   {hook, []string{groupOf("nodes", "Master", "")}, "user data of 1 instance group changes: a rolling update will replace 1 node"},
		"a range":           {hook, []string{groupOf("nodes", "Node", "  minSize: 3\n  maxSize: 5\n"), groupOf("more", "Node", "")}, "user data of 2 instance groups changes: a rolling update will replace 5 to 7 nodes"},
		"above the default": {hook, []string{groupOf("nodes", "Node", "  minSize: 3\n")}, "user data of 1 instance group changes: a rolling update will replace 3 nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			groups, _ := planned(t, c.specs, c.groups, &loader{})
			if got := plan.Forecast(groups); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What kops or the cloud refuses replaces nothing.
func TestForecastCountsNoNodesOfGroupsThatAreRefused(t *testing.T) {
	groups, _ := planned(t, []string{spec("one", "{}", fmt.Sprintf(script, "a"))}, []string{groupOf("a", "Node", ""), groupOf("b", "Node", "  minSize: 7\n  maxSize: 9\n")}, &loader{})
	groups[0].Brief.Verdict.Effect = lint.TooLarge
	if got, want := plan.Forecast(groups), "user data of 2 instance groups changes: a rolling update will replace 7 to 9 nodes; the user data of 1 group is refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	groups[1].Brief.Verdict.Effect = lint.Refused
	if got, want := plan.Forecast(groups), "user data of 2 instance groups changes: a rolling update will replace no node, since the user data is refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestForecastCountsBastions(t *testing.T) {
	groups, _ := planned(t, []string{spec("one", "{roles: [Bastion]}", `[{name: b, phase: boot, script: "#!/bin/sh\n"}]`)},
		[]string{groupOf("bastions", "Bastion", ""), groupOf("nodes", "Node", "")}, &loader{})
	if got, want := plan.Forecast(groups), "user data of 1 instance group changes: a rolling update will replace 1 node"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A group whose new image cannot run hooks keeps what it has: merging replaces none of its nodes.
func TestForecastLeavesOutGroupsThatAreNotServed(t *testing.T) {
	data := "  additionalUserData:\n  - name: kopshook-100-pre-nodeup-a.sh\n    type: text/x-shellscript\n    content: \"#!/bin/sh\\n\"\n"
	groups, _ := planned(t, []string{spec("one", "{}", fmt.Sprintf(script, "a"))},
		[]string{groupOf("win", "Node", "  image: 1/flatcar-stable\n"+data)}, &loader{})
	if g := groups[0]; g.Skipped == "" || len(g.Ours()) == 0 {
		t.Fatalf("skipped for %q, with %d parts of ours", g.Skipped, len(g.Ours()))
	}
	if got, want := plan.Forecast(groups), "user data is what the specs say: merging changes nothing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestASizeIsSaidOnceForGroupsThatHaveIt(t *testing.T) {
	cluster := "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: c.example.com}\nspec: {cloudProvider: aws}\n"
	big := "{name: big, script: \"#!/bin/sh\\n: " + strings.Repeat("x", 17_000) + "\\n\"}"
	out := merged(t, []string{spec("one", "{roles: [Node]}", "["+big+"]")}, []string{groupOf("n1", "Node", ""), groupOf("n2", "Node", ""), cluster},
		plan.Options{Checks: []plan.Check{plan.Sizes(report.Error)}})
	var said []string
	for _, f := range out.Report.Findings {
		_, same, _ := strings.Cut(f.Message, "; ")
		said = append(said, fmt.Sprintf("%s: %s: %s", f.Position, f.Severity, same))
	}
	if diff := cmp.Diff([]string{"ig.yaml:1: error: the same for 2 groups: n1, n2"}, said); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, g := range out.Groups {
		if g.Size == nil || g.Size.Verdict != budget.TooLarge {
			t.Errorf("%s: size is %+v", g.Name, g.Size)
		}
	}
}

// What the cloud refuses anyway is not read as cloud-init reads it: that can take long.
func TestWhatDoesNotFitIsNotLookedInto(t *testing.T) {
	cluster := "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: c.example.com}\nspec: {cloudProvider: aws}\n"
	own := "  additionalUserData:\n  - name: own.yaml\n    type: text/cloud-config\n    content: \"#cloud-config\\nwrite_files: [{path: /etc/x, owner: nobody-knows}]\\n\"\n"
	for size, want := range map[int]string{10: "the hooks do not arrive", 17_000: "bytes of user data do not fit"} {
		hook := "{name: a, script: \"#!/bin/sh\\n: " + strings.Repeat("x", size) + "\\n\"}"
		out := merged(t, []string{spec("one", "{}", "["+hook+"]")}, []string{groupOf("nodes", "Node", own), cluster},
			plan.Options{Checks: []plan.Check{plan.Sizes(report.Error), plan.Arrival}})
		var messages []string
		for _, f := range out.Report.Findings {
			messages = append(messages, f.Message)
		}
		if len(messages) != 1 || !strings.Contains(messages[0], want) {
			t.Errorf("%d bytes: found %v, want that %s", size, messages, want)
		}
	}
}
