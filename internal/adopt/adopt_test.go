package adopt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/adopt"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// adopted is the outcome of one group.
type adopted struct {
	*adopt.Adopted
	spec  string
	hooks []generator.Hook
	proof *adopt.Proof
}

// adoptParts adopts the parts of one group and compares. It fails the test when the spec does not decode, or something
// of today is gone.
func adoptParts(t *testing.T, role string, parts []cloudinit.Part) adopted {
	t.Helper()
	g := adopt.Adopt(adopt.Group{Name: "nodes", Cluster: "main.example.com", Role: role, Parts: parts})
	spec := adopt.Specs([]*adopt.Adopted{g})
	return prove(t, g, spec)
}

func prove(t *testing.T, g *adopt.Adopted, spec []byte) adopted {
	t.Helper()
	out := adopted{Adopted: g, spec: string(spec)}
	var r report.Report
	var then adopt.Then
	if len(spec) > 0 {
		docs := hookspec.Decode("adopted", spec, &r)
		var chosen []*hookspec.Doc
		for _, d := range docs {
			if d.Selection(hookspec.Group{Cluster: g.Cluster, Name: g.Name, Role: g.Role}) != hookspec.NotSelected {
				chosen = append(chosen, d)
			}
		}
		for _, h := range plan.Hooks(context.Background(), chosen, nil, &r) {
			then.Hooks = append(then.Hooks, h.Hook)
		}
	}
	for _, f := range r.Findings {
		t.Fatalf("%s: %s\n%s", f.Position, f.Message, spec)
	}
	ig := generator.InstanceGroup{Cluster: g.Cluster, Name: g.Name, Role: g.Role}
	var err error
	if then.Parts, err = generator.Generate(ig, "v1", then.Hooks); err == nil {
		then.Files, err = generator.Files(ig, "v1", then.Hooks)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, spec)
	}
	out.hooks = then.Hooks
	out.proof = g.Compare(then)
	for _, b := range out.proof.Broken {
		t.Errorf("%s\n%s", b, spec)
	}
	if len(g.Taken)+len(g.Kept) != len(g.Parts) {
		t.Errorf("%d parts: %d are taken and %d kept", len(g.Parts), len(g.Taken), len(g.Kept))
	}
	return out
}

// lines of a test's result: what became of the hooks and parts, and what differs.
func (a adopted) lines() []string {
	var lines []string
	for _, h := range a.Hooks() {
		line := string(h.Phase) + " " + h.Name
		if !h.Enabled {
			line += " (off)"
		}
		lines = append(lines, line)
	}
	for i := range a.Parts {
		if why, ok := a.Kept[i]; ok {
			lines = append(lines, "stays: "+a.Parts[i].Name+": "+why)
		}
	}
	for _, d := range a.proof.Differences {
		lines = append(lines, "differs: "+d)
	}
	return append(lines, "same: "+a.proof.Same())
}

func script(name, content string) cloudinit.Part {
	return cloudinit.Part{Name: name, Type: cloudinit.TypeShellScript, Content: content}
}

func boothook(name, content string) cloudinit.Part {
	return cloudinit.Part{Name: name, Type: cloudinit.TypeBoothook, Content: content}
}

func config(name, content string) cloudinit.Part {
	return cloudinit.Part{Name: name, Type: cloudinit.TypeCloudConfig, Content: "#cloud-config\n" + content}
}

func TestAdopt(t *testing.T) {
	for _, c := range []struct {
		name  string
		role  string
		parts []cloudinit.Part
		want  []string
	}{
		{"a script before nodeup", "Node", []cloudinit.Part{script("00-agent.sh", "#!/bin/sh\necho a\n")},
			[]string{"pre-nodeup agent", "same: 1 script"}},
		{"a script beside nodeup", "Node", []cloudinit.Part{script("tune.sh", "#!/bin/sh\necho a\n")},
			[]string{"post-nodeup tune", "differs: tune.sh runs beside nodeup today; as a hook it runs when nodeup has succeeded", "same: 1 script"}},
		{"scripts in the order of their names, not of the file", "Node", []cloudinit.Part{script("20-b.sh", "#!/bin/sh\necho b\n"), script("10-c.sh", "#!/bin/sh\necho c\n")},
			[]string{"pre-nodeup c", "pre-nodeup b", "same: 2 scripts in their order"}},
		{"a boothook and bootcmd", "Node", []cloudinit.Part{config("a.yaml", "bootcmd:\n- echo a\n- [echo, b]\n"), {Name: "b", Type: cloudinit.TypeBoothook, Content: "#cloud-boothook\n#!/bin/sh\necho hook\n"}},
			[]string{"boot b", "boot a", "same: 2 scripts in their order"}},
		{"all of a cloud-config", "Node", []cloudinit.Part{config("a.yaml", "apt: {preserve_sources_list: true}\nbootcmd: [echo a]\nruncmd: [echo b]\nwrite_files:\n- {path: /etc/x, content: x, permissions: '0600'}\n- {path: /etc/y, content: eA==, encoding: b64, owner: 'root:adm', defer: true}\n")},
			[]string{"boot a-bootcmd", "pre-nodeup a", "post-nodeup a-runcmd", "differs: runcmd runs beside nodeup today; as a hook it runs when nodeup has succeeded",
				"differs: /etc/x: written before cloud-init does apt today, and after it with the hooks", "same: 2 scripts in their order, 2 files, 1 key of cloud-config"}},
		{"a file of apt's, which apt reads before hooks run", "Node", []cloudinit.Part{config("a.yaml", "packages: [jq]\nwrite_files:\n- {path: /etc/apt/apt.conf.d/99proxy, content: x}\n")},
			[]string{"stays: a.yaml: /etc/apt/apt.conf.d/99proxy is there before a package manager reads it today; files of hooks are placed later", "same: 1 file, 1 key of cloud-config"}},
		{"a file of sshd's, and a part that has nothing to do with it", "Node", []cloudinit.Part{config("a.yaml", "write_files:\n- {path: /etc/ssh/sshd_config.d/x.conf, content: x}\n"), config("b.yaml", "ntp: {servers: [x]}\n")},
			[]string{"pre-nodeup b", "stays: a.yaml: /etc/ssh/sshd_config.d/x.conf is there before sshd reads it today; files of hooks are placed later", "same: 1 file, 1 key of cloud-config"}},
		{"a file of sshd's, and a part that replaces its commands", "Node", []cloudinit.Part{config("a.yaml", "runcmd: [echo a]\nbootcmd: [echo a]\nwrite_files:\n- {path: /etc/ssh/sshd_config.d/x.conf, content: x}\n"), config("b.yaml", "runcmd: [echo b]\n")},
			[]string{"stays: a.yaml: /etc/ssh/sshd_config.d/x.conf is there before sshd reads it today; files of hooks are placed later",
				"stays: b.yaml: cloud-config is merged with a.yaml, which stays: /etc/ssh/sshd_config.d/x.conf is there before sshd reads it today; files of hooks are placed later", "same: 2 scripts in their order, 1 file"}},
		{"a file that is appended to", "Node", []cloudinit.Part{config("a.yaml", "write_files:\n- {path: /etc/hosts, append: true, content: \"10.0.0.1 r\\n\"}\n- {path: /etc/x, content: a}\n- {path: /etc/x, append: true, content: b}\n")},
			[]string{"pre-nodeup a-append", "pre-nodeup a",
				"differs: /etc/hosts is about /etc/hosts: it comes before nodeup.sh downloads nodeup today, and after that with the hooks; if the download needs it, let a script of phase boot do it", "same: 2 files"}},
		{"a list that another part replaces", "Node", []cloudinit.Part{config("a.yaml", "runcmd: [echo a]\n"), config("b.yaml", "runcmd: [echo b]\n")},
			[]string{"post-nodeup b", "post-nodeup a (off)", "differs: runcmd runs beside nodeup today; as a hook it runs when nodeup has succeeded", "same: 1 script"}},
		{"lists that are appended", "Node", []cloudinit.Part{config("a.yaml", "runcmd: [echo a]\n"), config("b.yaml", "merge_how: \"list(append)+dict(recurse_list)+str()\"\nruncmd: [echo b]\n")},
			[]string{"post-nodeup runcmd", "differs: runcmd runs beside nodeup today; as a hook it runs when nodeup has succeeded", "same: 1 script"}},
		{"a command that is a mapping by accident", "Node", []cloudinit.Part{config("a.yaml", "runcmd:\n- echo a: b\n- echo c\n")},
			[]string{"post-nodeup a (off)", "same: nothing"}},
		{"a key that is there twice", "Node", []cloudinit.Part{config("a.yaml", "packages: [a]\npackages: [b]\n")},
			[]string{"pre-nodeup a", "pre-nodeup a-2 (off)", "same: 1 key of cloud-config"}},
		{"a key that is there twice further down", "Node", []cloudinit.Part{config("a.yaml", "ntp: {servers: [a], servers: [b]}\n")},
			[]string{"pre-nodeup a", "same: 1 key of cloud-config"}},
		{"a part of which nothing is merged", "Node", []cloudinit.Part{config("a.yaml", "packages: [a]\n"), config("b.yaml", "merge_how: list(append)\ntimezone: UTC\nruncmd: [echo b]\n")},
			[]string{"pre-nodeup a", "pre-nodeup b (off)", "post-nodeup b-runcmd (off)", "same: 1 key of cloud-config"}},
		{"a part that says what another says", "Node", []cloudinit.Part{config("a.yaml", "packages: [a]\n"), config("b.yaml", "packages: [a]\n")},
			[]string{"pre-nodeup b", "same: 1 key of cloud-config"}},
		{"an entry that makes write_files stop", "Node", []cloudinit.Part{config("a.yaml", "write_files:\n- {path: /etc/, content: x}\n- {path: /etc/y, content: y}\n"), script("00-b.sh", "#!/bin/sh\n")},
			[]string{"stays: a.yaml: /etc/ is lost today: /etc is a folder, and an entry that fails stops write_files",
				"stays: 00-b.sh: hooks would not arrive next to what stays: in a.yaml, /etc/ is lost: /etc is a folder, and an entry that fails stops write_files; fix that first", "same: 1 script"}},
		{"an owner who is not there yet", "Node", []cloudinit.Part{config("a.yaml", "write_files:\n- {path: /etc/x, content: x, owner: 'me:me'}\n- {path: /etc/y, content: y}\n")},
			[]string{"pre-nodeup a", "pre-nodeup a-2 (off)", "same: 1 file"}},
		{"a script with a letter that kops loses", "Node", []cloudinit.Part{script("00-a.sh", "#!/bin/sh\n# f\u00fcr\n")},
			[]string{"pre-nodeup a (off)", "same: nothing"}},
		{"a script with a letter that kops changes", "Node", []cloudinit.Part{script("00-a.sh", "#!/bin/sh\n# \u2192\n")},
			[]string{"pre-nodeup a", "differs: 00-a.sh is not the same with the hooks:\n  -# \\u2192\n  +# \u2192", "same: nothing"}},
		{"a line with a secret is not shown", "Node", []cloudinit.Part{script("00-a.sh", "#!/bin/sh\nPASSWORD=abcdefgh12345 # \u2192\n")},
			[]string{"pre-nodeup a", "differs: 00-a.sh is not the same with the hooks:\n  -(a line with a secret)\n  +(a line with a secret)", "same: nothing"}},
		{"a script without #!", "Node", []cloudinit.Part{script("00-a.sh", "echo a\n"), script("00-b.sh", "#!/bin/sh\n")},
			[]string{"pre-nodeup b", "stays: 00-a.sh: it does not run today: it does not begin with #!, so the kernel does not know what runs it", "same: 1 script"}},
		{"scripts of the same name", "Node", []cloudinit.Part{script("00-a.sh", "#!/bin/sh\necho 1\n"), script("00 a.sh", "#!/bin/sh\necho 2\n"), script("00-a.sh", "#!/bin/sh\necho 3\n")},
			[]string{"pre-nodeup a", "pre-nodeup a-2", "pre-nodeup a-3 (off)", "same: 2 scripts in their order"}},
		{"a script that nodeup.sh may need", "Node", []cloudinit.Part{script("00-ca.sh", "#!/bin/sh\nupdate-ca-certificates\n"), script("zz.sh", "#!/bin/sh\niptables -L\n")},
			[]string{"pre-nodeup ca", "post-nodeup zz", "differs: zz.sh runs beside nodeup today; as a hook it runs when nodeup has succeeded",
				"differs: 00-ca.sh is about ca-certificates: it comes before nodeup.sh downloads nodeup today, and after that with the hooks; if the download needs it, let a script of phase boot do it", "same: 2 scripts in their order"}},
		{"a script for nodeup's unit", "Node", []cloudinit.Part{script("00-gate.sh", "#!/bin/sh\nmkdir -p /etc/systemd/system/kops-configuration.service.d\n")},
			[]string{"stays: 00-gate.sh: it is about kops-configuration.service, whose start waits for hooks already when they run", "same: 1 script"}},
		{"a drop-in for nodeup's unit", "Node", []cloudinit.Part{config("a.yaml", "write_files:\n- {path: /etc/systemd/system/kops-configuration.service.d/x.conf, content: x}\n")},
			[]string{"stays: a.yaml: /etc/systemd/system/kops-configuration.service.d/x.conf is there before systemd reads it today; files of hooks are placed later", "same: 1 file"}},
		{"CRLF", "Node", []cloudinit.Part{script("00-a.sh", "#!/bin/sh\r\necho a\r\n")},
			[]string{"pre-nodeup a", "same: 1 script"}},
		{"an archive", "Node", []cloudinit.Part{{Name: "all", Type: cloudinit.TypeArchive, Content: "#cloud-config-archive\n- type: text/x-shellscript\n  filename: 00-x.sh\n  content: |\n    #!/bin/sh\n    echo x\n- type: text/cloud-config\n  content: |\n    packages: [jq]\n"}},
			[]string{"pre-nodeup all", "pre-nodeup all-2", "same: 1 script, 1 key of cloud-config"}},
		{"a part that replaces nodeup.sh", "Node", []cloudinit.Part{script("nodeup.sh", "#!/bin/sh\n"), script("00-a.sh", "#!/bin/sh\n")},
			[]string{"stays: nodeup.sh: nodeup.sh replaces kops' own nodeup.sh, so that neither nodeup nor hooks would run",
				"stays: 00-a.sh: nodeup.sh replaces kops' own nodeup.sh, so that neither nodeup nor hooks would run", "same: 2 scripts in their order"}},
		{"an include", "Node", []cloudinit.Part{{Name: "i", Type: "text/x-include-url", Content: "#include\nhttp://example.com/x\n"}, script("00-a.sh", "#!/bin/sh\n")},
			[]string{"pre-nodeup a", "stays: i: what becomes of it is decided on the node: it includes what its URLs serve when the node boots", "same: 1 script"}},
		{"a cloud-config that nobody can read stays, and no other for it", "Node", []cloudinit.Part{config("a.yaml", "\tx: y\n"), config("b.yaml", "packages: [jq]\n")},
			[]string{"pre-nodeup b", "stays: a.yaml: no node gets it today: it is no YAML that cloud-init can read: found tab, which cannot begin anything here", "same: 1 key of cloud-config"}},
		{"a file that is fetched", "Node", []cloudinit.Part{config("a.yaml", "write_files:\n- {path: /etc/x, source: {uri: 'http://example.com/x'}}\nruncmd: [echo a]\n"), script("00-b.sh", "#!/bin/sh\n")},
			[]string{"pre-nodeup b", "stays: a.yaml: /etc/x is fetched from http://example.com/x without a checksum: make it a hook's file with url and sha256", "same: 2 scripts in their order, 1 file"}},
		{"a bastion", "Bastion", []cloudinit.Part{script("00-a.sh", "#!/bin/sh\n"), config("b.yaml", "bootcmd: [echo b]\n")},
			[]string{"boot b", "stays: 00-a.sh: a bastion has no kubelet: its hooks are of phase boot, which runs on every boot", "same: 2 scripts in their order"}},
		{"values that YAML reads in its own ways", "Node", []cloudinit.Part{config("a.yaml", "a:\n  b: yes\n  c: 0755\n  d: 1:30\n  e: 'yes'\n  f: 1e3\n  g: ~\n  h: []\n  i: {}\n  j: \"\\u2192\"\n  k: 2001-01-01x\n  l: ''\n  m: |\n    x\n     y\n  n: -.inf\n  '5': \"a: b\"\n  'on': on\n- x\n"), config("b.yaml", "a:\n  b: yes\n  c: 0755\n  d: 1:30\n  e: 'yes'\n  f: 1e3\n  g: ~\n  h: []\n  i: {}\n  j: \"\\u2192\"\n  k: 2001-01-01x\n  l: ''\n  m: |\n    x\n     y\n  n: -.inf\n  '5': \"a: b\"\n  'on': on\n  o: [[a, {b: c}], [[]], '#', 'a #b']\n")},
			[]string{"pre-nodeup b", "stays: a.yaml: no node gets it today: it is no YAML that cloud-init can read: expected the end of the block, found '-'", "same: 1 key of cloud-config"}},
		{"a date", "Node", []cloudinit.Part{config("a.yaml", "a: {b: 2001-01-01}\n")},
			[]string{"stays: a.yaml: a.b is a date, which cannot be passed through", "same: 1 key of cloud-config"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, adoptParts(t, c.role, c.parts).lines()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestComments holds what stands beside hooks in the spec.
func TestComments(t *testing.T) {
	for _, c := range []struct {
		name string
		part cloudinit.Part
		want string
	}{
		{"a key that is there twice further down", config("a.yaml", "ntp: {servers: [a], servers: [b]}\n"), "# ntp.servers is written twice: the last one counts, not ['a']."},
		{"a name that would end the comment", script("00-a\u2028\"x: y.sh", "#!/bin/sh\n"), "  # From 00-a \"x: y.sh.\n"},
		{"the older recipe", config("a.yaml", "bootcmd:\n- echo 'ExecStartPre=/x' >> /etc/systemd/system/kops-configuration.service.d/x.conf\n"), "# Today nodeup waits for it, but after a reboot the kubelet does not (docs/older-recipe.md)."},
		{"a script beside nodeup", script("tune.sh", "#!/bin/sh\n"), "# Today it runs beside nodeup, and nothing waits for it."},
		{"what no node gets", script("00-a.sh", "#!/bin/sh\n# \u00fc\n"), "# No node runs it today: a character below U+0100 that is not ASCII"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out := adoptParts(t, "Node", []cloudinit.Part{c.part}); !strings.Contains(out.spec, c.want) {
				t.Errorf("no %q in\n%s", c.want, out.spec)
			}
		})
	}
}

// documented is the recipe that kops' documentation shows, with its two mistakes: a YAML comment cuts the line with the
// timeout, and systemd is called for systemctl. Its tabs, which YAML does not take, are spaces here.
const documented = `#cloud-config
write_files:
  - path: /var/cache/custom-install/log-time.sh
    permissions: "0755"
    content: |
      #!/bin/bash
      date -R | tee /root/output.txt
bootcmd:
  - mkdir -p /lib/systemd/system/kops-configuration.service.d
  - echo [Service] >> /lib/systemd/system/kops-configuration.service.d/custom-setup.conf
  - echo ExecStartPre=/bin/bash /var/cache/custom-install/log-time.sh >> /lib/systemd/system/kops-configuration.service.d/custom-setup.conf
  - echo ExecStopPost=/bin/touch /var/cache/kubernetes-install/nodeup_script_launch_done >> /lib/systemd/system/kops-configuration.service.d/custom-setup.conf
  - echo TimeoutSec=infinity # for scripts that install a lot >> /lib/systemd/system/kops-configuration.service.d/custom-setup.conf
  - systemd daemon-reload
`

// TestDocumentedRecipe: hooks do what its author meant, before nodeup and after it, once on each boot.
func TestDocumentedRecipe(t *testing.T) {
	a := adoptParts(t, "Node", []cloudinit.Part{{Name: "custom-install-sequence.txt", Type: cloudinit.TypeCloudConfig, Content: documented}})
	var got []string
	for _, h := range a.hooks {
		how := "once"
		if h.EveryBoot {
			how = "every boot"
		}
		if h.Continue {
			how += ", continue"
		}
		content := ""
		for _, s := range h.Scripts {
			content = string(s.Content)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %d files\n%s", h.Phase, h.Name, how, h.Timeout, len(h.Files), content))
	}
	want := []string{
		"pre-nodeup custom-install-sequence-before-nodeup every boot 24h0m0s 0 files\n#!/bin/sh\nset -e\n/bin/bash /var/cache/custom-install/log-time.sh\n",
		"pre-nodeup custom-install-sequence once, continue 20m0s 1 files\n",
		"post-nodeup custom-install-sequence-after-nodeup every boot, continue 24h0m0s 0 files\n#!/bin/sh\nset -e\nmkdir -p /var/cache/kubernetes-install\n/bin/touch /var/cache/kubernetes-install/nodeup_script_launch_done\n",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, a.spec)
	}
	for _, text := range []string{"docs/older-recipe.md", "TimeoutSec=infinity is on no node today", "once on each boot"} {
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(a.spec, "#", "")), " "), text) {
			t.Errorf("the spec does not say %q:\n%s", text, a.spec)
		}
	}
	if strings.Contains(a.spec, "joins all the same") || strings.Contains(a.spec, "systemd daemon-reload") {
		t.Errorf("the spec says what is not so:\n%s", a.spec)
	}
}

func TestRecipesBesideOtherCommands(t *testing.T) {
	const dir = "/etc/systemd/system/kops-configuration.service.d"
	config := func(name string, items ...string) cloudinit.Part {
		return cloudinit.Part{Name: name, Type: cloudinit.TypeCloudConfig, Content: "#cloud-config\nbootcmd:\n- " + strings.Join(items, "\n- ") + "\n"}
	}
	recipe := []string{"mkdir -p " + dir, `"printf '[Service]\\nExecStartPre=/opt/a\\nTimeoutSec=30min\\n' > ` + dir + `/a.conf"`}
	for _, c := range []struct {
		name  string
		parts []cloudinit.Part
		want  []string
	}{
		{"alone", []cloudinit.Part{config("a.yaml", recipe...)}, []string{"pre-nodeup 30m0s"}},
		{"with other commands", []cloudinit.Part{config("a.yaml", append(recipe, "modprobe x")...)}, []string{"boot 20m0s", "pre-nodeup 30m0s"}},
		{"behind scripts", []cloudinit.Part{config("a.yaml", recipe...), {Name: "00-b.sh", Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\n"}}, []string{"pre-nodeup 24h0m0s", "pre-nodeup 30m0s"}},
		{"what only systemd knows", []cloudinit.Part{config("a.yaml", "echo 'ExecStartPre=/opt/a %n' >> "+dir+"/a.conf")}, []string{"boot 20m0s"}},
		{"another setting", []cloudinit.Part{config("a.yaml", append(recipe, "echo Environment=A=b >> "+dir+"/a.conf")...)}, []string{"boot 20m0s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, h := range adoptParts(t, "Node", c.parts).hooks {
				got = append(got, fmt.Sprintf("%s %s", h.Phase, h.Timeout))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestScriptsThatStartWhatWaits: as a hook before nodeup, such a script would wait for what waits for it.
func TestScriptsThatStartWhatWaits(t *testing.T) {
	const script = "#!/bin/sh\nsystemctl restart kubelet\n"
	before := adoptParts(t, "Node", []cloudinit.Part{{Name: "00-a.sh", Type: cloudinit.TypeShellScript, Content: script}})
	if want := "it starts kubelet.service, which waits for hooks of phase pre-nodeup"; before.Kept[0] != want {
		t.Errorf("kept for %q, want %q", before.Kept[0], want)
	}
	for what, parts := range map[string]cloudinit.Part{
		"script": {Name: "zz-a.sh", Type: cloudinit.TypeShellScript, Content: script},
		"runcmd": {Name: "a.yaml", Type: cloudinit.TypeCloudConfig, Content: "#cloud-config\nruncmd:\n- [systemctl, restart, containerd]\n"},
	} {
		after := adoptParts(t, "Node", []cloudinit.Part{parts})
		if strings.Contains(after.spec, "block") || !strings.Contains(after.spec, "Leave it in this phase") {
			t.Errorf("%s: the advice is wrong:\n%s", what, after.spec)
		}
	}
}
