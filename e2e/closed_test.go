//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/boot"
)

// quick are two hooks that do nothing, one in each phase that gates.
const quick = `
- {name: pre, script: "#!/bin/sh\n/trial/bin/event pre"}
- {name: early, phase: pre-kubelet, script: "#!/bin/sh\n/trial/bin/event early"}
`

// Issue case 7: whatever keeps ours from being set up, no kubelet starts. Each fault has a control run: the same user
// data without the fault, which joins.
func TestFailsClosed(t *testing.T) {
	ours := func(t *testing.T) []kops.UserData { return parts(t, spec("quick", quick)) }
	// broken returns ours with the content of the part called name changed.
	broken := func(t *testing.T, name string, change func(string) string) []kops.UserData {
		list := ours(t)
		for i := range list {
			if before := list[i].Content; strings.Contains(list[i].Name, name) {
				if list[i].Content = change(before); list[i].Content == before {
					t.Fatalf("the part called %s has nothing to break", name)
				}
				return list
			}
		}
		t.Fatalf("there is no part called %s", name)
		return nil
	}
	notYAML := func(s string) string { return strings.Replace(s, "write_files:", "write_files: {{{", 1) }
	tests := []struct {
		name           string
		fault, control func(t *testing.T) []kops.UserData
		shows          string // an event that shows that the fault happened
	}{
		{
			name:    "a hook's part is not YAML",
			fault:   func(t *testing.T) []kops.UserData { return broken(t, "-pre.", notYAML) },
			control: ours,
		},
		{
			name: "the runner's part is no script",
			fault: func(t *testing.T) []kops.UserData {
				return broken(t, "-001-", func(s string) string { return strings.TrimPrefix(s, "#!") })
			},
			control: ours,
		},
		{
			name: "a part behind ours replaces write_files",
			fault: func(t *testing.T) []kops.UserData {
				return append(ours(t), cloudConfig("theirs.yaml", "write_files:\n- {path: /etc/theirs, content: hi}\nbootcmd:\n- /trial/bin/event fault\n"))
			},
			control: func(t *testing.T) []kops.UserData {
				return append(ours(t), cloudConfig("theirs.yaml", merging+"write_files:\n- {path: /etc/theirs, content: hi}\nbootcmd:\n- /trial/bin/event fault\n"))
			},
			shows: "fault",
		},
		{
			name: "an earlier write_files entry raises",
			fault: func(t *testing.T) []kops.UserData {
				return join([]kops.UserData{cloudConfig("theirs.yaml", "write_files:\n- {path: /etc/hostname/x, content: hi}\nbootcmd:\n- /trial/bin/event fault\n")}, ours(t))
			},
			control: func(t *testing.T) []kops.UserData {
				return join([]kops.UserData{cloudConfig("theirs.yaml", "write_files:\n- {path: /etc/x, content: hi}\nbootcmd:\n- /trial/bin/event fault\n")}, ours(t))
			},
			shows: "fault",
		},
		{
			name: "a boothook of theirs makes /etc read-only",
			fault: func(t *testing.T) []kops.UserData {
				return join([]kops.UserData{boothook("theirs.sh", "mount --bind /etc /etc && mount -o remount,bind,ro /etc && /trial/bin/event fault\n")}, ours(t))
			},
			control: func(t *testing.T) []kops.UserData {
				return join([]kops.UserData{boothook("theirs.sh", "mount --bind /etc /etc && /trial/bin/event fault\n")}, ours(t))
			},
			shows: "fault",
		},
		{
			name: "a boothook of theirs fills the disk",
			fault: func(t *testing.T) []kops.UserData {
				return join([]kops.UserData{boothook("theirs.sh", "dd if=/dev/zero of=/full bs=1M 2>/dev/null\ndd if=/dev/zero of=/full2 bs=1 2>/dev/null\n/trial/bin/event fault\n")}, ours(t))
			},
			control: func(t *testing.T) []kops.UserData {
				return join([]kops.UserData{boothook("theirs.sh", "dd if=/dev/zero of=/full bs=1M count=1 2>/dev/null\n/trial/bin/event fault\n")}, ours(t))
			},
			shows: "fault",
		},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			onSuites(t, func(t *testing.T, suite string) {
				const disk = 64 << 20
				n := newNodeOf(t, boot.Config{Suite: suite, UserData: userData(t, test.fault(t)...), DiskSize: disk})
				r := n.boot(boot.Options{}).blocks()
				control := newNodeOf(t, boot.Config{Suite: suite, UserData: userData(t, test.control(t)...), DiskSize: disk})
				c := control.boot(boot.Options{}).joins().fails().happens("pre", "kubelet-start")
				if test.shows != "" {
					r.happens(test.shows)
					c.happens(test.shows)
				}
			})
		})
	}
}

// merging is what keeps a cloud-config part from replacing the lists of those before it.
const merging = "merge_how: \"list(append)+dict(no_replace,recurse_list)+str()\"\n"

// Issue case 7: a bootcmd of theirs that says "exit" ends all bootcmd behind it. The gate is none, so it holds, and the
// hooks gate as ever; a boot hook of ours runs behind theirs only when theirs does not exit.
func TestTheirBootcmdExits(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		failing := spec("failing", `
- {name: early, phase: boot, script: "#!/bin/sh\n/trial/bin/event early"}
- {name: pre, attempts: 1, script: "#!/bin/sh\n/trial/bin/event pre\nexit 1"}
`)
		exits := cloudConfig("theirs.yaml", "bootcmd:\n- /trial/bin/event theirs\n- exit 1\n")
		stays := cloudConfig("theirs.yaml", "bootcmd:\n- /trial/bin/event theirs\n")
		newNode(t, suite, userData(t, append([]kops.UserData{exits}, parts(t, failing)...)...)).
			boot(boot.Options{}).blocks().happens("theirs", "pre").never("early")
		fixed := strings.Replace(failing, `\nexit 1`, "", 1)
		newNode(t, suite, userData(t, append([]kops.UserData{stays}, parts(t, fixed)...)...)).
			boot(boot.Options{}).joins().happens("theirs", "early", "pre", "kubelet-start")
	})
}

// Issue case 7: the disk runs full after the node joined once. After a reboot kops' own units would start the kubelet.
func TestDiskFullAfterNodeupRanOnce(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		data := userData(t, parts(t, spec("quick", strings.ReplaceAll(quick, "name:", "run: every-boot, name:")))...)
		const fill = "dd if=/dev/zero of=/full bs=1M 2>/dev/null; dd if=/dev/zero of=/full2 bs=1 2>/dev/null; df / --output=avail | tail -1"
		const disk = 96 << 20
		n := newNodeOf(t, boot.Config{Suite: suite, UserData: data, DiskSize: disk})
		r := n.boot(boot.Options{Scenario: fill, End: boot.Cut}).joins()
		if strings.TrimSpace(r.Scenario) != "0" {
			t.Fatalf("the disk is not full: %s", r.Scenario)
		}
		n.boot(boot.Options{}).blocks()

		control := newNodeOf(t, boot.Config{Suite: suite, UserData: data, DiskSize: disk})
		control.boot(boot.Options{Scenario: fill + "; rm /full /full2", End: boot.Cut}).joins()
		control.boot(boot.Options{}).joins().happens("pre", "kubelet-start")

		// without kopshook the full disk does not keep the kubelet away
		bare := newNodeOf(t, boot.Config{Suite: suite, UserData: userData(t), DiskSize: disk})
		bare.boot(boot.Options{Scenario: fill, End: boot.Cut}).joins()
		bare.boot(boot.Options{}).joins()
	})
}
