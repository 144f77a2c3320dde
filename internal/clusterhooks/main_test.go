//go:build unix

package clusterhooks_test

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"kopshook.dev/kopshook/internal/cli"
	"kopshook.dev/kopshook/internal/golden"
	"kopshook.dev/kopshook/internal/signaltest"
)

func TestMain(m *testing.M) {
	if strings.HasSuffix(os.Args[0], ".test") { // else it is a program
		signaltest.Attend()
	}
	testscript.Main(m, map[string]func(){
		"kopshook": func() { os.Exit(cli.Main(os.Args)) },
		"kops":     standInKops,
	})
}

// TestExec runs testdata/exec: kopshook exec as a user types it, around a stand-in for kops.
func TestExec(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "exec"),
		UpdateScripts:       golden.Update(),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "no-kubeconfig"))
			env.Setenv("LOG", filepath.Join(env.WorkDir, "log"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await":     await,
			"send":      send,
			"extension": startExtension,
			"service":   startService,
		},
	})
}

// await waits until a file exists and matches a pattern, if one is given: await FILE [TEXT].
func await(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && (len(args) == 1 || strings.Contains(string(data), args[1])) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("after a minute %s is %q, %v", args[0], data, err)
		}
	}
}

// send sends a signal to the command that was started last in the background: send TERM.
func send(ts *testscript.TestScript, _ bool, args []string) {
	cmds := ts.BackgroundCmds()
	s := unix.SignalNum("SIG" + args[0])
	if s == 0 || len(cmds) == 0 {
		ts.Fatalf("cannot send %s to %d commands", args[0], len(cmds))
	}
	ts.Check(cmds[len(cmds)-1].Process.Signal(s))
}

// standInKops knows the clusters of the folder $CLUSTERS, one JSON file each, or else one cluster that is called
// anything. Whatever it is asked to do it notes in $LOG and prints. Further behavior is asked for by environment:
//
//	KOPS_EXIT=N     exits with N
//	KOPS_FAIL=TEXT  exits with 3 when its words hold the text
//	KOPS_DIE=TERM   kills itself by a signal
//	KOPS_WAIT=FILE  makes FILE, waits for signals, notes each, and ends by the second SIGINT or the first SIGTERM
//	KOPS_STDIN=1    notes what comes on standard input
//	KOPS_TTY=1      notes which of its streams are terminals
//	KOPS_UPGRADE=V  is the version that the channel has
func standInKops() {
	args := strings.Join(os.Args[1:], " ")
	name := "main.example.com"
	for _, a := range os.Args {
		if n, ok := strings.CutPrefix(a, "--name="); ok {
			name = n
		}
	}
	switch {
	case strings.HasPrefix(args, "get cluster "):
		standInObject(name, "cluster", fmt.Sprintf(`{"apiVersion": "kops.k8s.io/v1alpha2", "kind": "Cluster", "metadata": {"name": %q, "generation": 7,
			"labels": {"env": "prod"}}, "spec": {"kubernetesVersion": "1.35.4", "masterPublicName": "api.%s"}}`, name, name))
		return
	case strings.HasPrefix(args, "get instancegroups "):
		standInObject(name, "instancegroups", `[{"kind": "InstanceGroup", "metadata": {"name": "nodes", "generation": 4}}]`)
		return
	case strings.HasPrefix(args, "upgrade cluster ") && !strings.Contains(args, "--yes"):
		fmt.Print("ITEM\tPROPERTY\tOLD\tNEW\n")
		if v := os.Getenv("KOPS_UPGRADE"); v != "" {
			fmt.Printf("Cluster\tKubernetesVersion\t1.35.4\t%s\n", v)
		}
		fmt.Print("InstanceGroup/nodes\tImage\told\tnew\n\nMust specify --yes to perform upgrade\n")
		return
	}
	note("kops " + args)
	fmt.Println("kops " + args)
	fmt.Fprintln(os.Stderr, "kops' standard error")
	if os.Getenv("KOPS_STDIN") != "" {
		b, _ := io.ReadAll(os.Stdin)
		note("stdin: " + string(b))
	}
	if os.Getenv("KOPS_TTY") != "" {
		note(fmt.Sprintf("terminals: %v %v %v", term.IsTerminal(0), term.IsTerminal(1), term.IsTerminal(2)))
	}
	if file := os.Getenv("KOPS_WAIT"); file != "" {
		standInWait(file)
	}
	if s := unix.SignalNum("SIG" + os.Getenv("KOPS_DIE")); s != 0 {
		signal.Reset(s)
		syscall.Kill(os.Getpid(), s)
		select {}
	}
	if text := os.Getenv("KOPS_FAIL"); text != "" && strings.Contains(args, text) {
		os.Exit(3)
	}
	code, _ := strconv.Atoi(os.Getenv("KOPS_EXIT"))
	os.Exit(code)
}

// standInObject prints a cluster or its instance groups.
func standInObject(cluster, what, otherwise string) {
	dir := os.Getenv("CLUSTERS")
	if dir == "" {
		fmt.Println(otherwise)
		return
	}
	data, err := os.ReadFile(filepath.Join(dir, cluster+"."+what+".json"))
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: %s %q not found\n", what, cluster)
		os.Exit(1)
	}
	os.Stdout.Write(data)
}

func standInWait(file string) {
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		panic(err)
	}
	interrupts := 0
	for s := range signals {
		note("kops got " + unix.SignalName(s.(syscall.Signal)))
		if s == syscall.SIGINT {
			interrupts++
		}
		if s == syscall.SIGTERM || interrupts == 2 {
			return
		}
	}
}

// note appends a line to $LOG.
func note(line string) { noteTo(os.Getenv("LOG"), strings.TrimRight(line, "\n")) }
