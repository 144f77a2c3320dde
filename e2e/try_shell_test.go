//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kopshook.dev/kopshook/e2e/page"
)

// terminal is the other end of a terminal that a program runs on.
type terminal struct {
	t    *testing.T
	file *os.File
	mu   sync.Mutex
	text bytes.Buffer
	seen int // what has been waited for
}

// onTerminal starts a program on a terminal of its own, as a shell does.
func onTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	file, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(file.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, file: file}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := file.Read(buf)
			x.mu.Lock()
			x.text.Write(buf[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if t.Failed() {
			x.mu.Lock()
			defer x.mu.Unlock()
			t.Logf("terminal\n%s", x.text.String())
		}
	})
	return x
}

// waitFor waits until the program has printed want behind what was waited for before.
func (x *terminal) waitFor(want string) {
	x.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		x.mu.Lock()
		i := strings.Index(x.text.String()[x.seen:], want)
		if i >= 0 {
			x.seen += i + len(want)
		}
		x.mu.Unlock()
		if i >= 0 {
			return
		}
	}
	x.t.Fatalf("%q is not printed", want)
}

func (x *terminal) enter(line string) {
	x.t.Helper()
	if _, err := x.file.WriteString(line + "\r"); err != nil {
		x.t.Fatal(err)
	}
}

// docs/practise.md, on a terminal: the commands of the page find why the node did not join, and let it join. Ctrl-C ends a
// command of the shell, and neither the shell nor the boot.
func TestPractise(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/practise.md")
	if err != nil {
		t.Fatal(err)
	}
	specs := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	commands := page.Commands(t, "../docs/practise.md")
	dir := t.TempDir()
	spec := filepath.Join(dir, "practise.yaml")
	if err := os.WriteFile(spec, specs[1], 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "kopshook", "try", "--shell", "--keep", filepath.Join(dir, "kept"), "-f", spec, "--group", "nodes", "../examples/mixed/cluster.yaml")
	cmd.Env = append(os.Environ(), "TERM=dumb")
	x := onTerminal(t, cmd)
	x.waitFor("refused kops-configuration.service")
	x.waitFor("the node has not joined: this is a root shell in it")
	x.waitFor("# ")
	x.enter("sleep 600")
	time.Sleep(time.Second)
	x.enter("\x03")
	x.enter("echo ended $?")
	x.waitFor("ended 130")
	for _, step := range []struct {
		heading string
		prints  []string
	}{
		{"Which hook is it?", []string{"inactive", "failed", `"state":"failed","reason":"script: exit status 7","attempts":2`}},
		{"Why did it fail?", []string{"there is no license in /etc/license", "attempt 2 of 2: script: exit status 7"}},
		{"What waits for it?", []string{"Assertion failed"}},
		{"Repair this node", []string{"active\r\nactive\r\nactive"}},
	} {
		if commands[step.heading] == "" {
			t.Fatalf("docs/practise.md has no commands under %q", step.heading)
		}
		x.enter(strings.ReplaceAll(strings.TrimSpace(commands[step.heading]), "\n", "\r"))
		for _, p := range step.prints {
			x.waitFor(p)
		}
	}
	x.enter("exit")
	x.waitFor("boot 1: the node joined")
	x.waitFor("boot 2: the node joined")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if code, out, _ := kopshook(t, "status", "--console", filepath.Join(dir, "kept/boot-1/console")); code != 0 || !strings.Contains(out, "succeeded") {
		t.Errorf("the console of boot 1: exit code %d\n%s", code, out)
	}
}
