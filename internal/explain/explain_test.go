package explain

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/golden"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/verdict"
	"kopshook.dev/kopshook/internal/waits"
)

// example makes an instance group of AWS with the user's parts and hooks of each phase.
func example(t *testing.T, theirs []cloudinit.Part, hooks ...generator.Hook) Input {
	t.Helper()
	return exampleOn(t, kops.CloudProviderAWS, theirs, hooks...)
}

func exampleOn(t *testing.T, cloud kops.CloudProviderID, theirs []cloudinit.Part, hooks ...generator.Hook) Input {
	t.Helper()
	group := generator.InstanceGroup{Cluster: "main.example.com", Name: "nodes", Role: "Node"}
	parts := theirs
	var ours []generator.UserData
	if len(hooks) > 0 {
		var err error
		if ours, err = generator.Generate(group, "v1", hooks); err != nil {
			t.Fatal(err)
		}
		for _, p := range ours {
			parts = append(parts, cloudinit.Part(p))
		}
	}
	in := Input{Group: group.Name, Cluster: group.Cluster, Role: group.Role, Parts: parts,
		Result: cloudinit.ReadParts(nil, group.Role, parts, cloudinit.Options{}),
		Place: func(at cloudinit.At) report.Position {
			if at.Part < 0 || at.Part >= len(theirs) || at.Line == 0 {
				return report.Position{}
			}
			return report.Position{File: "ig.yaml", Line: 10*at.Part + at.Line, Col: at.Col}
		}}
	b := budget.Input{Cloud: cloud, Role: group.Role, Group: group, Runtime: "v1", Hooks: hooks, Parts: ours}
	for _, p := range theirs {
		b.Theirs = append(b.Theirs, generator.UserData(p))
	}
	var err error
	if in.Size, err = budget.Check(b); err != nil {
		t.Fatal(err)
	}
	return judged(in)
}

// judged gives an input its verdict, from what lint finds in its user data.
func judged(in Input) Input {
	ig := &kops.InstanceGroup{}
	for _, p := range in.Parts {
		ig.Spec.AdditionalUserData = append(ig.Spec.AdditionalUserData, kops.UserData(p))
	}
	found := lint.Check(&lint.Group{Group: &instancegroups.Group{Name: in.Group, Role: in.Role, Object: ig}, Parts: in.Parts, Size: in.Size}, lint.Options{})
	for i := range found { // without a file, places are in parts: here they are as Place has them
		if n := slices.IndexFunc(in.Parts, func(p cloudinit.Part) bool { return p.Name == found[i].File }); n >= 0 {
			found[i].Position = in.Place(cloudinit.At{Part: n, Line: found[i].Line, Col: found[i].Col})
		}
	}
	in.Verdict = verdict.Of(verdict.Facts{Role: in.Role, Result: in.Result, Findings: found, Hooks: waits.Find(in.Result, nil), Size: in.Size})
	return in
}

func hook(name string, phase generator.Phase, more ...func(*generator.Hook)) generator.Hook {
	h := generator.Hook{Name: name, Phase: phase, Attempts: 3, Timeout: 20 * 60e9, RetryDelay: 10e9,
		Scripts: []generator.Script{{Name: "script", Content: []byte("#!/bin/sh\ntrue\n")}}}
	if phase == generator.Boot || phase == generator.PreShutdown {
		h.EveryBoot, h.Attempts = true, 1
	}
	for _, f := range more {
		f(&h)
	}
	return h
}

var theirs = []cloudinit.Part{
	{Name: "00-agent.sh", Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\nmkdir -p /var/lib/agent\n"},
	{Name: "zz.sh", Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\ntrue\n"},
	{Name: "a.yaml", Type: cloudinit.TypeCloudConfig, Content: "bootcmd:\n- mkdir -p /mnt/a\ntimezone: UTC\nruncmd: [a, b]\npackages: [nfs-common]\n"},
	{Name: "b.yaml", Type: cloudinit.TypeCloudConfig, Content: "bootcmd:\n- [modprobe, br_netfilter]\nwrite_files:\n- path: /etc/agent.conf\n  permissions: '0600'\n- path: /etc/late.conf\n  defer: true\n"},
	{Name: "hook.sh", Type: cloudinit.TypeBoothook, Content: "#!/bin/sh\ntrue\n"},
}

// everyPhase fits into the user data of Google Cloud, and not into that of AWS.
func everyPhase(t *testing.T, cloud kops.CloudProviderID) Input {
	every := func(h *generator.Hook) { h.EveryBoot = true }
	return exampleOn(t, cloud, theirs,
		hook("early", generator.Boot),
		hook("driver", generator.PreNodeup, every),
		hook("tools", generator.PreNodeup, func(h *generator.Hook) { h.OncePerImage = true }),
		hook("disk", generator.PreNodeup, func(h *generator.Hook) { h.Continue = true }),
		hook("agent", generator.PreKubelet, every, func(h *generator.Hook) { h.Timeout = 90e9 }),
		hook("register", generator.PostNodeup),
		hook("label", generator.PostKubelet),
		hook("drain", generator.PreShutdown))
}

var replacesNodeup = []cloudinit.Part{theirs[0], {Name: "nodeup.sh", Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\ntrue\n"}, theirs[1]}

// brokenByOthers has a part of the user's that keeps the hooks' files from being written.
func brokenByOthers(t *testing.T) Input {
	bad := []cloudinit.Part{{Name: "b.yaml", Type: cloudinit.TypeCloudConfig, Content: "write_files:\n- path: /etc/x\n  owner: nobody-there\n"}}
	return example(t, bad, hook("driver", generator.PreNodeup), hook("agent", generator.PreKubelet))
}

// hangs has a boothook at which the boot hangs, and before it one that is fine.
func hangs(t *testing.T) Input {
	parts := []cloudinit.Part{
		{Name: "fine.sh", Type: cloudinit.TypeBoothook, Content: "#!/bin/sh\ntrue\n"},
		{Name: "hangs.sh", Type: cloudinit.TypeBoothook, Content: "#!/bin/sh\ntrue\nsystemctl restart kubelet\ntrue\n"},
		{Name: "late.sh", Type: cloudinit.TypeBoothook, Content: "#!/bin/sh\ntrue\n"},
		{Name: "zz.sh", Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\ntrue\n"},
	}
	return example(t, parts, hook("driver", generator.PreNodeup), hook("drain", generator.PreShutdown))
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Input
	}{
		{"phases", everyPhase(t, "gce")},
		{"large", everyPhase(t, "aws")},
		{"broken", brokenByOthers(t)},
		{"plain", example(t, nil)},
		{"hangs", hangs(t)},
		{"never", example(t, replacesNodeup, hook("driver", generator.PreNodeup), hook("drain", generator.PreShutdown))},
		{"bastion", func() Input {
			in := example(t, theirs[:1])
			in.Role, in.Result = "Bastion", cloudinit.ReadParts(nil, "Bastion", theirs[:1], cloudinit.Options{})
			return judged(in)
		}()},
	} {
		t.Run(c.name, func(t *testing.T) {
			timeline := Make(c.in)
			var text, mermaid, svg, page bytes.Buffer
			for _, err := range []error{Text(&text, timeline, Screen{}), Mermaid(&mermaid, []*Timeline{timeline}), SVG(&svg, timeline), HTML(&page, []*Timeline{timeline})} {
				if err != nil {
					t.Fatal(err)
				}
			}
			golden.Check(t, "testdata/"+c.name+".txt", text.Bytes())
			golden.Check(t, "testdata/"+c.name+".mermaid", mermaid.Bytes())
			golden.Check(t, "testdata/"+c.name+".svg", svg.Bytes())
			for _, width := range []int{60, 80, 120} {
				var screen bytes.Buffer
				if err := Text(&screen, timeline, Screen{Width: width}); err != nil {
					t.Fatal(err)
				}
				for i, l := range strings.Split(screen.String(), "\n") {
					if n := utf8.RuneCountInString(l); n > width {
						t.Errorf("on a terminal of %d columns, line %d has %d: %s", width, i+1, n, l)
					}
				}
			}
			if strings.Contains(text.String(), "…") {
				t.Errorf("a text in a pipe is cut:\n%s", text.String())
			}
			wellFormed(t, svg.Bytes())
			if bytes.Contains(page.Bytes(), []byte("src=")) || bytes.Contains(bytes.ReplaceAll(page.Bytes(), []byte("http://www.w3.org/2000/svg"), nil), []byte("http")) {
				t.Error("the page wants something from the network")
			}
		})
	}
}

func wellFormed(t *testing.T, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("no XML: %v", err)
		}
	}
}

func TestHooksAreKnownByWhatArrives(t *testing.T) {
	got := waits.Find(everyPhase(t, "gce").Result, nil)
	var names []string
	for _, h := range got {
		names = append(names, fmt.Sprintf("%s %s every=%v continue=%v %s missing=%v", h.Phase, h.Name, h.EveryBoot, h.Continue, tries(&h), h.Missing))
	}
	want := []string{
		"pre-nodeup disk every=false continue=true up to 3 × 20m missing=false",
		"pre-nodeup driver every=true continue=false up to 3 × 20m missing=false",
		"pre-nodeup tools every=false continue=false up to 3 × 20m, once per image missing=false",
		"pre-kubelet agent every=true continue=false up to 3 × 1m30s missing=false",
		"post-nodeup register every=false continue=false up to 3 × 20m missing=false",
		"post-kubelet label every=false continue=false up to 3 × 20m missing=false",
		"pre-shutdown drain every=true continue=false up to 20m missing=false",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, h := range waits.Find(brokenByOthers(t).Result, nil) {
		if !h.Missing || h.Phase != map[string]generator.Phase{"driver": generator.PreNodeup, "agent": generator.PreKubelet}[h.Name] {
			t.Errorf("%+v", h)
		}
	}
}

// Of hooks in a bucket that nobody looked into, nothing is said that is not known.
func TestHooksInABucketWithoutTheirSpec(t *testing.T) {
	there := func(h *generator.Hook) { h.Archive, h.ArchiveURL = true, "s3://bucket/kopshook" }
	in := example(t, nil, hook("driver", generator.PreNodeup, there), hook("agent", generator.PreKubelet, there, func(h *generator.Hook) { h.Continue = true }),
		hook("label", generator.PostKubelet, there), hook("drain", generator.PreShutdown, there))
	var b bytes.Buffer
	if err := Text(&b, Make(in), Screen{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\njoins when its 2 hooks are through\n", "nodeup and the kubelet wait for 2 hooks\n", "\nfor 2 hooks in a bucket", "\n all that is known ",
		"\npost-nodeup or post-kubelet hooks ", "\npre-shutdown hooks ", "\n ○  agent "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	e := JSON([]Input{in})[0]
	var got []string
	for _, h := range e.Hooks[1:] { // the first is what reads the archive
		got = append(got, fmt.Sprint(h.Name, " ", h.Phase, " ", h.InBucket, " ", h.JSONUnit))
	}
	if diff := cmp.Diff([]string{"driver pre-nodeup true <nil>", "agent pre-kubelet true <nil>", "label  true <nil>", "drain pre-shutdown true <nil>"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if e.Waits.Unknown != 2 || e.Waits.Limits[0].Exceeded != nil {
		t.Errorf("got %+v", e.Waits)
	}
	for form, draw := range map[string]func(io.Writer) error{
		"mermaid": func(w io.Writer) error { return Mermaid(w, []*Timeline{Make(in)}) },
		"svg":     func(w io.Writer) error { return SVG(w, Make(in)) },
	} {
		var b bytes.Buffer
		if err := draw(&b); err != nil || !strings.Contains(b.String(), "in a bucket") {
			t.Errorf("%s: %v\n%s", form, err, b.String())
		}
	}
}

// TestJSON holds what other programs build on.
func TestJSON(t *testing.T) {
	out, err := json.MarshalIndent(JSON([]Input{everyPhase(t, "gce")}), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/phases.json", append(out, '\n'))
	out, err = json.Marshal(JSON(nil))
	if err != nil || string(out) != "[]" {
		t.Errorf("got %s, %v", out, err)
	}
}

func TestConfigAsJSON(t *testing.T) {
	part := []cloudinit.Part{{Name: "a", Type: cloudinit.TypeCloudConfig, Content: "a: [1, 1.5, yes, ~, 2001-01-01, .inf, 0755, \"\\ud800\"]\nb: {c: '\"<'}\n"}}
	got := valueJSON(cloudinit.ReadParts(nil, "Node", part, cloudinit.Options{}).Config)
	var v any
	if err := yaml.Unmarshal(got, &v); err != nil {
		t.Fatal(err)
	}
	want := `{"a":[1,1.5,true,null,"2001-01-01","inf",493,"` + "\ufffd\ufffd\ufffd" + `"],"b":{"c":"\"\u003c"}}`
	if diff := cmp.Diff(want, strings.ReplaceAll(string(got), `\ufffd`, "\ufffd")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzForms looks for names that break a form.
func FuzzForms(f *testing.F) {
	f.Add("a b.sh", "bootcmd: [x]\n")
	f.Add("</svg>&\"'\x00", "runcmd:\n- \"\\u0001]]>\"\n")
	f.Fuzz(func(t *testing.T, name, content string) {
		parts := []cloudinit.Part{{Name: name, Type: cloudinit.TypeCloudConfig, Content: content}, {Name: name, Type: cloudinit.TypeShellScript, Content: content}}
		in := Input{Group: name, Cluster: name, Role: "Node", Parts: parts, Place: func(cloudinit.At) report.Position { return report.Position{File: name, Line: 1} },
			Result: cloudinit.ReadParts(nil, "Node", parts, cloudinit.Options{})}
		timeline := Make(in)
		var svg, other bytes.Buffer
		if err := SVG(&svg, timeline); err != nil {
			t.Fatal(err)
		}
		wellFormed(t, svg.Bytes())
		for _, err := range []error{Text(&other, timeline, Screen{Width: 80, Color: true}), Mermaid(&other, []*Timeline{timeline}), HTML(&other, []*Timeline{timeline})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := json.Marshal(JSON([]Input{in})); err != nil {
			t.Fatal(err)
		}
	})
}

// TestWhoJoins: no form may say that a machine becomes a node which does not.
func TestWhoJoins(t *testing.T) {
	whole := func(data string) Input {
		r := cloudinit.Read([]byte(data), cloudinit.Options{})
		return Input{Parts: []cloudinit.Part{{Name: "file"}}, Result: r, Verdict: verdict.OfOther(r), Place: func(cloudinit.At) report.Position { return report.Position{} }}
	}
	role := func(role string, in Input) Input {
		in.Role, in.Result = role, cloudinit.ReadParts(nil, role, in.Parts, cloudinit.Options{})
		return judged(in)
	}
	for _, c := range []struct {
		name  string
		in    Input
		joins bool
		never string
	}{
		{"a node", example(t, theirs), true, ""},
		{"a node without parts", example(t, nil), true, ""},
		{"a bastion", role("Bastion", example(t, theirs)), false, ""},
		{"a part in the place of nodeup.sh", example(t, replacesNodeup), false, `part "nodeup.sh" replaces kops' own nodeup.sh`},
		{"user data that cloud-init dies of", example(t, []cloudinit.Part{{Name: "a", Type: "multipart/mixed", Content: "x"}, {Name: "b.gz", Type: "application/gzip", Content: "no gzip"}}), false, `kops refuses the type multipart/mixed of part "a"`},
		{"a script of somebody's", whole("#!/bin/sh\ntrue\n"), false, ""},
		{"a cloud-config of somebody's", whole("#cloud-config\nbootcmd: [x]\n"), false, ""},
		{"kops' script in another message", whole("MIME-Version: 1.0\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=nodeup.sh\n\n#!/bin/sh\ntrue\n"), true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			timeline := Make(c.in)
			joins := slices.ContainsFunc(timeline.Stages, func(s Stage) bool { return s.ID == StageKubelet })
			if got := JSON([]Input{c.in})[0].NeverJoins; joins != c.joins || got != c.never {
				t.Errorf("joins: %v, never since %q; want %v, %q", joins, got, c.joins, c.never)
			}
			var text bytes.Buffer
			if err := Text(&text, timeline, Screen{}); err != nil {
				t.Fatal(err)
			}
			for _, claim := range []string{"the node joins", "nodeup starts all the same", "before nodeup"} {
				if !c.joins && strings.Contains(text.String(), claim) {
					t.Errorf("it says %q:\n%s", claim, text.String())
				}
			}
		})
	}
}

// TestNoNameControlsTheTerminal: nor does one break a line of the table.
func TestNoNameControlsTheTerminal(t *testing.T) {
	const evil = "x\x1b[2J\x07\u009b31m\u202e\r\n ○  made up"
	config := `write_files: [{path: "/etc/\e[2J\nfoo\rbar", content: x}, {path: "/etc/\e[2J", owner: "\e[2J"}]` + "\n" +
		`packages: ["\e[2J\njq"]` + "\n" + `bootcmd: ["a\e[2J\nb"]` + "\n"
	in := example(t, []cloudinit.Part{{Name: evil, Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\n"}, {Name: evil, Type: cloudinit.TypeCloudConfig, Content: config}})
	in.Group, in.Cluster, in.Role = evil, evil, "Node"
	in.Place = func(cloudinit.At) report.Position { return report.Position{File: evil, Line: 1} }
	timeline := Make(in)
	for name, form := range map[string]func(io.Writer) error{
		"text":    func(w io.Writer) error { return Text(w, timeline, Screen{}) },
		"mermaid": func(w io.Writer) error { return Mermaid(w, []*Timeline{timeline}) },
		"svg":     func(w io.Writer) error { return SVG(w, timeline) },
		"html":    func(w io.Writer) error { return HTML(w, []*Timeline{timeline}) },
	} {
		var b bytes.Buffer
		if err := form(&b); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"\x1b", "\x07", "\u009b", "\u202e", "\r", "\n ○  made up", "\nfoo"} {
			if strings.Contains(b.String(), bad) {
				t.Errorf("%s: %q gets through", name, bad)
			}
		}
	}
}

// Boxes without links say nothing of when they run; a test with Mermaid itself looks at all golden files, too.
func TestBoxesAreLinked(t *testing.T) {
	for name, in := range map[string]Input{"fits": everyPhase(t, "gce"), "is too large": everyPhase(t, "aws")} {
		var b bytes.Buffer
		if err := Mermaid(&b, []*Timeline{Make(in)}); err != nil {
			t.Fatal(err)
		}
		boxes := regexp.MustCompile(`(?m)^    (n\d+)\[`).FindAllStringSubmatch(b.String(), -1)
		links := regexp.MustCompile(`(?m)^ +(n\d+) (?:-->|-\.).* (n\d+)$`).FindAllStringSubmatch(b.String(), -1)
		for _, box := range boxes {
			if !slices.ContainsFunc(links, func(l []string) bool { return l[1] == box[1] || l[2] == box[1] }) {
				t.Errorf("%s: box %s has no link", name, box[1])
			}
		}
		if len(boxes) < 20 || len(links) < len(boxes)-1 {
			t.Errorf("%s: %d boxes have %d links", name, len(boxes), len(links))
		}
	}
}
