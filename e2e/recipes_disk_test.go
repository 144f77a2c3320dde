//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"kopshook.dev/kopshook/internal/boot"
)

// Stand-ins for disks: the root disk, which is EBS, and two of instance storage. The array is the folder /srv/array:
// it is there when it was created, and assembled until the node goes down. Whatever touches a disk says so.
var disks = map[string]string{
	"/usr/local/bin/lsblk": `#!/bin/sh
sed 's/_/ /g' << 'END'
/dev/loop0   loop
/dev/nvme0n1 disk Amazon_Elastic_Block_Store
/dev/nvme1n1 disk Amazon_EC2_NVMe_Instance_Storage
/dev/nvme2n1 disk Amazon_EC2_NVMe_Instance_Storage
END
`,
	"/usr/local/sbin/wipefs": `#!/bin/sh
/trial/bin/event "looked at $2"
[ ! -e /srv/in-use ] || echo "0x0 ext4"
`,
	"/usr/local/sbin/blkid": `#!/bin/sh
[ "$5" = /dev/md/kopshook ] || exec /sbin/blkid "$@"
cat /srv/array/format
`,
	"/usr/local/bin/mount": `#!/bin/sh
[ "$3" != /dev/md/kopshook ] || { /trial/bin/event "mounted $2"; exec /bin/mount --bind /srv/array "$4"; }
exec /bin/mount "$@"
`,
}

const mdadm = `#!/bin/sh
case $1 in
--assemble) [ -d /srv/array ] || { echo "mdadm: No arrays found in config file or automatically" >&2; exit 2; } ;;
--create)
  shift 6
  /trial/bin/event "created $*"
  mkdir /srv/array
  ;;
esac
mkdir -p /dev/md
: > /dev/md/kopshook
`

const mkfs = `#!/bin/sh
/trial/bin/event "formatted $*"
echo xfs > /srv/array/format
`

func bootLocalNVMe(t *testing.T, suite string) {
	s := standIns{files: disks, archive: []deb{
		{name: "mdadm", version: "4.2", files: map[string]string{"usr/sbin/mdadm": mdadm}},
		{name: "xfsprogs", version: "6.1", files: map[string]string{"usr/sbin/mkfs.xfs": mkfs}},
	}}
	n := recipeNode(t, suite, "local-nvme", s)
	const created = "created --level=0 --raid-devices=2 /dev/nvme1n1 /dev/nvme2n1"
	keep := boot.Options{Scenario: "echo kept >> /var/lib/kubelet/mark; wc -l < /srv/array/kubelet/mark"}
	first := n.boot(keep).joins().fails()
	first.ordered("installed mdadm", "looked at /dev/nvme1n1", "looked at /dev/nvme2n1", created, "formatted -q /dev/md/kopshook", "mounted noatime", "nodeup-start", "containerd-start").
		never("looked at /dev/nvme0n1")
	second := n.boot(keep).joins().fails()
	second.ordered("mounted noatime", "containerd-start").never("installed mdadm", created, "formatted -q /dev/md/kopshook")
	if first.Scenario != "1\n" || second.Scenario != "2\n" {
		t.Errorf("the kubelet's folder kept %q, then %q", first.Scenario, second.Scenario)
	}
	// the instance was stopped and started
	if err := n.RemoveAll("/srv/array"); err != nil {
		t.Fatal(err)
	}
	n.boot(keep).joins().fails().ordered(created, "formatted -q /dev/md/kopshook", "mounted noatime", "containerd-start")

	used := recipeNode(t, suite, "local-nvme", s, "attempts: 2", "attempts: 1")
	if err := used.WriteFile(boot.File{Path: "/srv/in-use"}); err != nil {
		t.Fatal(err)
	}
	used.boot(boot.Options{}).blocks().never(created, "formatted -q /dev/md/kopshook", "mounted noatime")
}

// On virtual machines, with kernels and disks of their own: make e2e-vm. All of their disks are of one model, so a
// program in front of lsblk gives the further ones that of instance storage. On one suite, as it takes four boots.
func TestVMLocalNVMe(t *testing.T) {
	needsVM(t)
	t.Parallel()
	config := boot.Config{Suite: "trixie", VM: true, Disks: 2, Packages: []string{"linux-image-cloud-amd64", "mdadm", "xfsprogs"}}
	config.UserData = userData(t, parts(t, recipeText(t, "local-nvme"))...)
	n := newNodeOf(t, config)
	err := n.WriteFile(boot.File{Path: "/usr/local/bin/lsblk", Mode: 0o755, Content: []byte(`#!/bin/sh
/usr/bin/lsblk "$@" | sed '/nvme[12]n1/s/QEMU NVMe Ctrl/Amazon EC2 NVMe Instance Storage/'
`)})
	if err != nil {
		t.Fatal(err)
	}
	look := boot.Options{Limit: 8 * time.Minute, Scenario: `
echo kept >> /var/lib/kubelet/mark
wc -l < /mnt/kopshook/kubelet/mark
findmnt -no FSTYPE,TARGET /mnt/kopshook
mdadm --detail /dev/md/kopshook | grep -E 'Raid Level|Raid Devices|State :'
`}
	want := func(marks string) string {
		return marks + " xfs /mnt/kopshook Raid Level : raid0 Raid Devices : 2 State : clean"
	}
	for _, marks := range []string{"1", "2"} {
		if got := strings.Join(strings.Fields(n.boot(look).joins().Scenario), " "); got != want(marks) {
			t.Errorf("the array is %q, want %q", got, want(marks))
		}
	}
	for i := range config.Disks { // the instance was stopped and started
		if err := os.Remove(n.Disk(i + 1)); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(strings.Fields(n.boot(look).joins().Scenario), " "); got != want("1") {
		t.Errorf("the new array is %q, want %q", got, want("1"))
	}

	// a pattern that fits the root disk: nothing is written
	config.UserData = userData(t, parts(t, recipeText(t, "local-nvme", "Amazon EC2 NVMe Instance Storage", "QEMU*", "attempts: 2", "attempts: 1"))...)
	newNodeOf(t, config).boot(boot.Options{Limit: look.Limit}).blocks()
}

// A container has neither memory nor disks of its own.
func bootHugepages(t *testing.T, suite string) {
	n := newNode(t, suite, userData(t, parts(t, recipeText(t, "hugepages-thp"))...))
	n.boot(boot.Options{}).joins().fails()
	// /sys cannot be written to there, which is a node that gets no huge pages
	recipeNode(t, suite, "hugepages-thp", standIns{}, "attempts: 2", "attempts: 1").boot(boot.Options{}).blocks()
}

// On virtual machines, with memory of their own: make e2e-vm.
func TestVMHugepages(t *testing.T) {
	needsVM(t)
	onSuites(t, func(t *testing.T, suite string) {
		if suite == "noble" {
			t.Skip("there is a kernel for Debian only")
		}
		limit := 6 * time.Minute
		n := newNodeOf(t, boot.Config{Suite: suite, VM: true,
			UserData: userData(t, parts(t, recipeText(t, "hugepages-thp", `"512"`, `"64"`, "THP: madvise", "THP: never"))...)})
		n.boot(boot.Options{Limit: limit, Scenario: "grep HugePages_Total /proc/meminfo; cat /sys/kernel/mm/transparent_hugepage/enabled"}).
			joins().fails()
		more := newNodeOf(t, boot.Config{Suite: suite, VM: true, // as much as the machine has
			UserData: userData(t, parts(t, recipeText(t, "hugepages-thp", "attempts: 2", "attempts: 1"))...)})
		more.boot(boot.Options{Limit: limit}).blocks()
	})
}

// needsVM skips a test that make e2e-vm runs.
func needsVM(t *testing.T) {
	t.Helper()
	if os.Getenv("KOPSHOOK_E2E_VM") == "" {
		t.Skip("make e2e-vm boots virtual machines")
	}
}
