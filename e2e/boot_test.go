//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kopshook.dev/kopshook/internal/boot"
)

// A boot that is interrupted leaves no process, control group or mount behind.
func TestInterruptedBootLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(context.Background())
	m, err := boot.New(ctx, boot.Config{UserData: userData(t), Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Boot(ctx, boot.Options{OnEvent: func(e boot.Event) {
		if e.Name == "nodeup-start" {
			interrupt()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the boot ended with %v, want %v", err, context.Canceled)
	}
	dir := m.Dir()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
	nothingIn(t, dir)
}

// nothingIn wants no mount and no process that has to do with a folder.
func nothingIn(t *testing.T, dir string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir) {
		t.Errorf("a mount is left in %s", dir)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if line, err := os.ReadFile(p); err == nil && strings.Contains(string(line), dir) {
			t.Errorf("a process is left: %q", line)
		}
	}
}

// The same, for whoever stops kopshook try with Ctrl-C.
func TestInterruptedTryLeavesNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, tmp := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"hooks.yaml": "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: a}\nspec:\n  runtime: v1\n  selector: {}\n  hooks:\n  - {name: slow, timeout: 10m, script: \"#!/bin/sh\\nsleep 500\\n\"}\n",
		"ig.yaml":    "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\n  labels: {kops.k8s.io/cluster: a.example.com}\nspec:\n  role: Node\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(self, "kopshook", "try", "hooks.yaml", "ig.yaml")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+tmp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "slow") && strings.Contains(lines.Text(), "start") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	start := time.Now()
	rest, _ := io.ReadAll(out)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || time.Since(start) > time.Minute {
		t.Errorf("exit code %d after %s: %s%s", code, time.Since(start), said.String(), rest)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	nothingIn(t, tmp)
}

// A node that does not settle is reported with what it still had to do.
func TestNodeThatDoesNotSettle(t *testing.T) {
	t.Parallel()
	n := newNode(t, "trixie", userData(t, script("00-slow.sh", "sleep 600\n")))
	start := time.Now()
	r := n.boot(boot.Options{Limit: 40 * time.Second, End: boot.Cut})
	if r.Outcome != boot.Timeout {
		t.Errorf("the outcome is %q, want %q", r.Outcome, boot.Timeout)
	}
	if !strings.Contains(strings.Join(r.Jobs, "\n"), "cloud-final.service start running") {
		t.Errorf("jobs left are %q", r.Jobs)
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("it took %v", took)
	}
}

// In a container, as CI has them, temporary files are on an overlay file system.
func TestMachineOnAnOverlay(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lower", "upper", "work", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tmp := filepath.Join(dir, "tmp")
	options := "lowerdir=" + filepath.Join(dir, "lower") + ",upperdir=" + filepath.Join(dir, "upper") + ",workdir=" + filepath.Join(dir, "work")
	if err := syscall.Mount("overlay", tmp, "overlay", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(tmp, 0); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("TMPDIR", tmp)
	n := newNode(t, "trixie", userData(t))
	n.boot(boot.Options{}).joins()
	n.boot(boot.Options{}).joins()
	if _, err := boot.New(context.Background(), boot.Config{Dir: filepath.Join(tmp, "kept")}); err == nil {
		t.Error("a node's disk is kept where it cannot be")
	}
}

// Nobody sees another's machine: an image, a disk, a cancelled boot.
func TestCloneHasAllFilesAndNoneOfTheUserData(t *testing.T) {
	t.Parallel()
	n := newNode(t, "trixie", userData(t, script("00-mark.sh", "echo old > /srv/mark; rm /etc/issue.net; /trial/bin/event old\n")))
	n.boot(boot.Options{}).joins().happens("old")
	c := n.clone(userData(t, script("00-look.sh", "/trial/bin/event \"mark $(cat /srv/mark)\"\n[ -e /etc/issue.net ] || /trial/bin/event removed\n")), "i-0fedcba9876543210")
	c.boot(boot.Options{}).joins().happens("mark old", "removed").never("old")
	if err := c.RemoveAll("/srv/mark"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadFile("/srv/mark"); !os.IsNotExist(err) {
		t.Errorf("a file that was removed reads: %v", err)
	}
	if _, err := c.ReadFile("/etc/issue.net"); !os.IsNotExist(err) {
		t.Errorf("a file that the node removed reads: %v", err)
	}
	if got, err := n.ReadFile("/srv/mark"); err != nil || string(got) != "old\n" {
		t.Errorf("the image's own file is %q, %v", got, err)
	}
}
