//go:build e2e

package kops

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kopshook.dev/kopshook/internal/boot"
)

// limits says whether cgroup v2 limits anything on this machine: not so where a hybrid of v1 and v2 is mounted, and v1 has
// the controllers.
func limits() bool {
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		text, _ := os.ReadFile(root + "/cgroup.controllers")
		if strings.Contains(string(text), "memory") {
			return true
		}
	}
	return false
}

// limited lists the containers of a pod that the kernel does not hold to the memory and the CPU that the manifest says. Control
// groups of this process's machines are those of boot.
func limited(p *corev1.Pod) (wrong []string) {
	for _, status := range p.Status.ContainerStatuses {
		_, id, _ := strings.Cut(status.ContainerID, "://")
		var group string
		filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && id != "" && strings.Contains(d.Name(), id) {
				group = path
				return fs.SkipAll
			}
			return nil
		})
		if group == "" {
			wrong = append(wrong, fmt.Sprintf("container %s (%s) has no control group", status.Name, id))
			continue
		}
		for _, c := range p.Spec.Containers {
			if c.Name != status.Name {
				continue
			}
			for file, want := range map[string]string{
				"memory.max": strconv.FormatInt(c.Resources.Limits.Memory().Value(), 10),
				"cpu.max":    fmt.Sprintf("%d 100000", c.Resources.Limits.Cpu().MilliValue()*100),
			} {
				if got, err := os.ReadFile(filepath.Join(group, file)); strings.TrimSpace(string(got)) != want {
					wrong = append(wrong, fmt.Sprintf("container %s: %s is %q, want %q: %v", c.Name, file, got, want, err))
				}
			}
		}
	}
	return wrong
}

// podsLimited says what is wrong with the limits of the addon's pods on a node.
func podsLimited(ctx context.Context, node string) error {
	pods, err := api.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node, LabelSelector: "kopshook.dev/spec"})
	if err != nil {
		return err
	}
	var wrong []string
	checked := 0
	for i := range pods.Items {
		checked += len(pods.Items[i].Status.ContainerStatuses)
		wrong = append(wrong, limited(&pods.Items[i])...)
	}
	if checked == 0 {
		return fmt.Errorf("no container of %d pods has a status", len(pods.Items))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("limits: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// insideKernel is the first process of a kernel in user space: the file system is this machine's, the control groups are v2
// alone, and temporary files are in memory.
const insideKernel = `#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=0755 tmpfs /run
mount -t tmpfs -o mode=1777,size=90% tmpfs "$TMPDIR"
ip link set lo up
mkdir -p /run/kernel/lib
ln -s /usr/lib/uml/modules /run/kernel/lib/modules
printf '#!/bin/sh\nexec /sbin/modprobe -d /run/kernel "$@"\n' > /run/kernel/modprobe
chmod 755 /run/kernel/modprobe
echo /run/kernel/modprobe > /proc/sys/kernel/modprobe
/run/kernel/modprobe -a overlay veth bridge br_netfilter ip_tables iptable_filter iptable_nat nf_conntrack \
  xt_comment xt_conntrack xt_MASQUERADE xt_addrtype xt_mark xt_nat
echo "control groups: $(cat /sys/fs/cgroup/cgroup.controllers)"
cd "$WORK" || exit
"$TEST" -test.run '^TestDaemonHooks$' -test.timeout 50m -test.v
echo "exit code $?"
echo o > /proc/sysrq-trigger
sleep 60
`

// elsewhere says that this process boots a kernel in which another runs tests, and has no cluster itself.
var elsewhere = os.Getenv("KOPSHOOK_E2E_CGROUP2") != ""

// TestOnCgroupV2Alone: where the kernel has cgroup v2 alone, a real node's pod has the limits of its manifest, and the rest of
// TestDaemonHooks holds. Other machines get such a kernel here: Linux as a process (User Mode Linux), of Debian's package.
func TestOnCgroupV2Alone(t *testing.T) {
	switch {
	case limits():
		t.Skip("this machine has cgroup v2 alone: TestDaemonHooks looks at limits itself")
	case !elsewhere:
		t.Skip("make e2e-kops-cgroup2 runs TestDaemonHooks with cgroup v2 alone, in a kernel of its own")
	}
	// the kernel has no network: what the test takes is on this machine before
	m, err := boot.New(context.Background(), boot.Config{Suite: suites[0].Name, Packages: boot.JoinPackages(), Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "init")
	if err := os.WriteFile(script, []byte(insideKernel), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temporary := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 55*time.Minute)
	defer stop()
	args := []string{"mem=6G", "rootfstype=hostfs", "rootflags=/", "rw", "init=" + script, "uml_dir=" + dir, "con=null", "con0=null,fd:1", "quiet"}
	for name, value := range map[string]string{ // init gets what the kernel does not know
		"HOME": os.Getenv("HOME"), "KOPSHOOK_PROGRAMS": os.Getenv("KOPSHOOK_PROGRAMS"), "TMPDIR": temporary, "WORK": work, "TEST": test,
		"KOPSHOOK_E2E_PATIENCE": "10", // a system call takes many times as long there
	} {
		args = append(args, name+"="+value)
	}
	cmd := exec.CommandContext(ctx, "linux.uml", args...)
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, os.Stderr)
	cmd.Stderr = cmd.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its processes are processes of this machine
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	if text := out.String(); err != nil || !strings.Contains(text, "\nexit code 0") || !strings.Contains(text, "--- PASS: TestDaemonHooks") {
		t.Errorf("the test in that kernel did not pass: %v; what it printed is above", err)
	}
}
