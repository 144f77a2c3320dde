//go:build unix

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// waiting is a program that has come as far as a file says.
type waiting struct {
	*exec.Cmd
	out   bytes.Buffer
	ended chan struct{}
}

// startWaiting starts a program that waits for something, and returns when started is there.
func startWaiting(t *testing.T, started string, env []string, args ...string) *waiting {
	t.Helper()
	w := &waiting{Cmd: exec.Command("kopshook", args...), ended: make(chan struct{})}
	w.Env = append(os.Environ(), env...)
	w.Stdout, w.Stderr = &w.out, &w.out
	stdin, err := w.StdinPipe() // it never says a word
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		w.Wait()
		close(w.ended)
	}()
	t.Cleanup(func() {
		stdin.Close()
		w.Process.Kill()
		<-w.ended
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			return w
		}
		if time.Now().After(deadline) {
			t.Fatalf("it has not come to %s: %s", started, w.out.String())
		}
	}
}

func (w *waiting) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case <-w.ended:
	case <-time.After(time.Minute):
		t.Fatal("it still runs a minute after the signal")
	}
	return w.ProcessState.ExitCode()
}

// slowGit puts a git on the PATH that makes a file as soon as it fetches, and goes on as long as that file is there. It
// takes no notice of SIGTERM.
func slowGit(t *testing.T) (started string, env []string) {
	t.Helper()
	dir := t.TempDir()
	started = filepath.Join(dir, "started")
	script := "#!/bin/sh\ncase \"$*\" in *' fetch '*) ;; *) exit 0 ;; esac\ntrap '' TERM\n: > " + started +
		"\nwhile [ -e " + started + " ]; do sleep 0.05; done\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(started) })
	return started, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
}

const gitSpec = `apiVersion: kopshook.dev/v1alpha1
kind: InstanceGroupHooks
metadata: {name: a}
spec:
  selector: {}
  hooks:
  - {name: a, source: "git::https://git.invalid/a.git"}
`

func TestSignalsEndWhatWaits(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			started, env := slowGit(t)
			spec := filepath.Join(dir, "a.yaml")
			if err := os.WriteFile(spec, []byte(gitSpec), 0o600); err != nil {
				t.Fatal(err)
			}
			cache := filepath.Join(dir, "cache")
			w := startWaiting(t, started, append(env, "XDG_CACHE_HOME="+cache), "lock", spec)
			if err := w.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if code := w.exitCode(t); code != 128+int(s) || !strings.HasSuffix(w.out.String(), "kopshook: interrupted; no file was changed\n") {
				t.Errorf("exit code %d, want %d: %s", code, 128+s, w.out.String())
			}
			wantNothingBelow(t, filepath.Join(cache, "kopshook", "tmp"))
		})
	}
}

func TestASecondSignalEndsItAtOnce(t *testing.T) {
	dir := t.TempDir()
	started, env := slowGit(t)
	spec := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(spec, []byte(gitSpec), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	// git has 2 s after SIGTERM, and so the first signal does not end it yet: on a busy machine, more than once
	for again := 4; ; again-- {
		w := startWaiting(t, started, append(env, "XDG_CACHE_HOME="+cache), "lock", spec)
		if err := w.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		if err := w.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		code := w.exitCode(t)
		if code == 128+int(syscall.SIGTERM) {
			break
		}
		if code != exitInterrupted || again == 0 {
			t.Fatalf("exit code %d: %s", code, w.out.String())
		}
		os.Remove(started)
	}
	wantNothingBelow(t, filepath.Join(cache, "kopshook", "tmp"))
}

// nohup asks for that.
func TestSignalsThatTheParentIgnoresAreIgnored(t *testing.T) {
	dir := t.TempDir()
	started, env := slowGit(t)
	spec := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(spec, []byte(gitSpec), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("kopshook")
	if err != nil {
		t.Fatal(err)
	}
	nohup := filepath.Join(dir, "kopshook")
	if err := os.WriteFile(nohup, []byte("#!/bin/sh\ntrap '' HUP\nexec "+program+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := env[0]
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	w := startWaiting(t, started, []string{path, "XDG_CACHE_HOME=" + filepath.Join(dir, "cache")}, "lock", spec)
	for range 3 {
		if err := w.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := w.exitCode(t); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d: %s", code, w.out.String())
	}
}

func wantNothingBelow(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left in %s", e.Name(), dir)
	}
}

// A file that somebody edits while kopshook fetches keeps the edit.
func TestWritingInPlaceKeepsWhatWasEditedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	manifest, spec := filepath.Join(dir, "ig.yaml"), filepath.Join(dir, "hooks.yaml")
	const text = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\n  labels:\n    kops.k8s.io/cluster: a.example.com\nspec:\n  role: Node\n"
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(spec, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command("kopshook", "merge", "-w", manifest, spec)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(spec, os.O_WRONLY, 0) // once that opens, the manifest has been read
	if err != nil {
		t.Fatal(err)
	}
	edited := text + "  minSize: 7\n"
	if err := os.WriteFile(manifest, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	script := strings.Replace(gitSpec, `source: "git::https://git.invalid/a.git"`, `script: "#!/bin/sh\n"`, 1)
	if _, err := fifo.WriteString(script); err != nil {
		t.Fatal(err)
	}
	fifo.Close()
	cmd.Wait()
	want := manifest + ": has changed while kopshook was reading: it is left as it is\n  hint: run the command again\n"
	if code := cmd.ProcessState.ExitCode(); code != exitInput || !strings.HasSuffix(out.String(), want) {
		t.Errorf("exit code %d: %s", code, out.String())
	}
	if got, err := os.ReadFile(manifest); err != nil || string(got) != edited {
		t.Errorf("the manifest is %q, %v", got, err)
	}
}
