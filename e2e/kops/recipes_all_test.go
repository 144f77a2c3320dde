//go:build e2e

package kops

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/localcluster"
	"kopshook.dev/kopshook/internal/nodestatus"
)

// changed is a recipe with old texts replaced by new ones, in pairs.
func changed(name string, pairs ...string) string {
	text := recipe(name)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			panic(fmt.Sprintf("recipe %s has no %q", name, pairs[i]))
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	// the group is named, so that all of them select it
	selector := regexp.MustCompile(`(?s)\n  selector:\n.*?\n  hooks:\n`)
	return selector.ReplaceAllLiteralString(text, "\n  selector: {names: [\"@\"]}\n  hooks:\n")
}

// hasNvidia is what containerd.nvidiaGPU comes to (nodeup/pkg/model/containerd.go:684), which kops refuses outside of AWS and
// OpenStack.
func hasNvidia(manifest string) string {
	return strings.Replace(manifest, "\nspec:\n", `
spec:
  containerd:
    configAdditions:
      plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.runtime_type: io.containerd.runc.v2
      plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options.BinaryName: /usr/bin/nvidia-container-runtime
`, 1)
}

// recipesGroup has all recipes that touch containerd, the kubelet or their folders, at once. What is replaced is what a
// container or this network lacks: downloads, a kernel of its own.
var recipesGroup = group("recipes", hasNvidia, spec(network),
	changed("local-nvme"),
	changed("hugepages-thp", `"[$THP]"`, `"$THP"`, `"[$DEFRAG]"`, `"$DEFRAG"`), // a copy of the kernel's file does not put brackets round the choice
	changed("limits-modules", "net.core.default_qdisc = fq", "net.ipv4.tcp_retries1 = 5", "net.ipv4.tcp_congestion_control = bbr", "net.ipv4.tcp_congestion_control = reno"),
	changed("proxy", "http://proxy.example.com:3128", localcluster.Proxy, ".main.example.com", "."+localcluster.Name, "172.20.0.0/16", "10.9.0.0/16"),
	changed("nvidia-container-toolkit", "url: https://nvidia.github.io/libnvidia-container/gpgkey", "content: a key",
		"      sha256: c880576d6cf75a48e5027a871bac70fd0421ab07d2b55f30877b21f1c87959c9\n", ""))

// recipeStandIns stand for what recipes find on a machine of a cloud: disks, modules, an archive, memory.
var recipeStandIns = []boot.File{
	{Path: "/usr/local/bin/systemd-detect-virt", Content: []byte("#!/bin/sh\nexit 1\n"), Mode: 0o755},
	{Path: "/usr/local/bin/lsblk", Content: []byte("#!/bin/sh\necho '/dev/nvme1n1 disk Amazon EC2 NVMe Instance Storage'\n"), Mode: 0o755},
	{Path: "/usr/local/sbin/wipefs", Content: []byte("#!/bin/sh\n"), Mode: 0o755},
	{Path: "/usr/local/sbin/mdadm", Mode: 0o755, Content: []byte(`#!/bin/sh
# the array is a file of 3 GiB
case $1 in
--assemble) [ -e /var/array ] || exit 2 ;;
--create) truncate -s 3G /var/array; /trial/bin/event 'array created' ;;
esac
mkdir -p /dev/md
ln -s /var/array /dev/md/kopshook
`)},
	{Path: "/usr/local/sbin/mkfs.xfs", Content: []byte("#!/bin/sh\nexec mke2fs -F -q -t ext4 -m 0 /var/array\n"), Mode: 0o755}, // not each kernel has XFS
	{Path: "/usr/local/sbin/blkid", Content: []byte("#!/bin/sh\n/sbin/blkid -p -o value -s TYPE \"$5\" | sed s/ext4/xfs/\n"), Mode: 0o755},
	{Path: "/usr/local/bin/mount", Mode: 0o755, Content: []byte(`#!/bin/sh
[ "$3" = /dev/md/kopshook ] || exec /bin/mount "$@"
[ -e /dev/loop-control ] || mknod /dev/loop-control c 10 237
for i in 0 1 2 3 4 5 6 7; do [ -e "/dev/loop$i" ] || mknod "/dev/loop$i" b 7 "$i"; done
exec /bin/mount -o loop,noatime /var/array "$4"
`)},
	{Path: "/usr/local/sbin/modprobe", Mode: 0o755, Content: []byte(`#!/bin/sh
case $1 in sch_fq | tcp_bbr) exec /trial/bin/event "loaded $1" ;; esac
exec /sbin/modprobe "$@"
`)},
	{Path: "/usr/local/bin/apt-get", Mode: 0o755, Content: []byte(`#!/bin/sh
case "$*" in *"install --no-install-recommends nvidia-container-toolkit"*) ;; *) exit 0 ;; esac
printf '#!/bin/sh\nexit 0\n' > /usr/bin/nvidia-container-cli
printf '#!/bin/sh\nexec runc "$@"\n' > /usr/bin/nvidia-container-runtime
chmod 755 /usr/bin/nvidia-container-*
/trial/bin/event 'toolkit installed'
`)},
	{Path: "/etc/systemd/system/sysinit.target.d/memory.conf", Content: []byte("[Unit]\nWants=memory.service\n")},
	{Path: "/etc/systemd/system/memory.service", Content: []byte(`[Unit]
Description=Give this node settings of memory to write to
DefaultDependencies=no
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -ec 'mkdir -p /run/mm; for d in hugepages transparent_hugepage; do cp -r /sys/kernel/mm/$d /run/mm/ 2>/dev/null || :; mount --bind /run/mm/$d /sys/kernel/mm/$d; done'
`)},
}

// look shows what containerd and the kubelet run with.
const look = `
of() { echo "/proc/$(systemctl show -P MainPID "$1")"; }
echo "containerd: $(grep 'Max stack' "$(of containerd)/limits" | tr -s ' ')"
echo "containerd: MEMLOCK $(systemctl show -P LimitMEMLOCK containerd)"
for unit in containerd kubelet; do echo "$unit: $(tr '\0' '\n' < "$(of $unit)/environ" | grep ^https_proxy=)"; done
for d in containerd kubelet; do echo "$d: $(findmnt -n -o SOURCE,SIZE -T /var/lib/$d)"; done
echo "retries $(cat /proc/sys/net/ipv4/tcp_retries1)"
`

// sees lists what containerd and the kubelet do not see of what recipes have done.
func sees(n *corev1.Node, scenario string) []string {
	if n == nil {
		return []string{"the node was not Ready in time"}
	}
	var wrong []string
	if pages := n.Status.Capacity["hugepages-2Mi"]; pages.Cmp(resource.MustParse("1Gi")) != 0 {
		wrong = append(wrong, fmt.Sprintf("hugepages-thp: the kubelet counts %s, want 1Gi", pages.String()))
	}
	if disk := n.Status.Capacity[corev1.ResourceEphemeralStorage]; disk.Cmp(resource.MustParse("2Gi")) < 0 || disk.Cmp(resource.MustParse("3Gi")) > 0 {
		wrong = append(wrong, fmt.Sprintf("local-nvme: the kubelet counts %s, want an array of 3Gi", disk.String()))
	}
	if !slices.ContainsFunc(n.Status.RuntimeHandlers, func(h corev1.NodeRuntimeHandler) bool { return h.Name == "nvidia" }) {
		wrong = append(wrong, fmt.Sprintf("nvidia-container-toolkit: the kubelet knows the runtimes %v", n.Status.RuntimeHandlers))
	}
	for _, line := range []string{
		"containerd: Max stack size 67108864 unlimited bytes", "containerd: MEMLOCK infinity", "containerd: https_proxy=" + localcluster.Proxy,
		"kubelet: https_proxy=" + localcluster.Proxy, "retries 5",
	} {
		if !strings.Contains(scenario, line) {
			wrong = append(wrong, fmt.Sprintf("the node does not say %q", line))
		}
	}
	for _, folder := range []string{"containerd", "kubelet"} {
		if !regexp.MustCompile(folder + `: /dev/loop\S+ +2\.`).MatchString(scenario) {
			wrong = append(wrong, "local-nvme: /var/lib/"+folder+" is not on the array")
		}
	}
	return wrong
}

// TestRecipes: what recipes do reaches the real containerd and the real kubelet, all at once, on the first boot and after an
// orderly reboot.
func TestRecipes(t *testing.T) {
	t.Parallel()
	n := newNode(t, recipesGroup, suites[0].Name)
	for _, f := range recipeStandIns {
		if err := n.WriteFile(f); err != nil {
			t.Fatal(err)
		}
	}
	for i, end := range []boot.Ending{boot.Reboot, boot.Cut} {
		var seen *corev1.Node
		r := n.boot(boot.Options{Scenario: look, End: end, Until: func(ctx context.Context) { seen = n.ready(ctx) }})
		report(t, settles(r), sees(seen, r.Scenario))
		for _, hook := range []string{"local-nvme", "hugepages-thp", "limits-modules", "proxy-answers", "nvidia-container-toolkit"} {
			if got := n.state(hook); got != nodestatus.Succeeded {
				t.Errorf("boot %d: hook %s is %s", i+1, hook, got)
			}
			report(t, inOrder(r, "started kopshook-"+hook+".service", "starting kops-configuration.service"), inOrder(r, "started kopshook-"+hook+".service", "starting containerd.service"))
		}
		first := i == 0
		for _, once := range []string{"array created", "toolkit installed"} {
			if got := r.Timeline.Count(once) == 1; got != first {
				t.Errorf("boot %d: %s %d times", i+1, once, r.Timeline.Count(once))
			}
		}
	}
}
