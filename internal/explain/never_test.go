package explain

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/verdict"
)

// What a machine does not come to is drawn as such, and nothing else is: in the timeline, of which the forms for people are made, and in
// that for programs.
func TestWhatIsNotReachedNeverRuns(t *testing.T) {
	boot := func(script string, more ...cloudinit.Part) Input {
		return example(t, append([]cloudinit.Part{{Name: "a.yaml", Type: cloudinit.TypeCloudConfig, Content: script}}, more...), hook("driver", generator.PreNodeup))
	}
	fails := func(name string) Input {
		in := example(t, nil, hook("a", generator.PreNodeup), hook("b", generator.PreNodeup), hook("c", generator.PreKubelet), hook("d", generator.PreKubelet),
			hook("e", generator.PostNodeup), hook("f", generator.PostKubelet))
		in.Verdict = verdict.Verdict{Kind: verdict.Never, Effect: lint.HookFails, Hook: name}
		return in
	}
	const own = "gate, tools of the hooks, units and scripts"
	for name, c := range map[string]struct {
		in           Input
		comes, never string
	}{
		"a boothook that hangs": {hangs(t), "fine.sh, hangs.sh!", "late.sh, " + own + ", nodeup.sh, zz.sh, driver, drain, nodeup, kubelet"},
		"a command of bootcmd that hangs": {boot("bootcmd:\n- one\n- systemctl start kubelet\n- three\n"), "gate, tools of the hooks, one, systemctl start kubelet!",
			"three, units and scripts, nodeup.sh, driver, nodeup, kubelet"},
		"a boot hook that hangs": {func() Input {
			in := example(t, theirs[:1], hook("one", generator.Boot), hook("two", generator.Boot), hook("driver", generator.PreNodeup))
			in.Verdict = verdict.Verdict{Kind: verdict.Never, Effect: lint.Ends, Hook: "one", At: report.Position{File: "hooks.yaml", Line: 9}}
			return in
		}(), "gate, tools of the hooks, one!", "two, units and scripts, 00-agent.sh, nodeup.sh, driver, nodeup, kubelet"},
		"commands in one line": {boot("bootcmd: [one, systemctl start kubelet, three]\n"), "gate, tools of the hooks, one, systemctl start kubelet!",
			"three, units and scripts, nodeup.sh, driver, nodeup, kubelet"},
		"a script that reboots": {boot("{}\n", cloudinit.Part{Name: "00.sh", Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\nreboot\n"},
			cloudinit.Part{Name: "01.sh", Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\ntrue\n"}), own + ", 00.sh!", "01.sh, nodeup.sh, driver, nodeup, kubelet"},
		"scripts that no module runs": {boot("cloud_final_modules: [phone-home]\n", cloudinit.Part{Name: "00.sh", Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\ntrue\n"}),
			own, "00.sh, nodeup.sh, driver, nodeup, kubelet"},
		"kops refuses the group": {boot("{}\n", cloudinit.Part{Name: "b", Type: "multipart/mixed"}), "", own + ", nodeup.sh, driver, nodeup, kubelet"},
		"a bastion that hangs": {func() Input {
			in := example(t, []cloudinit.Part{{Name: "a.sh", Type: cloudinit.TypeBoothook, Content: "#!/bin/sh\nsystemctl start x\n"}, {Name: "b.sh", Type: cloudinit.TypeBoothook, Content: "#!/bin/sh\ntrue\n"}})
			in.Role, in.Result = "Bastion", cloudinit.ReadParts(nil, "Bastion", in.Parts, cloudinit.Options{})
			return judged(in)
		}(), "a.sh!", "b.sh"},
		"a bastion with hooks": {func() Input {
			in := example(t, theirs[:1], hook("a", generator.PreNodeup), hook("b", generator.PreKubelet), hook("c", generator.PostKubelet))
			in.Role, in.Result = "Bastion", cloudinit.ReadParts(nil, "Bastion", in.Parts, cloudinit.Options{})
			return judged(in)
		}(), own + ", 00-agent.sh", "a, b, c"},
		"kops leaves the user data out": {func() Input {
			in := example(t, theirs[:1], hook("a", generator.PreNodeup), hook("b", generator.PreKubelet), hook("c", generator.PostNodeup), hook("d", generator.PreShutdown))
			in.Verdict = verdict.Verdict{Kind: verdict.Loses, Effect: lint.LeftOut}
			return in
		}(), "nodeup.sh, nodeup, kubelet", own + ", 00-agent.sh, a, b, c, d"},
		"the first of the hooks fails": {fails("a"), own + ", nodeup.sh, a!", "b, nodeup, c, d, e, kubelet, f"},
		"one beside nodeup fails":      {fails("c"), own + ", nodeup.sh, a, b, nodeup, c!, e", "d, kubelet, f"},
		"a hook does not arrive":       {brokenByOthers(t), "gate, tools of the hooks, /etc/x, nodeup.sh, driver!", "nodeup, agent, kubelet"},
		"the kubelet does not start":   {boot("swap: {filename: /swap, size: 1G}\n"), own + ", swap, nodeup.sh, driver, nodeup", "kubelet"},
	} {
		t.Run(name, func(t *testing.T) {
			timeline := Make(c.in)
			var comes, never []string
			for _, s := range timeline.Stages {
				for _, st := range s.Steps {
					switch {
					case st.Never:
						never = append(never, st.Name)
						if st.Fails != "" || st.Blocks || st.EveryBoot {
							t.Errorf("what never runs is said to be %+v", st)
						}
					case st.Ends:
						comes = append(comes, st.Name+"!")
					default:
						comes = append(comes, st.Name)
					}
				}
			}
			if diff := cmp.Diff([]string{c.comes, c.never}, []string{strings.Join(comes, ", "), strings.Join(never, ", ")}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			e := JSON([]Input{c.in})[0]
			if e.Waits != nil {
				t.Errorf("it says how long a kubelet waits that does not start: %+v", e.Waits)
			}
			told := map[string]bool{}
			for _, r := range e.Runs {
				told[r.Name] = r.Never
				for _, i := range r.Items {
					told[i.Text] = i.Never
				}
			}
			for _, h := range e.Hooks {
				told[h.Name] = h.Never
			}
			for _, name := range append(comes, never...) {
				name, _ = strings.CutSuffix(name, "!")
				if said, ok := told[name]; ok && said != strings.Contains(", "+c.never+",", ", "+name+",") {
					t.Errorf("JSON says of %s that it never runs: %v", name, said)
				}
			}
			for form, print := range map[string]func(*bytes.Buffer) error{
				"text":    func(b *bytes.Buffer) error { return Text(b, timeline, Screen{}) },
				"mermaid": func(b *bytes.Buffer) error { return Mermaid(b, []*Timeline{timeline}) },
				"svg":     func(b *bytes.Buffer) error { return SVG(b, timeline) },
				"html":    func(b *bytes.Buffer) error { return HTML(b, []*Timeline{timeline}) },
			} {
				var b bytes.Buffer
				if err := print(&b); err != nil {
					t.Fatal(err)
				}
				for _, claim := range []string{"installs nodeup, starts it", "runs beside nodeup", "installs containerd", "joins the cluster"} {
					ran := claim == "joins the cluster" && strings.HasSuffix(c.comes, "kubelet") || claim == "installs containerd" && strings.Contains(c.comes, ", nodeup,") || claim == "installs containerd" && strings.HasSuffix(c.comes, "nodeup") ||
						claim == "installs nodeup, starts it" && strings.Contains(c.comes, "nodeup.sh")
					if !ran && strings.Contains(b.String(), claim) {
						t.Errorf("%s says %q", form, claim)
					}
				}
				if boxes, links := strings.Count(b.String(), ":::"), strings.Count(b.String(), " --> ")+strings.Count(b.String(), " -."); form == "mermaid" && links < boxes-1 {
					t.Errorf("%d boxes have %d links:\n%s", boxes, links, b.String())
				}
				ends := strings.Contains(c.comes, "!")
				if red := map[string]string{"svg": `class="failsbad"`, "html": `<span class="bad">`}[form]; red != "" && strings.Contains(b.String(), red) != ends {
					t.Errorf("%s shows where the machine ends: %v, want %v", form, !ends, ends)
				}
				if form == "text" && strings.Contains(b.String(), "\n\n\n") {
					t.Error(fmt.Sprint("two empty lines:\n", b.String()))
				}
			}
		})
	}
}
