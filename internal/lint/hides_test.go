package lint

import (
	"fmt"
	"testing"
)

// TestMountsOver: what hides a folder that nodeup writes to, and what does not.
func TestMountsOver(t *testing.T) {
	for _, c := range []struct{ text, dir, hidden string }{
		{"mount /dev/sdb /var/lib/kubelet", "/var/lib/kubelet", "/var/lib/kubelet"},
		{"mount -t tmpfs -o size=3g none /var/lib/containerd/", "/var/lib/containerd/", "/var/lib/containerd"},
		{"mountpoint -q /srv || mount --bind /mnt /srv", "/srv", "/srv/kubernetes"},
		{"sudo -E /bin/mount /dev/sdb /var", "/var", "/var/lib/kubelet"},
		{"target=/etc/containerd\nmount /dev/sdb \"${target}\"", "/etc/containerd", "/etc/containerd"},
		{"[Service]\nExecStart=-/bin/sh -c 'mount /dev/sdb /var/lib/kubelet'\n", "/var/lib/kubelet", "/var/lib/kubelet"},
		{"[Service]\nExecStart=/usr/bin/systemd-mount /dev/sdb /var/lib/kubelet\n", "/var/lib/kubelet", "/var/lib/kubelet"},
		{text: "mount /dev/sdb /var/lib/kubelet/plugins"},
		{text: "mount /dev/sdb /data"},
		{text: "mount -o remount,exec /var"},
		{text: "mountpoint -q /var/lib/kubelet"},
		{text: "d=/data\nd=/var/lib/kubelet\nmount /dev/sdb $d"}, // cannot be told
		{text: "[Unit]\nDescription=mount /dev/sdb /var/lib/kubelet\n"},
	} {
		if dir, hidden := MountsOver(c.text); hidden != c.hidden || hidden != "" && dir != c.dir {
			t.Errorf("%q: %q hides %q, want %q and %q", c.text, dir, hidden, c.dir, c.hidden)
		}
	}
}

// TestMemoryForgets: a file system in memory keeps nothing of what nodeup writes once.
func TestMemoryForgets(t *testing.T) {
	for command, want := range map[string]int{
		"mount -t tmpfs none /var/lib/kubelet":        1,
		"mount --types=tmpfs none /var":               1,
		"mount -t tmpfs none /var/lib/containerd":     0, // images are pulled again
		"mount -t ext4 /dev/nvme1n1 /var/lib/kubelet": 0,
		"mount -t tmpfs none /scratch":                0,
	} {
		found := lintExample(t, fmt.Sprintf("apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: a}\nspec:\n  selector: {}\n  hooks:\n  - {name: disk, phase: pre-nodeup, script: %q}\n", "#!/bin/sh\n"+command+"\n"))
		n := 0
		for _, f := range found {
			if f.Code == "KH054" {
				n++
			}
		}
		if n != want {
			t.Errorf("%q: %d findings of KH054, want %d", command, n, want)
		}
	}
}
