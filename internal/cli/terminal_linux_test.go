package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newTerminal makes a terminal, and what has come there when it is closed.
func newTerminal(t *testing.T) (tty *os.File, shown func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := make(chan string)
	go func() {
		data, _ := io.ReadAll(master) // EIO when nobody has it open any more
		all <- string(data)
	}()
	return tty, func() string {
		tty.Close()
		defer master.Close()
		return <-all
	}
}

// Somebody's script does nothing to the terminal on which it is looked at; programs get it as it is.
func TestScriptsDoNotControlTheTerminal(t *testing.T) {
	workFolder(t)
	t.Setenv("NO_COLOR", "1")
	const hook = `{name: a, run: once-per-image, script: "#!/bin/sh\necho '\e]0;x\a\e[2J` + "\\u009b31m\\u202e" + `'\r\n"}`
	if err := os.WriteFile("evil.yaml", []byte(strings.Replace(gitFreeSpec, `{name: a, script: "#!/bin/sh\n"}`, hook, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	const bad = "\x1b\x07\u009b\u202e"
	plainAnywhere := false
	for _, args := range [][]string{
		{"render", "-o", "tree"}, {"render"}, {"render", "-o", "json"}, {"render", "-o", "mime"}, {"bake"}, {"merge"}, {"diff"}, {"explain"}, {"list"}, {"lint"}, {"check"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			args = append([]string{"kopshook"}, append(args, "evil.yaml", "manifest.yaml")...)
			tty, shown := newTerminal(t)
			Run(context.Background(), args, strings.NewReader(""), tty, io.Discard)
			out := shown()
			if out == "" || strings.ContainsAny(out, bad) {
				t.Errorf("%q", out)
			}
			var plain bytes.Buffer
			Run(context.Background(), args, strings.NewReader(""), &plain, io.Discard)
			plainAnywhere = plainAnywhere || strings.Contains(plain.String(), "\x1b[2J")
		})
	}
	if !plainAnywhere {
		t.Error("programs do not get the script as it is")
	}
}

// What cannot be printed is an error, of every command that prints.
func TestFailedWritesAreErrors(t *testing.T) {
	list := readSeeds(t, inputCommand{seeds: []string{"examples/kustomize/resourcelist.yaml"}})[0]
	workFolder(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("image.yaml", strings.Replace(gitFreeSpec, "{name: a,", "{name: a, run: once-per-image,", 1))
	write("status.json", `{"hook": "a", "phase": "pre-nodeup", "state": "failed", "attempts": 1}`)
	write("adopt.yaml", "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\n  labels: {kops.k8s.io/cluster: a.example.com}\nspec:\n  role: Node\n"+
		"  additionalUserData:\n  - name: 00-a.sh\n    type: text/x-shellscript\n    content: |\n      #!/bin/sh\n      apt-get install x\n")
	stdin := map[string][]byte{"external": []byte(`{"specs": "spec.yaml", "manifests": "manifest.yaml"}`), "fn": list}
	tried := map[string]bool{}
	for _, args := range [][]string{
		{"--help"}, {"help"}, {"--version"}, {"version"}, {"merge", "--help"}, {"merge", "spec.yaml", "manifest.yaml"}, {"render", "spec.yaml", "manifest.yaml"},
		{"render", "-o", "json", "spec.yaml", "manifest.yaml"}, {"render", "-o", "mime", "spec.yaml", "manifest.yaml"}, {"render", "-o", "tree", "spec.yaml", "manifest.yaml"},
		{"lint", "adopt.yaml"}, {"lint", "-o", "json", "adopt.yaml"}, {"explain", "spec.yaml", "manifest.yaml"}, {"list", "spec.yaml", "manifest.yaml"},
		{"diff", "spec.yaml", "manifest.yaml"}, {"check", "spec.yaml", "manifest.yaml"}, {"fit", "spec.yaml", "manifest.yaml"}, {"schema"}, {"completion", "bash"}, {"new", "--list"},
		{"adopt", "adopt.yaml"}, {"convert", "--from", "helm", "chart.yaml"}, {"addon", "--cluster", "a.example.com", "-o", "-", "daemon.yaml"}, {"status", "status.json"},
		{"bake", "image.yaml", "manifest.yaml"}, {"exec", "--dry-run", "around.yaml", "--", "./kops", "upgrade", "cluster", "--yes"}, {"external"}, {"fn"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			run := func(out io.Writer) (int, string) {
				var stderr bytes.Buffer
				code := Run(context.Background(), append([]string{"kopshook"}, args...), bytes.NewReader(stdin[args[0]]), out, &stderr)
				return code, stderr.String()
			}
			var plain bytes.Buffer
			if _, said := run(&plain); plain.Len() == 0 {
				t.Fatalf("it prints nothing: %s", said)
			}
			code, said := run(full)
			if (code != exitInput && args[0] != "exec") || code == exitOK || !strings.Contains(said, "standard output: no space left on device") {
				t.Errorf("exit code %d: %s", code, said)
			}
			tried[args[0]] = true
		})
	}
	for _, c := range newApp(nil, io.Discard, io.Discard).VisibleCommands() {
		switch c.Name {
		case "edit", "lock", "vendor", "push", "try": // they write files, and boot; their few lines go the same way
		default:
			if !tried[c.Name] {
				t.Errorf("%s was not tried", c.Name)
			}
		}
	}
}
