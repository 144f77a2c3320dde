package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kopshook.dev/kopshook/internal/golden"
	"kopshook.dev/kopshook/internal/signaltest"
)

func TestMain(m *testing.M) {
	if os.Args[0] == "peak-memory" {
		os.Exit(peakMemoryMain())
	}
	if strings.HasSuffix(os.Args[0], ".test") { // else it is kopshook
		signaltest.Attend()
	}
	testscript.Main(m, map[string]func(){
		"kopshook": func() { os.Exit(Main(os.Args)) },
	})
}

// TestScripts runs testdata/script: the commands as a user types them. $REPO is the top of the project.
func TestScripts(t *testing.T) {
	testscript.Run(t, params(t, filepath.Join("testdata", "script")))
}

func params(t *testing.T, dir string) testscript.Params {
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:                 dir,
		UpdateScripts:       golden.Update(),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("NO_COLOR", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"interrupt":   interrupt,
			"crlf":        crlf,
			"serve":       serve,
			"azure":       azure,
			"onlychanges": onlyChanges,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Deadline: time.Now().Add(10 * time.Minute),
	}
}

// interrupt starts a program whose standard input stays open, sends it SIGINT, and wants it to end by itself.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	// a busy machine may take long to start it; before it catches signals, SIGINT kills it
	for pause := 300 * time.Millisecond; ; pause *= 2 {
		state, said := interruptAfter(ts, pause, args)
		if state.ExitCode() < 0 && pause < 5*time.Second {
			continue
		}
		ts.Logf("%s", said)
		if state.Success() == neg || neg && state.ExitCode() != exitInterrupted {
			ts.Fatalf("interrupted program: %v", state)
		}
		return
	}
}

func interruptAfter(ts *testscript.TestScript, pause time.Duration, args []string) (*os.ProcessState, string) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"))
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	defer stdin.Close()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ts.Check(cmd.Start())
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	time.Sleep(pause)
	ts.Check(cmd.Process.Signal(os.Interrupt))
	select {
	case <-done:
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		ts.Fatalf("still running a minute after SIGINT; it printed: %s", out.String())
	}
	return cmd.ProcessState, out.String()
}

// changeLine is what merge and edit say of one hook.
var changeLine = regexp.MustCompile(`^\S+: (adds|changes|removes) \S+$|^\S+: changes \S+: `)

// onlyChanges wants nothing on standard error but which hooks change: no warning, no note.
func onlyChanges(ts *testscript.TestScript, _ bool, _ []string) {
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !changeLine.MatchString(strings.TrimSuffix(line, "\n")) {
			ts.Fatalf("on standard error: %s", line)
		}
	}
}

// crlf gives a file CRLF line ends.
func crlf(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		data, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name), bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), 0o666))
	}
}
