package boot

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// A virtual machine has a kernel and a disk of its own, so cutting its power loses what was not synced. Its disk is
// filled from the machine's layers before the first boot; later only /trial changes. It talks over serial ports:
// console, events, journal and state are ttyS0 to ttyS3.
//
// Each of these scripts runs in a mount namespace of its own.
const (
	makeDisk = `set -eu
mount -t overlay -o "$1" overlay "$2"
mke2fs -q -F -t ext4 -E lazy_itable_init=1,root_owner=0:0 -d "$2" "$3.new" 1500M
mv "$3.new" "$3"
`
	fillTrial = `set -eu
mount -o loop "$3" "$2"
rm -rf "$2/trial"
cp -a "$1" "$2/trial"
mkdir -p "$2/trial/out"
ln -s /dev/ttyS1 "$2/trial/out/events"
ln -s /dev/ttyS2 "$2/trial/out/journal"
ln -s /dev/ttyS3 "$2/trial/out/state"
umount "$2"
`
	takeScenario = `set -eu
mount -o loop "$3" "$2"
cp "$2/trial/out/scenario" "$1" 2>/dev/null || :
umount "$2"
`
)

// runVM boots the machine in qemu and waits for its end. Cancelling ctx is cutting the power.
func (m *Machine) runVM(ctx context.Context, out string) error {
	kernel, err := m.kernel(ctx)
	if err != nil {
		return err
	}
	disk, mount := filepath.Join(m.dir, "disk.ext4"), filepath.Join(m.dir, "mount")
	if !exists(disk) {
		if err := inNamespace(ctx, makeDisk, "lowerdir="+strings.Join(m.layers, ":"), mount, disk); err != nil {
			return err
		}
	}
	if err := inNamespace(ctx, fillTrial, filepath.Join(m.dir, "trial"), mount, disk); err != nil {
		return err
	}
	args := []string{
		"-machine", "q35", "-m", "1024", "-smp", "2", "-nodefaults", "-no-user-config", "-no-reboot",
		"-display", "none", "-monitor", "none", "-nic", "none",
		"-drive", "file=" + disk + ",if=none,id=disk,format=raw", "-device", "nvme,drive=disk,serial=node",
		"-kernel", kernel, "-append", "root=/dev/nvme0n1 rw console=ttyS0 loglevel=4 panic=-1 mitigations=off no_timer_check " +
			"random.trust_cpu=on nowatchdog audit=0 apparmor=0 selinux=0 net.ifnames=0",
	}
	for i := 1; i <= m.config.Disks; i++ {
		if err := makeBlank(m.Disk(i)); err != nil {
			return err
		}
		args = append(args, "-drive", fmt.Sprintf("file=%s,if=none,id=disk%d,format=raw", m.Disk(i), i),
			"-device", fmt.Sprintf("nvme,drive=disk%d,serial=disk%[1]d", i))
	}
	if hasVirtualization() {
		args = append(args, "-accel", "kvm", "-cpu", "host")
	} else { // a plain old processor is emulated fastest
		args = append(args, "-accel", "tcg,thread=multi", "-cpu", "Nehalem,+rdrand")
	}
	for _, name := range []string{"console", "events", "journal", "state"} {
		args = append(args, "-serial", "file:"+filepath.Join(out, name))
	}
	if text, err := exec.CommandContext(ctx, "qemu-system-x86_64", args...).CombinedOutput(); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		return fmt.Errorf("qemu-system-x86_64: %w\n%s", err, lastLines(text, 15))
	}
	return inNamespace(ctx, takeScenario, filepath.Join(out, "scenario"), mount, disk)
}

// Disk is the file of one of a virtual machine's further disks. Without it the disk is blank at the next boot.
func (m *Machine) Disk(number int) string {
	return filepath.Join(m.dir, fmt.Sprintf("disk-%d", number))
}

// makeBlank makes a disk's file, unless it is there.
func makeBlank(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(256 << 20)
}

// kernel returns the file of the kernel to boot.
func (m *Machine) kernel(ctx context.Context) (string, error) {
	found, err := filepath.Glob(filepath.Join(m.layers[len(m.layers)-1], "boot", "vmlinuz-*"))
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return found[0], nil
	}
	return vmKernel(ctx, m.config.Suite, m.config.Progress)
}

// hasVirtualization says whether KVM works here: a /dev/kvm alone does not tell, on a machine that is virtual itself.
func hasVirtualization() bool {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || !regexp.MustCompile(`(?m)^flags.* (vmx|svm)( |$)`).Match(info) {
		return false
	}
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	kvm.Close()
	return true
}

func inNamespace(ctx context.Context, script string, args ...string) error {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("preparing a virtual machine's disk: %w\n%s", err, lastLines(text, 15))
	}
	return nil
}

// vmKernel returns the suite's kernel for clouds, out of its package; it has ext4 and NVMe built in, so it needs no
// initial RAM disk. It is kept beside the root file systems.
func vmKernel(ctx context.Context, suite string, progress io.Writer) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "rootfs", suite+"-vmlinuz")
	unlock, err := lockFile(ctx, path+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(path) {
		return path, nil
	}
	fmt.Fprintf(progress, "getting the kernel of %s, once\n", suite)
	tmp, err := os.MkdirTemp(filepath.Dir(path), "kernel-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, "mmdebstrap", "--variant=extract", "--format=directory", "--include=linux-image-cloud-amd64", suite, tmp)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mmdebstrap: %w\n%s", err, lastLines(text, 15))
	}
	found, err := filepath.Glob(filepath.Join(tmp, "boot", "vmlinuz-*"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("the kernel package of %s holds %d kernels", suite, len(found))
	}
	return path, os.Rename(found[0], path)
}
