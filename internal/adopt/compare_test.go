package adopt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/adopt"
	"kopshook.dev/kopshook/internal/cloudinit"
)

// TestProofFails changes what a spec would do: each change must be noticed.
func TestProofFails(t *testing.T) {
	parts := []cloudinit.Part{
		script("00-a.sh", "#!/bin/sh\necho a\n"),
		script("10-b.sh", "#!/bin/sh\necho b\n"),
		config("c.yaml", "ntp: {servers: [x]}\nbootcmd: [echo c]\nruncmd: [echo d]\nwrite_files:\n- {path: /etc/x, content: x, permissions: '0600', owner: 'root:adm'}\n- {path: /etc/hosts, content: h, append: true}\n"),
	}
	find := func(hooks []generator.Hook, name string) *generator.Hook {
		return &hooks[slices.IndexFunc(hooks, func(h generator.Hook) bool { return h.Name == name })]
	}
	for _, c := range []struct {
		name   string
		change func(hooks []generator.Hook) []generator.Hook
		says   string // "" is that nothing is broken
	}{
		{"nothing", func(h []generator.Hook) []generator.Hook { return h }, ""},
		{"a hook is missing", func(h []generator.Hook) []generator.Hook {
			return slices.DeleteFunc(h, func(h generator.Hook) bool { return h.Name == "a" })
		}, "00-a.sh runs today, and not with the hooks"},
		{"bootcmd is missing", func(h []generator.Hook) []generator.Hook {
			return slices.DeleteFunc(h, func(h generator.Hook) bool { return h.Name == "c-bootcmd" })
		}, "bootcmd runs today, and not with the hooks"},
		{"there is one more hook", func(h []generator.Hook) []generator.Hook {
			return append(h, generator.Hook{Name: "z", Phase: generator.PreNodeup, Attempts: 1, Timeout: time.Second, Scripts: []generator.Script{{Name: "script", Content: []byte("#!/bin/sh\n")}}})
		}, "hook z runs with the hooks, and not today"},
		{"a script is another", func(h []generator.Hook) []generator.Hook {
			find(h, "b").Scripts = []generator.Script{{Name: "script", Content: []byte("#!/bin/sh\necho B\n")}}
			return h
		}, "10-b.sh runs today, and not with the hooks"},
		{"a script runs on every boot", func(h []generator.Hook) []generator.Hook { find(h, "b").EveryBoot = true; return h }, "10-b.sh runs on every boot with the hooks, and once today"},
		{"a file's mode", func(h []generator.Hook) []generator.Hook { find(h, "c").Files[0].Mode = 0o644; return h }, "/etc/x has mode 0600 today, and 0644 with the hooks"},
		{"a file's owner", func(h []generator.Hook) []generator.Hook { find(h, "c").Files[0].Owner = "root:root"; return h }, "/etc/x belongs to root:adm today, and to root:root with the hooks"},
		{"a file's content", func(h []generator.Hook) []generator.Hook { find(h, "c").Files[0].Content = []byte("y"); return h }, "/etc/x holds something else with the hooks"},
		{"a file's place", func(h []generator.Hook) []generator.Hook { find(h, "c").Files[0].Path = "/etc/y"; return h }, "/etc/x is written today, and not with the hooks"},
		{"what is appended", func(h []generator.Hook) []generator.Hook {
			return slices.DeleteFunc(h, func(h generator.Hook) bool { return h.Name == "c-append" })
		}, "write_files appends to /etc/hosts today, and nothing does with the hooks"},
		{"cloud-config", func(h []generator.Hook) []generator.Hook { find(h, "c").CloudConfig = nil; return h }, "cloud-config has ntp today, and not with the hooks"},
		{"a value of cloud-config", func(h []generator.Hook) []generator.Hook {
			var n yaml.Node
			if err := yaml.Unmarshal([]byte("ntp: {servers: [y]}"), &n); err != nil {
				t.Fatal(err)
			}
			find(h, "c").CloudConfig = n.Content[0]
			return h
		}, "ntp of cloud-config is {'servers': ['x']} today, and {'servers': ['y']} with the hooks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := adoptParts(t, "Node", parts)
			proof := out.Compare(thenOf(t, out.Adopted, c.change(out.hooks)))
			if c.says == "" {
				for _, b := range proof.Broken {
					t.Error(b)
				}
				return
			}
			if !slices.ContainsFunc(proof.Broken, func(b string) bool { return strings.HasPrefix(b, c.says) }) {
				t.Errorf("%q is not among %q", c.says, proof.Broken)
			}
		})
	}
	t.Run("hooks that a part which stays takes away", func(t *testing.T) {
		out := adoptParts(t, "Node", parts)
		then := thenOf(t, out.Adopted, out.hooks)
		for i := range then.Parts {
			then.Parts[i].Content = strings.Replace(then.Parts[i].Content, "\nmerge_how:", "\nx_merge_how:", 1)
		}
		if got := out.Compare(then).Broken; !slices.Contains(got, "the script of hook a does not arrive as it is") {
			t.Errorf("%q", got)
		}
	})
}

// TestDifferencesAreSaid holds what is no mistake, but to be known.
func TestDifferencesAreSaid(t *testing.T) {
	out := adoptParts(t, "Node", []cloudinit.Part{
		script("00-lib.sh", "#!/bin/sh\necho lib\n"),
		script("10-use.sh", "#!/bin/sh\n. /var/lib/cloud/instance/scripts/00-lib.sh; echo\n"),
		script("20-stays.sh", "#!bash\n"),
	})
	want := []string{
		"20-stays.sh runs after 10-use.sh today, and before it with the hooks",
		"10-use.sh names /var/lib/cloud/instance/scripts/00-lib.sh, where hooks are not: they are in /opt/kopshook/hooks",
	}
	if !slices.Equal(out.proof.Differences, want) {
		t.Errorf("got %q, want %q", out.proof.Differences, want)
	}
}

func thenOf(t *testing.T, a *adopt.Adopted, hooks []generator.Hook) adopt.Then {
	t.Helper()
	ig := generator.InstanceGroup{Cluster: a.Cluster, Name: a.Name, Role: a.Role}
	parts, err := generator.Generate(ig, "v1", hooks)
	if err != nil {
		t.Fatal(err)
	}
	files, err := generator.Files(ig, "v1", hooks)
	if err != nil {
		t.Fatal(err)
	}
	return adopt.Then{Hooks: hooks, Files: files, Parts: parts}
}

// TestFilesMoveBehindOtherModules: hooks place files when all of cloud-init's modules have run.
func TestFilesMoveBehindOtherModules(t *testing.T) {
	const says = "written before cloud-init does %s today, and after it with the hooks"
	for _, c := range []struct {
		name, config string
		want         []string
	}{
		{"a file of the init stage", "write_files: [{path: /etc/krb5.conf, content: x}]\npackages: [jq]\n",
			[]string{"/etc/krb5.conf: " + fmt.Sprintf(says, "packages")}},
		{"a file that is appended to", "write_files: [{path: /etc/krb5.conf, append: true, content: \"x\\n\"}]\npackage_update: true\npackages: [jq]\n",
			[]string{"/etc/krb5.conf: " + fmt.Sprintf(says, "package_update, packages")}},
		{"a deferred file comes after packages today, too", "write_files: [{path: /etc/krb5.conf, defer: true, content: x}]\npackages: [jq]\npackage_upgrade: true\nntp: {servers: [x]}\n", nil},
		{"a deferred file comes before what is later", "write_files: [{path: /etc/p, defer: true, content: x}]\npackages: [jq]\npuppet: {install: true}\n",
			[]string{"/etc/p: " + fmt.Sprintf(says, "puppet")}},
		{"files of both stages", "write_files: [{path: /etc/b, defer: true, content: x}, {path: /etc/a, content: x}, {path: /etc/c, content: x}]\npackages: [jq]\n",
			[]string{"/etc/a, /etc/c: " + fmt.Sprintf(says, "packages")}},
		{"a key that comes before files", "write_files: [{path: /etc/a, content: x}]\nrandom_seed: {data: x}\n", nil},
		{"a key of no known module", "write_files: [{path: /etc/a, content: x}]\nbyobu: true\n",
			[]string{"/etc/a: " + fmt.Sprintf(says, "byobu")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := adoptParts(t, "Node", []cloudinit.Part{config("a.yaml", c.config)})
			if !slices.Equal(out.proof.Differences, c.want) {
				t.Errorf("got %q, want %q", out.proof.Differences, c.want)
			}
		})
	}
}

func TestFilesMoveBehindScriptsThatStay(t *testing.T) {
	about := "#!/bin/sh\n: kops-configuration\n" // such a script stays
	out := adoptParts(t, "Node", []cloudinit.Part{
		script("00-stays.sh", about), script("01-taken.sh", "#!/bin/sh\n"), script("zz-beside.sh", "#!bash\n"),
		config("a.yaml", "write_files: [{path: /etc/a, content: x}, {path: /etc/b, content: x, append: true}]\npackages: [jq]\n"),
	})
	want := []string{"/etc/a, /etc/b: written before cloud-init does packages, 00-stays.sh runs today, and after it with the hooks"}
	if !slices.Equal(out.proof.Differences, want) {
		t.Errorf("got %q, want %q", out.proof.Differences, want)
	}
}
