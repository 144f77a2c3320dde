//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/nodestatus"
)

// A node whose user data was adopted does what it did before, in the same order, and has the same files.
func TestAdoptedUserDataDoesWhatItDid(t *testing.T) {
	theirs := []kops.UserData{
		script("00-first.sh", "/trial/bin/event theirs-first $(cat /etc/theirs) $(tail -n 1 /etc/list)\n"),
		script("10-fails.sh", "/trial/bin/event theirs-fails\nexit 3\n"),
		cloudConfig("config.yaml", `bootcmd:
- /trial/bin/event theirs-bootcmd
- [/trial/bin/event, theirs-bootcmd, "it's"]
groups: [theirs]
write_files:
- path: /etc/theirs
  content: hello
  permissions: "0640"
  owner: root:adm
- path: /etc/list
  content: |
    one
- path: /etc/list
  content: |
    two
  append: true
- path: /etc/motd
  content: |
    appended
  append: true
- path: /opt/deep/down/bytes
  content: !!binary AP8=
  permissions: "0755"
runcmd:
- /trial/bin/event theirs-runcmd
`),
		boothook("hook.sh", "/trial/bin/event theirs-boothook\n"),
		script("zz-last.sh", "/trial/bin/event theirs-last\n"),
	}
	adopted := adoptParts(t, theirs)
	for _, p := range adopted {
		if !strings.HasPrefix(p.Name, instancegroups.Prefix) {
			t.Errorf("part %s is not adopted", p.Name)
		}
	}
	onSuites(t, func(t *testing.T, suite string) {
		before := newNode(t, suite, userData(t, theirs...))
		after := newNode(t, suite, userData(t, adopted...))
		early := []string{"theirs-boothook", "theirs-bootcmd", "theirs-bootcmd it's"}
		first := append(append([]string{}, early...), "theirs-first hello two", "theirs-fails", "nodeup-start")
		before.boot(boot.Options{}).joins().ordered(first...)
		after.boot(boot.Options{}).joins().ordered(append(first, "nodeup-end", "theirs-runcmd", "theirs-last")...)
		for _, n := range []*node{before, after} {
			n.hasFile("/etc/theirs", []byte("hello"), 0o640, 0, 4)
			n.hasFile("/etc/list", []byte("one\ntwo\n"), 0o644, 0, 0)
			n.hasFile("/opt/deep/down/bytes", []byte{0, 0xff}, 0o755, 0, 0)
			if groups, err := n.ReadFile("/etc/group"); err != nil || !strings.Contains(string(groups), "\ntheirs:") {
				t.Errorf("cloud-init has made no group: %v", err)
			}
		}
		motd := [2][]byte{}
		for i, n := range []*node{before, after} {
			var err error
			if motd[i], err = n.ReadFile("/etc/motd"); err != nil {
				t.Error(err)
			}
		}
		if string(motd[0]) != string(motd[1]) || !strings.HasSuffix(string(motd[0]), "appended\n") {
			t.Errorf("/etc/motd is %q without hooks, and %q with them", motd[0], motd[1])
		}
		before.boot(boot.Options{}).joins().ordered(early...).never("theirs-first hello two", "theirs-runcmd")
		after.boot(boot.Options{}).joins().ordered(early...).never("theirs-first hello two", "theirs-runcmd")
	})
}

// documentedRecipe is what kops' documentation shows, with a YAML comment that cuts a command and systemd for systemctl.
const documentedRecipe = `write_files:
  - path: /var/cache/custom-install/log-time.sh
    permissions: "0755"
    content: |
      #!/bin/bash
      /trial/bin/event log-time
      date -R | tee /root/output.txt
bootcmd:
  - mkdir -p /lib/systemd/system/kops-configuration.service.d
  - echo [Service] >> /lib/systemd/system/kops-configuration.service.d/custom-setup.conf
  - echo ExecStartPre=/bin/bash /var/cache/custom-install/log-time.sh >> /lib/systemd/system/kops-configuration.service.d/custom-setup.conf
  - echo ExecStopPost=/bin/touch /var/cache/kubernetes-install/nodeup_script_launch_done >> /lib/systemd/system/kops-configuration.service.d/custom-setup.conf
  - echo TimeoutSec=infinity # for scripts that install a lot >> /lib/systemd/system/kops-configuration.service.d/custom-setup.conf
  - systemd daemon-reload
`

// The recipe of kops' documentation, adopted, does what its author meant: before nodeup, a marker afterwards, once on each
// boot. The kubelet waits on each boot as well.
func TestAdoptedDocumentedRecipe(t *testing.T) {
	adopted := adoptParts(t, []kops.UserData{cloudConfig("custom-install-sequence.txt", documentedRecipe)})
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, adopted...))
		if err := n.SetNodeup(boot.Nodeup{Script: "if mv /var/cache/kubernetes-install/nodeup_script_launch_done /root/mark; then /trial/bin/event marked; fi"}); err != nil {
			t.Fatal(err)
		}
		for number := range 2 {
			r := n.boot(boot.Options{}).joins().happens("log-time", "nodeup-start", "nodeup-end")
			if got := r.Timeline.Count("marked"); got != number {
				t.Errorf("boot %d: nodeup found the mark of %d runs, want %d", number+1, got, number)
			}
			r.ordered("log-time", "kubelet-start")
			n.hasFile("/var/cache/kubernetes-install/nodeup_script_launch_done", nil, 0o644, 0, 0)
			if _, err := n.ReadFile("/root/output.txt"); err != nil {
				t.Error(err)
			}
			n.hasStatus("custom-install-sequence-before-nodeup", nodestatus.Succeeded, "")
			n.hasStatus("custom-install-sequence-after-nodeup", nodestatus.Succeeded, "")
		}
	})
}

// adoptParts puts parts into a manifest, as kops prints them, has them adopted, and returns what the manifest holds then.
func adoptParts(t *testing.T, parts []kops.UserData) []kops.UserData {
	t.Helper()
	var list []map[string]string
	for _, p := range parts {
		list = append(list, map[string]string{"name": p.Name, "type": p.Type, "content": p.Content})
	}
	text, err := yaml.Marshal(map[string]any{"additionalUserData": list})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ig := filepath.Join(dir, "ig.yaml")
	if err := os.WriteFile(ig, []byte(manifest+indent(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := kopshook(t, "adopt", "-o", filepath.Join(dir, "hooks.yaml"), "-w", ig); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	data, err := os.ReadFile(ig)
	if err != nil {
		t.Fatal(err)
	}
	file, err := instancegroups.Parse(ig, data)
	if err != nil {
		t.Fatal(err)
	}
	return file.Groups()[0].UserData()
}
