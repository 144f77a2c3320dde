package hookspec

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/report"
)

func TestSelection(t *testing.T) {
	gpu := Group{Cluster: "a.prod.example.com", Name: "gpu-a", Role: "Node", Labels: map[string]string{"team": "ml"}, NodeLabels: map[string]string{"gpu": "yes"}}
	master := Group{Cluster: "a.prod.example.com", Name: "master-a", Role: "ControlPlane"}
	bastion := Group{Cluster: "a.prod.example.com", Name: "bastions", Role: "Bastion"}
	for _, test := range []struct {
		selector string
		group    Group
		want     Selection
	}{
		{`{}`, gpu, ByPattern},
		{`{}`, master, ByPattern},
		{`{}`, Group{Name: "api", Role: "APIServer"}, ByPattern},
		{`{}`, bastion, NotSelected},
		{`{roles: [Bastion]}`, bastion, ByPattern},
		{`{names: [bastions]}`, bastion, ByName},
		{`{names: ["bastion*"]}`, bastion, NotSelected},
		{`{names: ["bastion*"], roles: [Node, Bastion]}`, bastion, ByPattern},
		{`{clusters: ["*"]}`, bastion, NotSelected},
		{`{names: ["gpu-*"]}`, gpu, ByPattern},
		{`{names: [gpu-a]}`, gpu, ByName},
		{`{names: ["gpu-*", gpu-a]}`, gpu, ByName},
		{`{names: ["gpu-?"]}`, gpu, ByPattern},
		{`{names: ["gpu-[a-c]"]}`, gpu, ByPattern},
		{`{names: ["gpu-[^a-c]"]}`, gpu, NotSelected},
		{`{names: [gpu]}`, gpu, NotSelected},
		{`{names: [GPU-A]}`, gpu, NotSelected},
		{`{names: ["*"], excludeNames: ["gpu-*"]}`, gpu, NotSelected},
		{`{names: [gpu-a], excludeNames: [gpu-a]}`, gpu, NotSelected},
		{`{names: [gpu-a], excludeNames: [gpu-b]}`, gpu, ByName},
		{`{names: [gpu-a], roles: [ControlPlane]}`, gpu, NotSelected},
		{`{roles: [Node]}`, gpu, ByPattern},
		{`{roles: [Node]}`, master, NotSelected},
		{`{roles: [Master]}`, master, ByPattern},
		{`{roles: [ControlPlane]}`, master, ByPattern},
		{`{roles: [Master]}`, gpu, NotSelected},
		{`{clusters: ["*.prod.example.com"]}`, gpu, ByPattern},
		{`{clusters: [a.prod.example.com]}`, gpu, ByPattern},
		{`{clusters: ["*.test.example.com", "*.example.org"]}`, gpu, NotSelected},
		{`{clusters: ["*"]}`, Group{Name: "a", Role: "Node"}, ByPattern},
		{`{clusters: ["?*"]}`, Group{Name: "a", Role: "Node"}, NotSelected},
		{`{matchLabels: {team: ml}}`, gpu, ByPattern},
		{`{matchLabels: {team: web}}`, gpu, NotSelected},
		{`{matchLabels: {other: ml}}`, gpu, NotSelected},
		{`{matchLabels: {gpu: "yes"}}`, gpu, NotSelected},
		{`{matchLabels: {none: ""}}`, gpu, NotSelected},
		{`{nodeLabels: {gpu: "yes"}}`, gpu, ByPattern},
		{`{nodeLabels: {gpu: "no"}}`, gpu, NotSelected},
		{`{nodeLabels: {gpu: "yes"}, matchLabels: {team: ml}, roles: [Node], names: ["g*"], clusters: ["*"]}`, gpu, ByPattern},
	} {
		d := decode(t, "a.yaml", strings.Replace(spec("    []\n"), "selector: {}", "selector: "+test.selector, 1))
		if got := d.Selection(test.group); got != test.want || d.Selects(test.group) != (got != NotSelected) {
			t.Errorf("%s and %s: got %d, want %d", test.selector, test.group.Name, got, test.want)
		}
	}
}

func TestDefaultsOfEachPhase(t *testing.T) {
	d := decode(t, "a.yaml", strings.Replace(spec(`  - name: a
    phase: [boot, pre-nodeup, pre-kubelet, post-nodeup, post-kubelet, pre-shutdown, daemon]
    script: "#!/bin/sh"
`), "hooks:", "compress: true\n  hooks:", 1))
	var got []string
	for _, h := range d.Resolve(Group{}) {
		got = append(got, fmt.Sprintf("%s %s: weight=%d everyBoot=%t timeout=%s attempts=%d retryDelay=%s continue=%t compress=%t cleanUp=%t runtime=%s",
			h.Name, h.Phase, h.Weight, h.EveryBoot, h.Timeout, h.Attempts, h.RetryDelay, h.Continue, h.Compress, h.CleanUp, h.Runtime))
	}
	want := []string{
		"a-boot boot: weight=0 everyBoot=true timeout=20m0s attempts=3 retryDelay=10s continue=true compress=false cleanUp=false runtime=v1",
		"a-pre-nodeup pre-nodeup: weight=0 everyBoot=false timeout=20m0s attempts=3 retryDelay=10s continue=false compress=true cleanUp=false runtime=v1",
		"a-pre-kubelet pre-kubelet: weight=0 everyBoot=false timeout=20m0s attempts=3 retryDelay=10s continue=false compress=true cleanUp=false runtime=v1",
		"a-post-nodeup post-nodeup: weight=0 everyBoot=false timeout=20m0s attempts=3 retryDelay=10s continue=true compress=true cleanUp=false runtime=v1",
		"a-post-kubelet post-kubelet: weight=0 everyBoot=false timeout=20m0s attempts=3 retryDelay=10s continue=true compress=true cleanUp=false runtime=v1",
		"a-pre-shutdown pre-shutdown: weight=0 everyBoot=true timeout=1m30s attempts=1 retryDelay=10s continue=true compress=true cleanUp=false runtime=v1",
		"a-daemon daemon: weight=0 everyBoot=false timeout=20m0s attempts=3 retryDelay=10s continue=true compress=false cleanUp=false runtime=v1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsSaidReplacesDefaults(t *testing.T) {
	d := decode(t, "a.yaml", everyField)
	h := d.Spec.Spec.Hooks[0]
	h.Enabled = nil
	d.Spec.Spec.Hooks[0] = h
	r := d.Resolve(Group{Name: "gpu-a"})[0]
	if r.Name != "driver" || r.Phase != PreKubelet || r.Weight != -400 || r.EveryBoot || r.Timeout != 90*time.Minute || r.Attempts != 5 || r.RetryDelay != 0 ||
		!r.Continue || r.Compress || !r.CleanUp || string(r.Verify) != "nvidia-smi -L" || r.CloudConfig == nil || len(r.DropIns) != 1 {
		t.Errorf("got %+v", r)
	}
	var files []string
	for _, f := range r.Files {
		files = append(files, fmt.Sprintf("%04o %s %s", f.Mode, f.Owner, f.Path))
	}
	want := []string{"0600 app:app /etc/a", "0644 root:root /etc/b", "4755 1000:1000 /etc/c", "0644 root:root /etc/d", "0644 root:root /etc/e", "0600 root:root /etc/f"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	if d.Spec.Spec.Hooks[0].Files[1].Mode != nil {
		t.Error("the spec was changed")
	}
}

const overridden = `  - name: a
    script: |
      #!/bin/sh
    env: {A: "1", B: "2"}
    before: [containerd.service]
    files:
    - {path: /etc/a, content: a}
    cloudConfig: {apt: {}}
  - name: b
    phase: [pre-nodeup, post-kubelet]
    script: |
      #!/bin/sh
  - name: spare
    script: |
      #!/bin/sh
    enabled: false
  overrides:
  - selector: {clusters: [old.example.com]}
    hooks:
      a: {env: {B: "3", C: "4"}, weight: 7, source: a.sh, timeout: 5m}
      b: {enabled: false}
  - selector: {names: [gpu]}
    hooks:
      a: {weight: 8, before: [], files: [{path: /etc/b, content: b}], cloudConfig: {}, env: {C: "5"}}
      spare: {enabled: true, attempts: 9}
`

func TestOverrides(t *testing.T) {
	d := decode(t, "a.yaml", spec(overridden))
	names := func(g Group) (names []string) {
		for _, h := range d.Resolve(g) {
			names = append(names, h.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"a", "b-pre-nodeup", "b-post-kubelet"}, names(Group{Name: "nodes", Role: "Node"})); diff != "" {
		t.Error(diff)
	}
	both := Group{Cluster: "old.example.com", Name: "gpu", Role: "Node"}
	if diff := cmp.Diff([]string{"a", "spare"}, names(both)); diff != "" {
		t.Error(diff)
	}
	h := d.Resolve(both)[0]
	if len(h.Scripts) > 0 || *h.Said.Source != "a.sh" || h.Weight != 8 || len(h.Before) != 0 || h.Files[0].Path != "/etc/b" || h.CloudConfig != nil || h.Timeout != 5*time.Minute {
		t.Errorf("got %+v", h)
	}
	if diff := cmp.Diff(map[string]string{"A": "1", "B": "3", "C": "5"}, h.Env); diff != "" {
		t.Error(diff)
	}
	for field, want := range map[string]string{
		"name":            "spec.hooks[0].name 7:11",
		"env.A":           "spec.hooks[0].env.A 10:14",
		"env.B":           "spec.overrides[0].hooks.a.env.B 26:20",
		"env.C":           "spec.overrides[1].hooks.a.env.C 30:97",
		"weight":          "spec.overrides[1].hooks.a.weight 30:19",
		"source":          "spec.overrides[0].hooks.a.source 26:53",
		"files[0].path":   "spec.overrides[1].hooks.a.files[0].path 30:49",
		"files[0].mode":   "spec.overrides[1].hooks.a.files[0].mode 30:42",
		"rebootExitCodes": "spec.hooks[0].rebootExitCodes 7:5",
	} {
		p := h.Pos(field)
		if got := fmt.Sprintf("%s %d:%d", h.FieldPath(field), p.Line, p.Col); got != want {
			t.Errorf("%s: got %s, want %s", field, got, want)
		}
	}
	// the spec itself stays as it is
	if diff := cmp.Diff([]string{"a", "b-pre-nodeup", "b-post-kubelet"}, names(Group{})); diff != "" {
		t.Error(diff)
	}
	if env := d.Resolve(Group{})[0].Env; len(env) != 2 || env["B"] != "2" {
		t.Errorf("env is now %v", env)
	}
}

func TestOverridesReachBastionsThatTheSpecSelects(t *testing.T) {
	d := decode(t, "a.yaml", strings.Replace(spec(`  - {name: a, phase: boot, script: "#!/bin/sh"}
  overrides:
  - selector: {}
    hooks: {a: {weight: 1}}
`), "selector: {}", "selector: {roles: [Bastion]}", 1))
	if h := d.Resolve(Group{Name: "b", Role: "Bastion"}); h[0].Weight != 1 {
		t.Errorf("got %+v", h)
	}
}

// conflicts returns what ForGroup says of specs.
func conflicts(t *testing.T, g Group, specs ...string) (names []string, said []string) {
	t.Helper()
	var docs []*Doc
	for i, s := range specs {
		docs = append(docs, decode(t, fmt.Sprintf("%c.yaml", 'a'+i), s))
	}
	var r report.Report
	for range 2 { // the second instance group has the same conflicts
		names = nil
		for _, h := range ForGroup(docs, g, &r) {
			names = append(names, h.Name)
		}
	}
	for _, f := range r.Findings {
		if f.Remedy == "" {
			t.Errorf("no remedy: %+v", f)
		}
		said = append(said, f.Position.String()+" "+f.Path+": "+f.Message)
	}
	return names, said
}

func TestOrderIsPhaseWeightName(t *testing.T) {
	names, said := conflicts(t, Group{Name: "nodes", Role: "Node"},
		spec(`  - {name: z, script: "#!/bin/sh", weight: -5}
  - {name: b, script: "#!/bin/sh"}
  - {name: late, phase: post-kubelet, script: "#!/bin/sh", weight: -400}
  - {name: five, script: "#!/bin/sh", weight: 5}
  - {name: both, phase: [pre-shutdown, boot], script: "#!/bin/sh"}
`),
		spec(`  - {name: a, script: "#!/bin/sh"}
  - {name: c, phase: pre-kubelet, script: "#!/bin/sh"}
  - {name: y, script: "#!/bin/sh", weight: -5}
  - {name: every-node, phase: daemon, script: "#!/bin/sh", weight: -400}
`),
		strings.Replace(spec("  - {name: elsewhere, script: \"#!/bin/sh\"}\n"), "selector: {}", "selector: {names: [other]}", 1))
	if diff := cmp.Diff([]string{"both-boot", "y", "z", "a", "b", "five", "c", "late", "every-node", "both-pre-shutdown"}, names); diff != "" || len(said) > 0 {
		t.Error(diff, said)
	}
}

func TestConflictsOfSpecs(t *testing.T) {
	g := Group{Name: "nodes", Role: "Node"}
	a := `  - name: a
    script: "#!/bin/sh"
    files:
    - {path: /etc/a, content: a}
`
	for _, test := range []struct {
		name  string
		specs []string
		want  []string
	}{
		{"one name twice", []string{spec("  - {name: a, script: \"#!/bin/sh\"}\n"), spec("  - {name: b, script: \"#!/bin/sh\"}\n  - {name: a, source: x}\n")},
			[]string{"b.yaml:8:12 spec.hooks[1].name: hook `a` is there twice for instance group `nodes`, also at a.yaml:7:12"}},
		{"one name by its phase", []string{spec("  - {name: a, phase: [pre-nodeup, boot], script: \"#!/bin/sh\"}\n"), spec("  - {name: a-boot, phase: pre-kubelet, script: \"#!/bin/sh\"}\n")},
			[]string{"b.yaml:7:12 spec.hooks[0].name: hook `a-boot` is there twice for instance group `nodes`, also at a.yaml:7:12"}},
		{"one file twice", []string{spec(a + "  - name: b\n    files: [{path: /etc/b, content: b}, {path: /etc/a, content: a}]\n")},
			[]string{"a.yaml:12:48 spec.hooks[1].files[1].path: file \"/etc/a\" is placed by two hooks of instance group `nodes`, `b` and `a` (a.yaml:10:14)"}},
		{"one file twice, by an override", []string{spec("  - {name: a, files: [{path: /etc/a, content: a}]}\n  - {name: b, files: [{path: /etc/b, content: b}]}\n" +
			"  overrides: [{selector: {}, hooks: {b: {files: [{path: /etc/a, content: b}]}}}]\n")},
			[]string{"a.yaml:9:57 spec.overrides[0].hooks.b.files[0].path: file \"/etc/a\" is placed by two hooks of instance group `nodes`, `b` and `a` (a.yaml:7:30)"}},
		{"a file where another hook needs a folder", []string{spec(a + "  - name: b\n    files: [{path: /etc/a/b, content: b}]\n")},
			[]string{"a.yaml:12:20 spec.hooks[1].files[0].path: \"/etc/a\" cannot be a file and the folder of \"/etc/a/b\": hooks `b` and `a` (a.yaml:10:14) of instance group `nodes` place them"}},
		{"a secret where a hook of another spec needs a folder", []string{spec("  - {name: a, files: [{path: /etc/c, content: c}, {path: /etc/b/x/y, content: a}]}\n"),
			spec("  - {name: b, run: every-boot, files: [{path: /etc/b, secret: \"aws-ssm:b\"}]}\n")},
			[]string{"b.yaml:7:47 spec.hooks[0].files[0].path: \"/etc/b\" cannot be a file and the folder of \"/etc/b/x/y\": hooks `b` and `a` (a.yaml:7:58) of instance group `nodes` place them"}},
		{"files beside each other", []string{spec(a + "  - name: b\n    files: [{path: /etc/ab, content: b}, {path: /etc/b/a, content: b}]\n")}, nil},
		{"a hook of several phases places its files each time", []string{spec(strings.Replace(a, "script", "phase: [pre-nodeup, post-kubelet]\n    script", 1))}, nil},
		{"a hook that is switched off is in nobody's way", []string{spec(a), spec(a + "    enabled: false\n")}, nil},
		{"a spec that selects other groups is in nobody's way", []string{spec(a), strings.Replace(spec(a), "selector: {}", "selector: {names: [other]}", 1)}, nil},
		{"overrides that do not go together", []string{spec("  - {name: a, script: \"#!/bin/sh\"}\n  overrides:\n  - selector: {}\n    hooks: {a: {run: every-boot}}\n  - selector: {}\n    hooks: {a: {cleanup: on-success}}\n")},
			[]string{"a.yaml:12:26 spec.overrides[1].hooks.a.cleanup: `cleanup: on-success` does not go with `run: every-boot`: the next boot needs the script again"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, said := conflicts(t, g, test.specs...); cmp.Diff(test.want, said) != "" {
				t.Error(cmp.Diff(test.want, said))
			}
		})
	}
}

func TestRuntimesOfAGroupMustBeOne(t *testing.T) {
	a := decode(t, "a.yaml", spec("    []\n"))
	b := decode(t, "b.yaml", strings.Replace(spec("    []\n"), "spec:", "spec:\n  runtime: v1", 1))
	g := Group{Name: "nodes", Role: "Node"}
	var r report.Report
	ForGroup([]*Doc{a, b}, g, &r)
	if len(r.Findings) > 0 {
		t.Fatalf("omitted means v1: %v", r.Findings)
	}
	b.Spec.Spec.Runtime = "v2"
	ForGroup([]*Doc{a, b}, g, &r)
	if len(r.Findings) != 1 || r.Findings[0].Position.String() != "b.yaml:5:12" || r.Findings[0].Message != "runtime is v2, but v1 for another spec of instance group `nodes` (a.yaml:4:1)" {
		t.Errorf("got %+v", r.Findings)
	}
}
