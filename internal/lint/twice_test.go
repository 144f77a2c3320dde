package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What an adopted part that is still there does, the hook does, too.
func TestDoneTwice(t *testing.T) {
	hook := func(fields ...string) string {
		return "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: a}\nspec:\n  selector: {}\n  hooks:\n  - name: a\n    " +
			strings.Join(fields, "\n    ") + "\n---\n"
	}
	script := func(lines ...string) string {
		return "script: |\n      #!/bin/sh\n      set -e\n      " + strings.Join(lines, "\n      ")
	}
	config := func(lines ...string) string {
		return groupWith(ubuntu, "") + "  additionalUserData:\n  - name: a.yaml\n    type: text/cloud-config\n    content: |\n      #cloud-config\n      " + strings.Join(lines, "\n      ") + "\n"
	}
	part := func(lines ...string) string { return groupWith(ubuntu, "", lines...) }
	file := `files: [{path: /etc/agent.conf, content: "a"}]`
	for _, c := range []struct {
		name, text string
		want       []string // what both do
	}{
		{"the script", hook(script("install-agent --all")) + part("set -e", "install-agent --all"), []string{"install-agent --all"}},
		{"the script, edited", hook(script("install-agent --all", "systemctl start agent", "agent --verify")) + part("install-agent --all", "systemctl start agent"), []string{"install-agent --all"}},
		{"one command of three", hook(script("install-agent --all")) + part("install-agent --all", "modprobe a", "modprobe b"), nil},
		{"what every script does", hook(script("apt-get update", "systemctl daemon-reload")) + part("apt-get update", "systemctl daemon-reload"), nil},
		{"other commands", hook(script("install-agent --all")) + part("install-agent --none"), nil},
		{"runcmd", hook(script("install-agent --all")) + config("runcmd:", "- [install-agent, --all]"), []string{"install-agent --all"}},
		{"bootcmd, and a hook of phase boot", hook("phase: boot", script("install-agent --all")) + config("bootcmd:", "- install-agent --all"), []string{"install-agent --all"}},
		{"a file", hook(file) + config("write_files:", "- path: /etc/agent.conf", "  content: b"), []string{"/etc/agent.conf"}},
		{"a file, by a script", hook(script("echo a > /etc/agent.conf")) + part("echo b > /etc/agent.conf"), []string{"/etc/agent.conf"}},
		{"a drop-in", hook("dropIns: [{unit: a.service, content: \"[Service]\\n\"}]") + config("write_files:", "- path: /etc/systemd/system/a.service.d/a.conf", "  content: b"), nil},
		{"another file", hook(file) + config("write_files:", "- path: /etc/other.conf", "  content: b"), nil},
		{"the console", hook(script("echo a > /dev/console")) + part("echo a > /dev/console"), nil},
		{"an archive", strings.Replace(hook(script("install-agent --all")), "selector: {}", "selector: {}\n  archive: true", 1) + part("install-agent --all"), []string{"install-agent --all"}},
		{"a comment", hook(script("install-agent --all")) + part("install-agent --all # kopshook: ignore=KH093"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range lintExample(t, c.text) {
				if f.Code == "KH093" {
					_, what, _ := strings.Cut(f.Message, ", too: ")
					got = append(got, what)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
