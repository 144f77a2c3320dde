package generator

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/golden"
)

var gpuGroup = InstanceGroup{Cluster: "minimal.example.com", Name: "gpu", Role: "Node"}

// newHook returns a hook with the defaults of the spec.
func newHook(name string, phase Phase, script string) Hook {
	h := Hook{Name: name, Phase: phase, Attempts: 3, RetryDelay: 10 * time.Second, Timeout: 20 * time.Minute}
	if script != "" {
		h.Scripts = []Script{{"script", []byte(script)}}
	}
	switch phase {
	case Boot, PreShutdown:
		h.EveryBoot = true
	}
	return h
}

func yamlNode(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return n.Content[0]
}

// allKinds returns hooks that together use everything there is.
func allKinds(t testing.TB) []Hook {
	driver := newHook("nvidia-driver", PreNodeup, "#!/bin/bash\nset -e\n\necho \"installing $DRIVER\"\n")
	driver.Verify = []byte("nvidia-smi -L")
	driver.Env = map[string]string{"DRIVER": "580", "GREETING": "caf\u00e9 $HOME %n \"quoted\" 'single' \\ \nsecond line"}
	driver.Before = []string{"containerd.service", `dev-disk\x2d1@x.service`}
	driver.Files = []File{
		{Path: "/etc/modprobe.d/nouveau.conf", Mode: 0o644, Owner: "root:root", Content: []byte("blacklist nouveau\n")},
		{Path: "/usr/local/bin/tool with a 'name'", Mode: 0o4755, Owner: "root:daemon", URLs: []string{"https://example.com/a?x=1&y=$HOME", "https://example.org/%41"}, SHA256: strings.Repeat("0a", 32)},
		{Path: "/etc/binary", Mode: 0o600, Owner: "root:root", Content: []byte{0, 1, 2, 0xff, 0xfe}},
	}
	driver.DropIns = []DropIn{{Unit: "containerd.service", Content: "[Service]\nLimitNOFILE=1048576\n"}}
	driver.RebootExitCodes = []int{100, 101}
	driver.CloudConfig = yamlNode(t, "apt: {preserve: yes, mode: 0755, at: [1:30, 'x', \"caf\u00e9\"]}\nwrite_files:\n- {path: /etc/theirs, content: hi}\nbootcmd: [[echo, a b], 'exit 1']\nempty: {}\nnothing:\n")

	light := newHook("light", PreNodeup, "#!/usr/bin/env -S python3 -u\nprint(1)\n")
	light.Weight = -5
	light.EveryBoot = true
	light.Continue = true

	folder := newHook("folder", PreKubelet, "")
	folder.Scripts = []Script{{"10-first.sh", []byte("#!/bin/sh\n\ttrue\n")}, {"20 second", []byte("\x7fELF\x00\x01\xff")}}
	folder.CleanUp = true
	folder.Compress = true
	folder.Verify = []byte("#!/bin/sh\n" + strings.Repeat("true # again\n", 50))

	boot := newHook("tune", Boot, "#!/bin/bash -eu\necho \"it's\"\nexit 1\n")
	boot.Env = map[string]string{"A": "yes"}
	perl := newHook("perl", Boot, "#!/usr/bin/perl\nprint 1;\n")
	perl.Weight = 1

	second := newHook("second", PreShutdown, "#!/bin/sh\ntrue\n")
	second.Weight = 1
	return []Hook{
		driver, light, folder, boot, perl, second,
		newHook("first", PreShutdown, "#!/bin/sh\ntrue\n"),
		newHook("after-nodeup", PostNodeup, "#!/bin/sh\ntrue\n"),
		newHook("after-nodeup-too", PostNodeup, "#!/bin/sh\ntrue\n"),
		newHook("after-kubelet", PostKubelet, "#!/bin/sh\ntrue\n"),
		newHook("nothing", PreKubelet, ""),
	}
}

func mustGenerate(t testing.TB, ig InstanceGroup, hooks ...Hook) []UserData {
	t.Helper()
	parts, err := Generate(ig, "v1", hooks)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

func TestGolden(t *testing.T) {
	for name, hooks := range map[string][]Hook{
		"one": {newHook("nvidia-driver", PreNodeup, "#!/bin/sh\ntrue\n")},
		"all": allKinds(t),
	} {
		t.Run(name, func(t *testing.T) {
			var parts, files txtar.Archive
			for _, p := range mustGenerate(t, gpuGroup, hooks...) {
				checkPart(t, p)
				parts.Files = append(parts.Files, txtar.File{Name: p.Name + " " + p.Type, Data: []byte(p.Content)})
			}
			landed, err := Files(gpuGroup, "v1", hooks)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range landed {
				head := strings.TrimSpace(fmt.Sprint(f.Path, " ", f.ModeString(), " ", f.Owner, " ", strings.Join(f.URLs, " ")))
				content := f.Content
				if !isText(content) {
					content = fmt.Appendf(nil, "%q\n", content)
				}
				files.Files = append(files.Files, txtar.File{Name: head, Data: content})
			}
			checkGolden(t, name+".parts", txtar.Format(&parts))
			checkGolden(t, name+".files", txtar.Format(&files))
		})
	}
}

// checkGolden holds what nodes get: where it differs, kops replaces machines.
func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	golden.Check(t, filepath.Join("testdata", "golden", name+".txtar"), got)
}

func TestNoHooksNoParts(t *testing.T) {
	if parts := mustGenerate(t, gpuGroup); parts != nil {
		t.Errorf("got %d parts", len(parts))
	}
}

func TestOrderOfHooksMeansNothing(t *testing.T) {
	hooks := allKinds(t)
	want := mustGenerate(t, gpuGroup, hooks...)
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		r.Shuffle(len(hooks), func(i, j int) { hooks[i], hooks[j] = hooks[j], hooks[i] })
		if diff := cmp.Diff(want, mustGenerate(t, gpuGroup, hooks...)); diff != "" {
			t.Fatalf("another order gave other parts (-want +got):\n%s", diff)
		}
	}
}

func TestPartsStandInRunOrder(t *testing.T) {
	var names []string
	for _, p := range mustGenerate(t, gpuGroup, allKinds(t)...) {
		names = append(names, p.Name)
	}
	want := []string{
		"kopshook-000-gate.sh", "kopshook-001-runtime.sh", "kopshook-002-reboot.sh", "kopshook-003-fetch.sh", "kopshook-004-kubelet.sh",
		"kopshook-500-tune.yaml", "kopshook-501-perl.yaml",
		"kopshook-495-light.yaml", "kopshook-500-nvidia-driver.yaml",
		"kopshook-500-folder.yaml", "kopshook-500-nothing.yaml",
		"kopshook-500-after-nodeup.yaml", "kopshook-500-after-nodeup-too.yaml",
		"kopshook-500-after-kubelet.yaml",
		"kopshook-500-first.yaml", "kopshook-501-second.yaml",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// The parts of hooks, by name of part.
func hookParts(t *testing.T, ig InstanceGroup, hooks []Hook) map[string]string {
	m := map[string]string{}
	for _, p := range mustGenerate(t, ig, hooks...) {
		if p.Type == cloudConfig {
			m[p.Name] = p.Content
		}
	}
	return m
}

func TestHookPartDependsOnTheHookAlone(t *testing.T) {
	all := allKinds(t)
	want := hookParts(t, gpuGroup, all)

	t.Run("not on the instance group", func(t *testing.T) {
		got := hookParts(t, InstanceGroup{Cluster: "other.example.org", Name: "spot", Role: "ControlPlane"}, all)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	for i := range all {
		t.Run("not on "+all[i].Name+" being there", func(t *testing.T) {
			rest := append(append([]Hook(nil), all[:i]...), all[i+1:]...)
			got := hookParts(t, gpuGroup, rest)
			for name, content := range got {
				// units of pre-shutdown name their predecessor
				if content != want[name] && !(all[i].Name == "first" && name == "kopshook-501-second.yaml") {
					t.Errorf("%s changed: %s", name, cmp.Diff(want[name], content))
				}
			}
		})
		t.Run("not on the size of "+all[i].Name, func(t *testing.T) {
			grown := append([]Hook(nil), all...)
			grown[i].Scripts = append([]Script(nil), grown[i].Scripts...)
			if len(grown[i].Scripts) == 0 {
				grown[i].Scripts = []Script{{Name: "script"}}
			}
			grown[i].Scripts[0].Content = []byte("#!/bin/sh\n" + strings.Repeat("echo much more of it\n", 500))
			changed := 0
			for name, content := range hookParts(t, gpuGroup, grown) {
				if content != want[name] {
					changed++
				}
			}
			if changed != 1 {
				t.Errorf("%d parts changed, want 1", changed)
			}
		})
	}
}

func TestEveryChangeChangesALineThatIsNoComment(t *testing.T) {
	// kops edit drops lines that begin with # before it looks for changes (cmd/kops/edit_cluster.go, stripComments).
	strip := func(s string) string {
		var kept []string
		for line := range strings.Lines(s) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	for _, phase := range phases {
		a := newHook("x", phase, "#!/bin/sh\n# one\ntrue\n")
		b := newHook("x", phase, "#!/bin/sh\n# two\ntrue\n")
		one, two := mustGenerate(t, gpuGroup, a), mustGenerate(t, gpuGroup, b)
		if strip(one[len(one)-1].Content) == strip(two[len(two)-1].Content) {
			t.Errorf("%s: kops edit would not store the change of a comment", phase)
		}
	}
}

// Overhead is what people pay for hooks: 16 KiB is all that AWS takes.
func TestOverheadStaysBelowItsCeiling(t *testing.T) {
	size := func(parts []UserData) int {
		var list []cloudinit.Part
		for _, p := range parts {
			list = append(list, cloudinit.Part(p))
		}
		return len(cloudinit.Message(nil, "Bastion", append([]cloudinit.Part{{Name: "x", Type: "y"}}, list...))) -
			len(cloudinit.Message(nil, "Bastion", []cloudinit.Part{{Name: "x", Type: "y"}}))
	}
	const script = "#!/bin/sh\ntrue\n"
	scriptSize := len(script) + 4*strings.Count(script, "\n") // as a block scalar
	long := InstanceGroup{Cluster: "prod.eu-west-1.k8s.example.com", Name: "control-plane-eu-west-1a", Role: "ControlPlane"}
	for _, phase := range phases[1:] {
		one := mustGenerate(t, long, newHook("nvidia-driver", phase, script))
		if got, ceiling := size(one[:2]), 4600; got > ceiling {
			t.Errorf("%s: gate and runner take %d bytes of user data, more than %d", phase, got, ceiling)
		}
		two := mustGenerate(t, long, newHook("nvidia-driver", phase, script), newHook("nvidia-toolki", phase, script))
		if got, ceiling := size(two)-size(one)-scriptSize, 900; got > ceiling {
			t.Errorf("%s: a further hook takes %d bytes besides its script, more than %d", phase, got, ceiling)
		}
		t.Logf("%s: %d and %d bytes", phase, size(one[:2]), size(two)-size(one)-scriptSize)
	}
}
