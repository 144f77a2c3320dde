package addon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// spec is a hook spec with a selector in flow style and hooks, a YAML list in block style.
func spec(name, selector, hooks string) string {
	return fmt.Sprintf("apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: %s}\nspec:\n  runtime: v1\n  selector: %s\n  hooks:\n%s\n",
		name, selector, strings.Trim(hooks, "\n"))
}

// one is a spec's list of one daemon hook.
func one(name string) string {
	return fmt.Sprintf("  - {name: %s, phase: daemon, script: \"#!/bin/sh\\necho %s\\n\"}", name, name)
}

// try makes an addon of specs, which come from files called 1.yaml, 2.yaml, ...
func try(t testing.TB, in Input, specs ...string) (*Addon, *report.Report) {
	t.Helper()
	var r report.Report
	for i, s := range specs {
		in.Specs = append(in.Specs, hookspec.Decode(fmt.Sprintf("%d.yaml", i+1), []byte(s), &r)...)
	}
	if r.HasErrors() {
		t.Fatalf("the spec of the test is wrong: %v\n%s", r.Findings, specs)
	}
	if in.Read == nil {
		in.Read = func(hooks []hookspec.Resolved) []generator.Hook {
			return plan.Read(t.Context(), hooks, &source.Loader{}, &r)
		}
	}
	return Build(in, &r), &r
}

// build makes an addon and wants no finding.
func build(t testing.TB, in Input, specs ...string) *Addon {
	t.Helper()
	a, r := try(t, in, specs...)
	if len(r.Findings) > 0 {
		t.Fatalf("findings: %v", r.Findings)
	}
	return a
}

func objects[T any](a *Addon) []T {
	var out []T
	for _, o := range a.Objects {
		if o, ok := o.(T); ok {
			out = append(out, o)
		}
	}
	return out
}

func group(name, role string) Group {
	return Group{Group: hookspec.Group{Cluster: "a.example.com", Name: name, Role: role}, Labelled: true, Position: report.Position{File: "ig.yaml", Line: 1}}
}

// findings are what the report says, one string each.
func findings(r *report.Report) []string {
	r.Sort()
	var out []string
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s: %s: %s [%s]", f.Position, f.Severity, f.Message, f.Remedy))
	}
	return out
}

// described says of each DaemonSet on which nodes it runs which hooks: checksums are the words of the script.
func described(a *Addon) map[string][]string {
	words := map[string]string{}
	for _, m := range objects[*corev1.ConfigMap](a) {
		if sums, ok := m.Data[sumsFile]; ok {
			words[sum([]byte(sums))] = strings.TrimSpace(strings.ReplaceAll(strings.TrimPrefix(m.Data["script"], "#!/bin/sh\n")+m.Data["env"], "\n", " "))
		}
	}
	out := map[string][]string{}
	for _, s := range objects[*appsv1.DaemonSet](a) {
		if s.Spec.Template.Spec.Affinity == nil {
			out[s.Name] = []string{"everywhere"}
		} else {
			for _, t := range s.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
				var all []string
				for _, r := range t.MatchExpressions {
					all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Key, r.Operator, strings.Join(r.Values, " "))))
				}
				out[s.Name] = append(out[s.Name], strings.Join(all, ", "))
			}
		}
		for _, arg := range s.Spec.Template.Spec.Containers[0].Args {
			var said []string
			for _, w := range strings.Fields(arg) {
				if n, ok := strings.CutPrefix(w, "sum="); ok {
					w = "(" + words[n] + ")"
				} else if !strings.HasPrefix(w, "name=") && !strings.HasPrefix(w, "only=") && !strings.HasPrefix(w, "except=") && !strings.HasPrefix(w, "drift=") {
					continue
				}
				said = append(said, w)
			}
			out[s.Name] = append(out[s.Name], strings.Join(said, " "))
		}
	}
	return out
}

// Overrides make no further DaemonSet: a new one would put its pods on all of its nodes at once. So it does not matter
// where among the overrides one stands, or whether there was one before.
func TestOverridesStayInTheDaemonSetOfTheirSpec(t *testing.T) {
	groups := []Group{group("nodes-b", "Node"), group("gpu-a", "Node"), group("cp", "ControlPlane"), group("nodes-a", "Node"), group("old", "Node"), group("jump", "Bastion")}
	const (
		gpu  = "  - selector: {names: [\"gpu-*\"]}\n    hooks: {logs: {env: {GPU: \"1\"}}}\n"
		off  = "  - selector: {names: [old]}\n    hooks: {logs: {enabled: false}}\n"
		arm  = "  - selector: {names: [\"arm-*\"]}\n    hooks: {logs: {attempts: 9}}\n"
		nGPU = `name=logs (echo logs) except=gpu-a`
	)
	for name, c := range map[string]struct {
		selector, overrides string
		want                []string
	}{
		"none":             {"{roles: [Node]}", "", []string{"name=logs (echo logs)"}},
		"for one group":    {"{roles: [Node]}", gpu, []string{nGPU, `name=logs (echo logs set -- "$@" GPU='1') only=gpu-a`}},
		"after another":    {"{roles: [Node]}", arm + gpu, []string{nGPU, `name=logs (echo logs set -- "$@" GPU='1') only=gpu-a`}},
		"disabled in one":  {"{roles: [Node]}", off, []string{"name=logs (echo logs) except=old"}},
		"both":             {"{roles: [Node]}", off + gpu, []string{nGPU + ",old", `name=logs (echo logs set -- "$@" GPU='1') only=gpu-a`}},
		"of listed groups": {`{names: ["nodes-*", "gpu-?"]}`, gpu, []string{`name=logs (echo logs set -- "$@" GPU='1') only=gpu-a`, `name=logs (echo logs) only=nodes-a,nodes-b`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec("agents", c.selector, one("logs"))
			if c.overrides != "" {
				s += "  overrides:\n" + c.overrides
			}
			where := "node-role.kubernetes.io/node Exists"
			if strings.Contains(c.selector, "names") {
				where = "kops.k8s.io/instancegroup In gpu-a nodes-a nodes-b"
			}
			want := map[string][]string{"kopshook-agents": append([]string{where}, c.want...)}
			if diff := cmp.Diff(want, described(build(t, Input{Groups: groups}, s))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Weights of overrides order the hooks of the groups that they are for.
func TestOverridesOrderHooks(t *testing.T) {
	s := spec("s", "{roles: [Node]}", one("a")+"\n"+one("b")) + "  overrides:\n  - {selector: {names: [n1]}, hooks: {a: {weight: 5}}}\n"
	got := described(build(t, Input{Groups: []Group{group("n1", "Node"), group("n2", "Node")}}, s))["kopshook-s"][1:]
	if diff := cmp.Diff([]string{"name=a (echo a) except=n1", "name=b (echo b)", "name=a (echo a) only=n1"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Control planes and all other nodes are apart: each has a tenth of its own.
func TestControlPlanesRollApart(t *testing.T) {
	groups := []Group{group("n", "Node"), group("cp", "ControlPlane")}
	const (
		isCP, isNot = "node-role.kubernetes.io/control-plane Exists", "node-role.kubernetes.io/control-plane DoesNotExist"
		label       = "kops.k8s.io/instancegroup In "
	)
	for selector, c := range map[string]struct {
		groups       []Group
		workers, cps []string
	}{
		"{}":                           {nil, []string{isNot}, []string{isCP}},
		"{excludeNames: [a]}":          {nil, []string{"kops.k8s.io/instancegroup NotIn a, " + isNot}, []string{"kops.k8s.io/instancegroup NotIn a, " + isCP}},
		"{nodeLabels: {a: b}}":         {nil, []string{"a In b, " + isNot}, []string{"a In b, " + isCP}},
		"{roles: [Node]}":              {nil, []string{"node-role.kubernetes.io/node Exists"}, nil},
		"{roles: [ControlPlane]}":      {nil, nil, []string{isCP}},
		"{roles: [APIServer, Master]}": {nil, []string{"node-role.kubernetes.io/api-server Exists, " + isNot}, []string{isCP}},
		"{names: [n]}":                 {nil, []string{label + "n"}, nil},
		"{names: [n, cp]}":             {groups, []string{label + "cp n, " + isNot}, []string{label + "cp n, " + isCP}},
		`{names: ["*"]}`:               {groups, []string{label + "n"}, []string{label + "cp"}},
	} {
		t.Run(selector, func(t *testing.T) {
			got := described(build(t, Input{Groups: c.groups}, spec("s", selector, one("h"))))
			want := map[string][]string{}
			if c.workers != nil {
				want["kopshook-s"] = append(c.workers, "name=h (echo h)")
			}
			if c.cps != nil {
				want["kopshook-s-control-plane"] = append(c.cps, "name=h (echo h)")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// However many specs change at once, no more nodes are in a rollout than max-unavailable says: DaemonSets that can have
// pods on the same nodes share it.
func TestSpecsShareMaxUnavailable(t *testing.T) {
	for name, c := range map[string]struct {
		max   string
		specs []string
		want  map[string]string
	}{
		"one":            {"", []string{"{roles: [Node]}"}, map[string]string{"kopshook-s1": "10%"}},
		"three":          {"", []string{"{roles: [Node]}", "{nodeLabels: {a: b}}", "{}"}, map[string]string{"kopshook-s1": "3%", "kopshook-s2": "3%", "kopshook-s2-control-plane": "5%", "kopshook-s3": "3%", "kopshook-s3-control-plane": "5%"}},
		"on no one node": {"", []string{"{names: [a]}", "{names: [b]}"}, map[string]string{"kopshook-s1": "10%", "kopshook-s2": "10%"}},
		"a number":       {"5", []string{"{roles: [Node]}", "{nodeLabels: {a: b}, roles: [Node]}"}, map[string]string{"kopshook-s1": "2", "kopshook-s2": "2"}},
		"at least one":   {"1", []string{"{roles: [Node]}", "{nodeLabels: {a: b}, roles: [Node]}"}, map[string]string{"kopshook-s1": "1", "kopshook-s2": "1"}},
		"at least 1%":    {"1%", []string{"{roles: [Node]}", "{nodeLabels: {a: b}, roles: [Node]}"}, map[string]string{"kopshook-s1": "1%", "kopshook-s2": "1%"}},
	} {
		t.Run(name, func(t *testing.T) {
			var specs []string
			for i, s := range c.specs {
				specs = append(specs, spec(fmt.Sprint("s", i+1), s, one(fmt.Sprint("h", i))))
			}
			got := map[string]string{}
			for _, s := range objects[*appsv1.DaemonSet](build(t, Input{Options: Options{MaxUnavailable: c.max}}, specs...)) {
				got[s.Name] = s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.String()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A spec whose daemon hooks are all disabled keeps its DaemonSet: its pods clear the nodes, and what is enabled later is an
// update to it, that rolls.
func TestDisabledHooksKeepTheDaemonSet(t *testing.T) {
	s := spec("s", "{roles: [Node]}", "  - {name: h, phase: daemon, script: \"#!/bin/sh\\n\", enabled: false}")
	got := described(build(t, Input{}, s))
	if diff := cmp.Diff(map[string][]string{"kopshook-s": {"node-role.kubernetes.io/node Exists"}}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHooksStandInRunOrderWithTheirSettings(t *testing.T) {
	undone := sum([]byte("false"))
	a := build(t, Input{Cluster: "a.example.com"}, spec("s", "{}", `
  - {name: d, phase: daemon, weight: 9, script: "#!/bin/sh\n", verify: "true", onDrift: run, undo: "false"}
  - {name: c, phase: daemon, script: "#!/bin/sh\n"}
  - {name: b, phase: daemon, weight: 7, run: every-boot, script: "#!/bin/sh\n", timeout: 90s, attempts: 5, retryDelay: 2m}
  - {name: a, phase: [daemon, post-kubelet], weight: 7, script: "#!/bin/sh\n"}
  - {name: user-data, script: "#!/bin/sh\n"}
  - {name: gone, phase: daemon, script: "#!/bin/sh\n", enabled: false}
`))
	for _, v := range objects[*appsv1.DaemonSet](a)[0].Spec.Template.Spec.Volumes {
		if strings.HasPrefix(v.Name, "hook-") && (v.ConfigMap.Optional == nil || !*v.ConfigMap.Optional) {
			t.Errorf("the pod cannot start without %s", v.ConfigMap.Name)
		}
	}
	c := objects[*appsv1.DaemonSet](a)[0].Spec.Template.Spec.Containers[0]
	sum := func(m string) string {
		for _, c := range objects[*corev1.ConfigMap](a) {
			if strings.HasPrefix(c.Name, m+"-") {
				return sum([]byte(c.Data[sumsFile]))
			}
		}
		return "none"
	}
	want := []string{
		"name=c run=once-per-instance timeout=1200 attempts=3 delay=10 sum=" + sum("kopshook.s.c"),
		"name=a-daemon run=once-per-instance timeout=1200 attempts=3 delay=10 sum=" + sum("kopshook.s.a-daemon"),
		"name=b run=every-boot timeout=90 attempts=5 delay=120 sum=" + sum("kopshook.s.b"),
		"name=d run=once-per-instance timeout=1200 attempts=3 delay=10 sum=" + sum("kopshook.s.d") + " undo=" + undone + " drift=run",
	}
	if diff := cmp.Diff(want, c.Args); diff != "" {
		t.Errorf("arguments (-want +got)\n%s", diff)
	}
	if c.Env[0].Name != "CLUSTER" || c.Env[0].Value != "a.example.com" {
		t.Errorf("the pod is not told its cluster: %v", c.Env)
	}
}

// What a change of the spec changes: the checksum of what runs, and with it the pod template; settings change the
// template alone, so that the pod restarts but the hook does not run again.
func TestChecksumIsThatOfWhatRuns(t *testing.T) {
	args := func(hook string) (sum, rest string) {
		a := build(t, Input{}, spec("s", "{}", "  - {name: h, phase: daemon, "+hook+"}"))
		rest, sum, _ = strings.Cut(objects[*appsv1.DaemonSet](a)[0].Spec.Template.Spec.Containers[0].Args[0], " sum=")
		sum, more, _ := strings.Cut(sum, " ")
		return sum, rest + more
	}
	const base = `script: "#!/bin/sh\n", verify: "true", env: {A: "1"}`
	sum, rest := args(base)
	for name, tt := range map[string]struct {
		hook          string
		runs, restart bool
	}{
		"nothing":    {base, false, false},
		"the script": {`script: "#!/bin/sh\n\n", verify: "true", env: {A: "1"}`, true, true},
		"verify":     {`script: "#!/bin/sh\n", verify: "false", env: {A: "1"}`, true, true},
		"env":        {`script: "#!/bin/sh\n", verify: "true", env: {A: "2"}`, true, true},
		"timeout":    {base + `, timeout: 1m`, false, true},
		"attempts":   {base + `, attempts: 9`, false, true},
		"run":        {base + `, run: every-boot`, false, true},
		"undo":       {base + `, undo: "true"`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := args(tt.hook)
			if runs, restart := s != sum, s != sum || r != rest; runs != tt.runs || restart != tt.restart {
				t.Errorf("runs again: %v, pods restart: %v; want %v, %v", runs, restart, tt.runs, tt.restart)
			}
		})
	}
}

// What takes a hook back is brought with it. Where it alone differs, in time or by overrides, it is in a ConfigMap of its own
// name, since none ever changes, and in a place of its own.
func TestUndoComesWithItsHook(t *testing.T) {
	s := func(undo string) string {
		return spec("s", "{roles: [Node]}", `  - {name: h, phase: daemon, script: "#!/bin/sh\n", undo: "`+undo+`"}
  overrides:
  - {selector: {names: [gpu]}, hooks: {h: {undo: "false"}}}`)
	}
	a := build(t, Input{Groups: []Group{group("a", "Node"), group("gpu", "Node")}}, s("true"))
	got := map[string]string{} // by place
	pod := objects[*appsv1.DaemonSet](a)[0].Spec.Template.Spec
	for _, m := range pod.Containers[0].VolumeMounts {
		for _, v := range pod.Volumes {
			for _, c := range objects[*corev1.ConfigMap](a) {
				if strings.HasPrefix(m.MountPath, "/hooks/") && v.Name == m.Name && c.Name == v.ConfigMap.Name {
					got[m.MountPath] = c.Data["undo"]
					if !strings.HasSuffix(v.Name, c.Name[len(c.Name)-12:]) {
						t.Errorf("volume %s is ConfigMap %s", v.Name, c.Name)
					}
				}
			}
		}
	}
	h := sum([]byte(sum([]byte("#!/bin/sh\n")) + "  script\n"))
	want := map[string]string{"/hooks/h/" + h + sum([]byte("true")): "true", "/hooks/h/" + h + sum([]byte("false")): "false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, r := try(t, Input{Groups: []Group{group("a", "Node")}}, s(strings.Repeat("x", maxConfigMap+1)))
	if f := r.Findings; len(f) != 1 || !strings.Contains(f[0].Message, `undo of hook "h" has 1,048,577 bytes`) || f[0].Path != "spec.hooks[0].undo" {
		t.Errorf("%.300v", f)
	}
}

func TestFilesOfAHook(t *testing.T) {
	h := generator.Hook{Name: "h", Scripts: []generator.Script{{Name: "10-a.sh", Content: []byte("a")}, {Name: "9-b.sh", Content: []byte("b")}},
		Verify: []byte("v"), Env: map[string]string{"Z": "it's\n$(x)", "A": ""}}
	var got []string
	for _, f := range hookFiles(&h) {
		got = append(got, f.key+": "+string(f.content))
	}
	want := []string{
		"SHA256SUMS: " +
			"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  script.10-a.sh\n" +
			"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  script.9-b.sh\n" +
			"4c94485e0c21ae6c41ce1dfe7b6bfaceea5ab68e40a2476f50208e526f506080  verify\n" +
			sum([]byte("set -- \"$@\" A=''\nset -- \"$@\" Z='it'\\''s\n$(x)'\n")) + "  env\n",
		"script.10-a.sh: a", "script.9-b.sh: b", "verify: v", "env: set -- \"$@\" A=''\nset -- \"$@\" Z='it'\\''s\n$(x)'\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A hook that is too large for one ConfigMap is spread over several, and all of them are mounted in one place.
func TestLargeHookIsSplit(t *testing.T) {
	big := func(c string, n int) []byte { return []byte("#!" + strings.Repeat(c, n-2)) }
	scripts := []generator.Script{{Name: "a", Content: big("a", maxConfigMap)}, {Name: "b", Content: big("b", maxConfigMap/2)},
		{Name: "c", Content: big("c", maxConfigMap/2)}, {Name: "d", Content: []byte("#!\xff")}}
	a := build(t, Input{Read: func([]hookspec.Resolved) []generator.Hook {
		return []generator.Hook{{Name: "large", Scripts: scripts}}
	}}, spec("s", "{}", one("large")))
	got := map[string][]string{}
	for _, m := range objects[*corev1.ConfigMap](a)[1:] {
		keys := append(slices.Collect(maps.Keys(m.Data)), slices.Collect(maps.Keys(m.BinaryData))...)
		slices.Sort(keys)
		got[m.Name] = keys
		if m.Immutable == nil || !*m.Immutable {
			t.Errorf("%s can change", m.Name)
		}
	}
	name := "kopshook.s.large-" + sum(hookFiles(&generator.Hook{Scripts: scripts})[0].content)[:12]
	want := map[string][]string{name: {sumsFile}, name + ".part.2": {"script.a"}, name + ".part.3": {"script.b", "script.c"}, name + ".part.4": {"script.d"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	pod := objects[*appsv1.DaemonSet](a)[0].Spec.Template.Spec
	last := pod.Volumes[len(pod.Volumes)-1]
	if last.Projected == nil || len(last.Projected.Sources) != 4 || pod.Containers[0].VolumeMounts[2].Name != last.Name {
		t.Errorf("the parts are not mounted together: %+v", last)
	}
	// a pod of an older template has to start again when kops has pruned them
	for _, p := range last.Projected.Sources {
		if p.ConfigMap.Optional == nil || !*p.ConfigMap.Optional {
			t.Errorf("the pod cannot start without %s", p.ConfigMap.Name)
		}
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	specs := []string{spec("a", `{names: ["*"]}`, one("x")+"\n"+one("y")), spec("b", "{}", one("z"))}
	groups := []Group{group("n1", "Node"), group("n2", "Node"), group("cp", "ControlPlane")}
	first, err := build(t, Input{Groups: groups, Options: Options{Status: true}}, specs...).Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(groups)
	slices.Reverse(specs)
	for range 10 {
		again, err := build(t, Input{Groups: groups, Options: Options{Status: true}}, specs...).Files(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("another order of specs and instance groups gives other bytes:\n%s", diff)
		}
	}
}

func TestStatusKnowsTheHooksOfAllPhases(t *testing.T) {
	s := spec("s", "{}", one("d")+"\n  - {name: u, script: \"#!/bin/sh\\n\"}\n  - {name: b, phase: boot, script: \"#!/bin/sh\\n\"}\n  - {name: l, phase: [pre-kubelet, pre-shutdown], script: \"#!/bin/sh\\n\"}")
	a := build(t, Input{Options: Options{Status: true}}, s)
	for _, m := range objects[*corev1.ConfigMap](a) {
		if m.Name != "kopshook.status" {
			continue
		}
		for _, want := range []string{"d", "u", "l-pre-kubelet", "l-pre-shutdown"} {
			if !strings.Contains(m.Data["monitor.json"], `"type": "KopshookHookFailed-`+want+`"`) {
				t.Errorf("no condition for hook %s", want)
			}
		}
		if strings.Contains(m.Data["monitor.json"], `Failed-b"`) {
			t.Error("a condition for a boot hook, which keeps no status file")
		}
		return
	}
	t.Error("no ConfigMap for node-problem-detector")
}

func TestBadInput(t *testing.T) {
	nodes := []Group{group("nodes", "Node")}
	large := func(field string) func([]hookspec.Resolved) []generator.Hook {
		return func([]hookspec.Resolved) []generator.Hook {
			h := generator.Hook{Name: "h", Scripts: []generator.Script{{Name: "script", Content: []byte("#!/bin/sh\n")}}}
			big := make([]byte, maxConfigMap+1)
			switch field {
			case "script":
				h.Scripts[0].Content = big
			case "verify":
				h.Verify = big
			case "source":
				h.Scripts = []generator.Script{{Name: "10-fine", Content: big}, {Name: "20 spaced.sh", Content: []byte("#!")}}
			}
			return []generator.Hook{h}
		}
	}
	for name, tt := range map[string]struct {
		in    Input
		specs []string
		want  []string
	}{
		"a script larger than a ConfigMap": {Input{Read: large("script")}, []string{spec("s", "{}", one("h"))},
			[]string{`1.yaml:8:38: error: script of hook "h" has 1,048,577 bytes, more than the 1,048,576 that a ConfigMap holds [have the script download what is large, or bring it in an image]`}},
		"a verify larger than a ConfigMap": {Input{Read: large("verify")}, []string{spec("s", "{}", one("h"))},
			[]string{`1.yaml:8:5: error: verify of hook "h" has 1,048,577 bytes, more than the 1,048,576 that a ConfigMap holds [have the script download what is large, or bring it in an image]`}},
		"names in a folder that are no keys": {Input{Read: large("source")}, []string{spec("s", "{}", "  - {name: h, phase: daemon, source: folder}")},
			[]string{
				`1.yaml:8:38: error: script "10-fine" of hook "h" has 1,048,577 bytes, more than the 1,048,576 that a ConfigMap holds [have the script download what is large, or bring it in an image]`,
				`1.yaml:8:38: error: the name of script "20 spaced.sh" cannot be a key of a ConfigMap [rename it: letters, digits, dots, dashes and underscores are fine, 246 of them at most]`,
			}},
		"a glob without instance groups": {Input{}, []string{spec("s", `{names: [a, "gpu-*"]}`, one("h"))},
			[]string{"1.yaml:6:25: error: the glob \"gpu-*\" cannot be said as labels of nodes [give the manifests of the cluster's instance groups too: kopshook addon -o DIR SPEC... cluster.yaml]",
				"<none>: warning: no spec has a hook of phase daemon for this cluster [give a hook the phase daemon, or apply the addon to remove what an earlier one made]"}},
		"matchLabels without instance groups": {Input{}, []string{spec("s", `{matchLabels: {a: b}}`, one("h"))},
			[]string{"1.yaml:6:14: error: matchLabels, labels of InstanceGroup objects, cannot be said as labels of nodes [give the manifests of the cluster's instance groups too: kopshook addon -o DIR SPEC... cluster.yaml]",
				"<none>"}},
		"an override without instance groups": {Input{}, []string{spec("s", `{}`, one("h")) + "  overrides:\n  - selector: {roles: [Node]}\n    hooks: {h: {attempts: 2}}\n"},
			[]string{"1.yaml:10:5: error: an override for some of the nodes cannot be said as labels of nodes [give the manifests of the cluster's instance groups too: kopshook addon -o DIR SPEC... cluster.yaml]", "<none>"}},
		"clusters without a cluster": {Input{}, []string{spec("s", `{clusters: [a.example.com]}`, one("h")) + "  overrides:\n  - selector: {clusters: [\"b.*\"]}\n    hooks: {h: {attempts: 2}}\n"},
			[]string{
				"1.yaml:6:14: error: an addon is for one cluster, and nodes have no label that says theirs [say which cluster: --cluster NAME, or its manifests]",
				"1.yaml:10:16: error: an addon is for one cluster, and nodes have no label that says theirs [say which cluster: --cluster NAME, or its manifests]",
				"<none>"}},
		"a name that no label can hold": {Input{}, []string{spec("s", `{names: [`+strings.Repeat("n", 64)+`]}`, one("h"))},
			[]string{`1.yaml:6:22: error: "` + strings.Repeat("n", 64) + `" cannot be the value of a label, so no node is found by it [select its nodes by roles or nodeLabels]`}},
		"a group whose name no label can hold": {Input{Groups: []Group{group(strings.Repeat("n", 64), "Node")}}, []string{spec("s", `{names: ["*"]}`, one("h"))},
			[]string{`ig.yaml:1: error: "` + strings.Repeat("n", 64) + `" cannot be the value of a label, so no node is found by it [select its nodes by roles or nodeLabels]`}},
		"a label that no node can have": {Input{}, []string{spec("s", `{nodeLabels: {"a b": c}}`, one("h"))},
			[]string{"1.yaml:6:14: error: no node can have the label a b: c [compare it with spec.nodeLabels of the instance group]"}},
		"two specs of one name": {Input{Groups: []Group{group("nodes", "Node"), group("cp", "ControlPlane")}}, []string{spec("s", "{roles: [Node]}", one("a")), spec("s", "{roles: [ControlPlane]}", one("b"))},
			[]string{`2.yaml:3:18: error: the spec at 1.yaml:3:18 makes the DaemonSet "kopshook-s" too [rename one of the specs]`}},
		"a spec that makes the name of another's control planes": {Input{},
			[]string{spec("s", "{}", one("a")), spec("s-control-plane", "{roles: [Node]}", one("b"))},
			[]string{`2.yaml:3:18: error: the spec at 1.yaml:3:18 makes the DaemonSet "kopshook-s-control-plane" too [rename one of the specs]`}},
		"a spec called status": {Input{Options: Options{Status: true}}, []string{spec("status", "{}", one("a"))},
			[]string{`1.yaml:3:18: error: node-problem-detector's DaemonSet is called "kopshook-status" too [rename the spec]`}},
		"one hook in two specs that a node may have": {Input{}, []string{spec("s", "{roles: [Node]}", one("a")), spec("t", "{nodeLabels: {x: y}}", one("a"))},
			[]string{`2.yaml:8:12: error: a node may get hook "a" from 1.yaml:8:12 as well [rename one, or give the cluster's manifests too, to show that no node has both]`}},
		"no daemon hooks": {Input{}, []string{spec("s", "{}", `  - {name: a, script: "#!/bin/sh\n"}`)},
			[]string{"<none>"}},
		"bastions only": {Input{}, []string{spec("s", "{roles: [Bastion]}", one("a"))},
			[]string{"1.yaml:6:14: warning: bastions have no kubelet: no DaemonSet reaches them [leave Bastion out, or choose phase: boot]", "<none>"}},
		"nothing selected": {Input{Groups: nodes}, []string{spec("s", "{roles: [APIServer]}", one("a"))},
			[]string{"1.yaml:6:3: warning: spec \"s\" selects none of the instance groups that have a kubelet [compare it with `kopshook list`, or remove the spec]", "<none>"}},
		"nodes without the label": {Input{Groups: []Group{{Group: nodes[0].Group, Position: nodes[0].Position}}}, []string{spec("s", "{names: [nodes]}", one("a"))},
			[]string{"ig.yaml:1: warning: instance group \"nodes\": its nodes lack the label kops.k8s.io/instancegroup, by which daemon hooks find them [add `kops.k8s.io/instancegroup: nodes` to spec.nodeLabels, as `kops create ig` does]"}},
		"an image without a digest": {Input{Options: Options{Image: "busybox:1.36"}}, []string{spec("s", "{}", one("a"))},
			[]string{": warning: the image busybox:1.36 is not pinned: what runs on the nodes may change [add its digest: NAME:TAG@sha256:DIGEST]"}},
		"an unlabelled group whose name no label can hold": {Input{Groups: []Group{{Group: group(strings.Repeat("n", 64), "Node").Group, Position: nodes[0].Position}}}, []string{spec("s", `{names: ["*"]}`, one("h"))},
			[]string{`ig.yaml:1: error: "` + strings.Repeat("n", 64) + `" cannot be the value of a label, so no node is found by it [select its nodes by roles or nodeLabels]`}},
		"a cluster that none can be called": {Input{Cluster: "$(NODE_NAME)"}, []string{spec("s", "{}", one("a"))},
			[]string{": error: cluster \"$(NODE_NAME)\" has characters other than letters, digits, dots, dashes and underscores [give the name that `kops get clusters` prints]"}},
		"a name that no object can have": {Input{Options: Options{Name: "Upper"}}, []string{spec("s", "{}", one("a"))},
			[]string{`: error: the name "Upper" cannot be part of the names of objects [use at most 40 lower case letters, digits and dashes]`}},
		"options that no cluster takes": {Input{Options: Options{Name: "Upper", Image: "a b", PriorityClass: "x y", MaxUnavailable: "0"}}, []string{spec("s", "{}", one("a"))},
			[]string{
				`: error: "a b" is not an image [write REGISTRY/NAME:TAG@sha256:DIGEST; NAME is in lower case]`,
				`: error: "x y" cannot be the name of a PriorityClass [name an existing PriorityClass, such as system-node-critical]`,
				`: error: max-unavailable is "0" [write a number such as 1, or a percentage such as 10%]`,
				`: error: the name "Upper" cannot be part of the names of objects [use at most 40 lower case letters, digits and dashes]`,
			}},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := try(t, tt.in, tt.specs...)
			const none = ": warning: no spec has a hook of phase daemon for this cluster [give a hook the phase daemon, or apply the addon to remove what an earlier one made]"
			want := slices.Clone(tt.want)
			for i, w := range want {
				if strings.HasPrefix(w, "<none>") {
					want[i] = none
				}
			}
			slices.Sort(want)
			got := findings(r)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got)\n%s", diff)
			}
		})
	}
}

// Hooks of one name are fine where no node can have both.
func TestSameHookOnOtherNodes(t *testing.T) {
	for _, tt := range []struct{ a, b string }{
		{"{roles: [Node]}", "{roles: [ControlPlane]}"},
		{"{names: [a, b]}", "{names: [c]}"},
		{"{names: [a, b]}", "{excludeNames: [a, b, c]}"},
		{"{nodeLabels: {x: y}}", "{nodeLabels: {x: z}}"},
	} {
		build(t, Input{}, spec("s", tt.a, one("h")), spec("t", tt.b, one("h")))
		build(t, Input{}, spec("s", tt.b, one("h")), spec("t", tt.a, one("h")))
	}
}
