package clusterhooks_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestCtrlC types Ctrl-C on a terminal: every process in front gets SIGINT from it, so kopshook must not send another
// to kops.
func TestCtrlC(t *testing.T) {
	dir := t.TempDir()
	terminal, program := openTerminal(t)
	spec := filepath.Join(dir, "hooks.yaml")
	text := "apiVersion: kopshook.dev/v1alpha1\nkind: ClusterHooks\nmetadata: {name: h}\nspec:\n  selector: {}\n  hooks:\n" +
		"  - name: unlock\n    on: after-update\n    script: |\n      #!/bin/sh\n      echo \"unlock $KOPSHOOK_KOPS_EXIT_CODE\" >> \"$LOG\"\n"
	if err := os.WriteFile(spec, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, waiting := filepath.Join(dir, "log"), filepath.Join(dir, "waiting")
	cmd := exec.Command("kopshook", "exec", "--work-dir", dir, spec, "--", "kops", "update", "cluster", "main.example.com", "--yes")
	cmd.Env = append(os.Environ(), "LOG="+log, "KOPS_WAIT="+waiting, "KUBECONFIG="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	go io.Copy(io.Discard, terminal)
	awaitText(t, waiting, "")
	for n := 1; n <= 2; n++ {
		if _, err := terminal.Write([]byte{3}); err != nil {
			t.Fatal(err)
		}
		awaitText(t, log, strings.Repeat("kops got SIGINT\n", n))
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if want := "kops update cluster main.example.com --yes\nkops got SIGINT\nkops got SIGINT\nunlock 0\n"; string(got) != want {
		t.Errorf("log:\n%swant:\n%s", got, want)
	}
}

func awaitText(t *testing.T, file, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(data), text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute %s is %q, %v", file, data, err)
		}
	}
}

// openTerminal returns both ends of a new pseudo terminal.
func openTerminal(t *testing.T) (terminal, program *os.File) {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	if err := unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return terminal, program
}
