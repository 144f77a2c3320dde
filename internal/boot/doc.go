// Package boot boots a kops node from user data, in a container on this machine, and says what happened in which order.
//
// The node is real where it matters: systemd as its first process, cloud-init as the distribution ships it, the user
// data in kops' framing. nodeup, containerd and the kubelet are stand-ins (folder standin) that write the very units
// kops 1.36.2 writes and start them as it does. The container has a mount namespace and a cgroup of its own, so that
// machines run side by side, and no network unless asked for.
//
// A Machine keeps its disk from boot to boot. Between two boots the caller may read and change its files, as one does
// with a disk that is mounted elsewhere.
package boot
