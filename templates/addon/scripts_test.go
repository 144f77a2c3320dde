//go:build unix

package addon

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kopshook.dev/kopshook/internal/nodestatus"
)

// node is a folder in which the pod's script and the node's run as if it were /, of both. systemd-run runs at once what it
// is given; the boots of e2e/ have a real one.
type node struct {
	t    *testing.T
	root string
}

func newNode(t *testing.T) *node {
	n := &node{t, t.TempDir()}
	n.write("etc/machine-id", "m-1\n")
	n.write("boot_id", "boot-1\n")
	n.write("opt/kops/conf/kube_env.yaml", "ClusterName: c.example.com\nInstanceGroupName: \"nodes\"\nInstanceGroupRole: Node\n")
	n.mkdir("hooks")
	n.mkdir("run")
	n.mkdir("state")
	n.program("nsenter", `shift 4; exec "$@"`)
	n.program("sync", `echo "sync ${1##*/}" >> `+n.root+`/disk.log`)
	n.program("journalctl", `exec /bin/sleep 1000`)
	// a second of the pod's long wait is one of here
	n.program("sleep", `[ "$1" = 300 ] || { echo "$1" >> `+n.root+`/sleeps; exec /bin/sleep 0.05; }; exec /bin/sleep 0.2`)
	n.program("systemd-run", `while [ "$1" != /bin/sh ]; do
  case $1 in --setenv=*) export "${1#--setenv=}" ;; esac
  shift
done
"$@"
echo $? > `+n.root+`/exit`)
	n.program("systemctl", `case "$*" in
*reset-failed*) echo "$2" >> `+n.root+`/reset ;;
*ActiveState*) echo inactive ;;
*ExecMainStatus*) cat `+n.root+`/exit ;;
*Result*) cat `+n.root+`/result 2> /dev/null || echo exit-code ;;
esac`)
	return n
}

func (n *node) path(name string) string { return filepath.Join(n.root, name) }

func (n *node) mkdir(name string) {
	n.t.Helper()
	if err := os.MkdirAll(n.path(name), 0o755); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) write(name, content string) {
	n.t.Helper()
	n.mkdir(filepath.Dir(name))
	if err := os.WriteFile(n.path(name), []byte(content), 0o755); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) program(name, script string) { n.write("bin/"+name, "#!/bin/sh\n"+script+"\n") }

func (n *node) read(name string) string {
	n.t.Helper()
	b, err := os.ReadFile(n.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		n.t.Fatal(err)
	}
	return string(b)
}

func (n *node) exists(name string) bool {
	_, err := os.Lstat(n.path(name))
	return err == nil
}

// local makes a script one that runs below the root.
func (n *node) local(script []byte) string {
	s := string(script)
	for _, old := range []string{"/var/lib/", "/etc/machine-id", "/opt/kop", "/run/kopshook", "/hooks/", "/state/"} {
		s = strings.ReplaceAll(s, old, n.root+old)
	}
	s = strings.ReplaceAll(s, "/proc/sys/kernel/random/boot_id", n.root+"/boot_id")
	return strings.ReplaceAll(s, "export PATH=", "export PATH="+n.root+"/bin:")
}

// configMap is what a pod finds of the hook x. It returns the checksum that the pod's argument says.
func (n *node) configMap(files map[string]string) string {
	n.t.Helper()
	var sums bytes.Buffer
	names := []string{"env", "script", "script.a", "script.b", "verify"}
	for _, name := range names {
		if content, ok := files[name]; ok {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256([]byte(content)), name)
		}
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(sums.Bytes()))
	for _, name := range names {
		if content, ok := files[name]; ok {
			n.write("hooks/x/"+sum+"/"+name, content)
		}
	}
	n.write("hooks/x/"+sum+"/SHA256SUMS", sums.String())
	return sum
}

// placed is a configMap that was copied to the node.
func (n *node) placed(files map[string]string) string {
	n.t.Helper()
	sum := n.configMap(files)
	for name, content := range files {
		n.write("opt/kopshook/daemon/x/"+strings.Replace(name, "script.", "scripts/", 1), content)
	}
	n.write("opt/kopshook/daemon/x/SHA256SUMS", n.read("hooks/x/"+sum+"/SHA256SUMS"))
	n.write("opt/kopshook/daemon/x/hook.sh", n.local(Hook))
	return sum
}

// hook runs the node's script.
func (n *node) hook(args ...string) (string, int) {
	n.t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{n.path("opt/kopshook/daemon/x/hook.sh")}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+n.path("bin")+":"+os.Getenv("PATH"))
	cmd.Dir = n.root
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		n.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

const daemon = "opt/kopshook/daemon/x/"

func TestAttemptOnTheNode(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		before func(n *node)
		sum    string // in place of the right one
		verify bool
		exit   int
		why    string
		ran    string
		undone bool
	}{
		"one script":            {files: map[string]string{"script": "#!/bin/sh\necho one >> ran\n"}, ran: "one\n"},
		"scripts, in order":     {files: map[string]string{"script.a": "#!/bin/sh\necho a >> ran\n", "script.b": "#!/bin/sh\necho b >> ran\n"}, ran: "a\nb\n"},
		"the first fails":       {files: map[string]string{"script.a": "#!/bin/sh\nexit 3\n", "script.b": "#!/bin/sh\necho b >> ran\n"}, exit: 3, why: "a: exit status 3\n", undone: true},
		"no list is left open":  {files: map[string]string{"script.a": "#!/bin/sh\n{ cat <&3; } >> ran 2> /dev/null || :\n", "script.b": "#!/bin/sh\necho b >> ran\n"}, ran: "b\n"},
		"verify with a shebang": {files: map[string]string{"verify": "#!/bin/sh -e\nfalse\necho on >> ran\n"}, exit: 1, why: "verify: exit status 1\n", undone: true},
		"verify without":        {files: map[string]string{"script": "#!/bin/sh\necho one >> ran\n", "verify": "exit 5"}, exit: 5, why: "verify: exit status 5\n", ran: "one\n", undone: true},
		"verify alone":          {files: map[string]string{"script": "#!/bin/sh\necho one >> ran\n", "verify": "echo fine >> ran\n"}, verify: true, ran: "fine\n", undone: true},
		"variables":             {files: map[string]string{"env": "set -- \"$@\" 'name=a b'\n", "script": "#!/bin/sh\necho \"$name $HOME $KOPSHOOK_CLUSTER $KOPSHOOK_INSTANCE_GROUP $KOPSHOOK_ROLE $KOPSHOOK_FIRST_BOOT\" >> ran\n"}, ran: "a b /root c.example.com nodes Node false\n"},
		"the first boot": {files: map[string]string{"script": "#!/bin/sh\necho $KOPSHOOK_FIRST_BOOT >> ran\n"},
			before: func(n *node) { n.write("run/kopshook/env", "CLUSTER=c ROLE=Node FIRST_BOOT=true\n") }, ran: "true\n"},
		"a signal":             {files: map[string]string{"script": "#!/bin/sh\nkill -9 $PPID\n"}, exit: -1, why: "ended by a signal\n", undone: true},
		"files of another pod": {files: map[string]string{"script": "#!/bin/sh\necho one >> ran\n"}, sum: strings.Repeat("0", 64), exit: 1, why: "the files are not those of this pod\n", undone: true},
		"a script that was edited": {files: map[string]string{"script": "#!/bin/sh\necho one >> ran\n"}, exit: 1, why: "the files are not those of this pod\n", undone: true,
			before: func(n *node) { n.write(daemon+"script", "#!/bin/sh\necho other >> ran\n") }},
		"it cannot be remembered": {files: map[string]string{"script": "#!/bin/sh\necho one >> ran\n"}, exit: 1, why: "stamp: exit status 1\n", ran: "one\n", undone: true,
			before: func(n *node) { n.program("sync", "exit 1") }},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			sum := n.placed(c.files)
			if c.before != nil {
				c.before(n)
			}
			said := sum
			if c.sum != "" {
				said = c.sum
			}
			do := "run"
			if c.verify {
				do = "verify"
			}
			out, exit := n.hook(do, said, sum)
			if exit != c.exit || n.read(daemon+"why") != c.why || n.read(daemon+"ran") != c.ran {
				t.Errorf("exit status %d, want %d; reason %q, want %q; it did %q, want %q: %s", exit, c.exit, n.read(daemon+"why"), c.why, n.read(daemon+"ran"), c.ran, out)
			}
			if _, fine := n.hook("fine"); (fine == 0) != (c.why == "") {
				t.Errorf("fine says %d after the reason %q", fine, c.why)
			}
			if _, finished := n.hook("finished", sum, "once-per-instance"); (finished != 0) != c.undone {
				t.Errorf("finished says %d", finished)
			}
		})
	}
}

func TestAttemptIsRememberedForItsContentMachineAndBoot(t *testing.T) {
	n := newNode(t)
	sum := n.placed(map[string]string{"script": "#!/bin/sh\n"})
	if out, exit := n.hook("run", sum, sum); exit != 0 {
		t.Fatal(out)
	}
	if got := n.read("disk.log"); got != "sync .x\n" {
		t.Errorf("synced: %q", got)
	}
	finished := func(sum, run string, want bool) {
		t.Helper()
		if _, exit := n.hook("finished", sum, run); (exit == 0) != want {
			t.Errorf("finished %s says %d", run, exit)
		}
	}
	finished(sum, "once-per-instance", true)
	finished(sum, "every-boot", true)
	finished(strings.Repeat("0", 64), "once-per-instance", false)
	n.write("boot_id", "boot-2\n")
	finished(sum, "once-per-instance", true)
	finished(sum, "every-boot", false)
	n.write("etc/machine-id", "m-2\n")
	finished(sum, "once-per-instance", false)
	instance := func(id string) {
		t.Helper()
		n.mkdir("var/lib/cloud")
		os.Remove(n.path("var/lib/cloud/instance"))
		if err := os.Symlink("/var/lib/cloud/instances/"+id, n.path("var/lib/cloud/instance")); err != nil {
			t.Fatal(err)
		}
	}
	instance("i-1")
	n.hook("run", sum, sum)
	n.write("etc/machine-id", "m-3\n")
	finished(sum, "once-per-instance", true) // cloud-init's id says which machine this is
	instance("iid-datasource-none")
	n.hook("run", sum, sum)
	n.write("etc/machine-id", "m-4\n")
	finished(sum, "once-per-instance", false) // it does not know
}

func TestStatusOnTheNode(t *testing.T) {
	n := newNode(t)
	n.placed(nil)
	const v = "var/lib/kopshook/"
	n.hook("status", "failed", "timed out after 3 s", "2", "124", "2026-01-02T03:04:05Z", "abc")
	var got nodestatus.Status
	if err := json.Unmarshal([]byte(n.read(v+"status/x.json")), &got); err != nil {
		t.Fatal(err)
	}
	want := nodestatus.Status{Hook: "x", Phase: "daemon", State: nodestatus.Failed, Reason: "timed out after 3 s", Attempts: 2, ExitCode: 124,
		StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), InstanceID: "m-1", Hash: "abc"}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(nodestatus.Status{}, "UpdatedAt")); diff != "" {
		t.Error(diff)
	}
	if _, exit := n.hook("recorded", "abc"); exit == 0 {
		t.Error("a failure counts as success")
	}
	n.hook("status", "succeeded", "", "1", "0", "2026-01-02T03:04:05Z", "abc")
	if _, exit := n.hook("recorded", "abc"); exit != 0 {
		t.Error("success does not count")
	}
	if _, exit := n.hook("recorded", "abd"); exit == 0 {
		t.Error("success with other content counts")
	}
	if _, exit := n.hook("skipped"); exit == 0 {
		t.Error("it is skipped, though nobody said so")
	}
	n.write(v+"skip/x", "")
	if _, exit := n.hook("skipped"); exit != 0 {
		t.Error("it is not skipped")
	}
	n.write(v+"daemon/x", "stamp")
	n.hook("forget")
	for _, f := range []string{v + "status/x.json", v + "daemon/x", "opt/kopshook/daemon/x"} {
		if n.exists(f) {
			t.Errorf("%s is still there", f)
		}
	}
	n.placed(nil)
	n.write(v+"status/x.json", `{"hook":"x","phase":"pre-nodeup"}`)
	if n.hook("forget"); !n.exists(v + "status/x.json") {
		t.Error("the status of a hook of user data with that name is gone")
	}
}

// pod is the pod's script, running.
type pod struct {
	*node
	cmd *exec.Cmd
	out *bytes.Buffer
}

func (n *node) start(args ...string) *pod {
	n.t.Helper()
	os.RemoveAll(n.path("state/ready")) // each pod has a folder of its own
	n.write("kopshook/run.sh", n.local(Run))
	n.write("kopshook/hook.sh", n.local(Hook))
	p := &pod{n, exec.Command("/bin/sh", append([]string{n.path("kopshook/run.sh")}, args...)...), &bytes.Buffer{}}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) })
	return p
}

// until waits for what is to come.
func (p *pod) until(what string, is func() bool) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			p.cmd.Wait()
			p.t.Fatalf("not %s: %s\n%s", what, p.out, p.read("var/lib/kopshook/status/x.json"))
		}
	}
}

func (p *pod) ready() bool { return p.exists("state/ready") }

func (p *pod) says(state nodestatus.State, reason string) bool {
	var s nodestatus.Status
	return json.Unmarshal([]byte(p.read("var/lib/kopshook/status/x.json")), &s) == nil && s.State == state && s.Reason == reason
}

// end stops the pod as a kubelet does.
func (p *pod) end() {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); p.cmd.ProcessState.ExitCode() != 0 {
		p.t.Errorf("%v: %s", err, p.out)
	}
	if p.exists("run/kopshook-daemon-x.lock") {
		p.t.Error("it keeps the node's lock")
	}
}

// The pod is ready when its hook ran and was verified once. What breaks later stands in the status file, and stops no
// rollout of something else.
func TestPodRunsItsHookAndVerifiesItFromThenOn(t *testing.T) {
	n := newNode(t)
	sum := n.configMap(map[string]string{"script": "#!/bin/sh\necho ran $KOPSHOOK_ATTEMPT >> " + n.path("log") + "\n",
		"verify": "[ ! -e " + n.path("broken") + " ]\n"})
	args := "name=x run=once-per-instance timeout=20 attempts=2 delay=5 sum=" + sum
	p := n.start(args)
	p.until("ready", p.ready)
	p.until("succeeded", func() bool { return p.says(nodestatus.Succeeded, "") })
	n.write("broken", "")
	p.until("out of order", func() bool { return p.says(nodestatus.Failed, "verify: exit status 1") })
	if !p.ready() {
		t.Error("drift makes the pod unready: the next rollout would take all such nodes at once")
	}
	os.Remove(n.path("broken"))
	p.until("in order again", func() bool { return p.says(nodestatus.Succeeded, "verified again") })
	p.end()
	n.write("broken", "")
	p = n.start(args)
	p.until("ready at once", p.ready)
	p.until("asked again", func() bool { return p.says(nodestatus.Failed, "verify: exit status 1") })
	p.end()
	if got := n.read("log"); got != "ran 1\n" {
		t.Errorf("it ran %q", got)
	}
}

// The first run has to be verified: until then a pod is not ready, also where an older content was.
func TestPodIsNotReadyForWhatNeverWorked(t *testing.T) {
	n := newNode(t)
	args := func(verify string) string {
		return "name=x run=once-per-instance timeout=20 attempts=1 delay=5 sum=" + n.configMap(map[string]string{"script": "#!/bin/sh\n", "verify": verify})
	}
	p := n.start(args("true\n"))
	p.until("ready", p.ready)
	p.end()
	p = n.start(args("exit 9\n"))
	p.until("failed", func() bool { return p.says(nodestatus.Failed, "verify: exit status 9") })
	if p.ready() {
		t.Error("it is ready")
	}
	p.end()
}

// onDrift: run. The hook runs again when the node has its turn, and only as often as attempts says; before that, and after,
// the status says what is wrong.
func TestPodRunsAHookAgainThatDrifted(t *testing.T) {
	for name, c := range map[string]struct {
		script   string // the run after the first
		attempts int
		state    nodestatus.State
		reason   string
		runs     int
	}{
		"it mends":     {"rm " + "BROKEN", 2, nodestatus.Succeeded, "ran again: verify: exit status 1", 2},
		"it does not":  {":", 2, nodestatus.Failed, "verify: exit status 1; 2 runs did not mend it", 3},
		"nor does one": {"exit 7", 1, nodestatus.Failed, "verify: exit status 1; 1 runs did not mend it", 2},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.program("date", `case $1 in +%s) cat `+n.root+`/now ;; *) exec /bin/date "$@" ;; esac`)
			n.write("now", "1000000\n")
			broken := n.path("broken")
			sum := n.configMap(map[string]string{
				"script": "#!/bin/sh\necho x >> " + n.path("log") + "\n[ ! -e " + broken + " ] || " + strings.Replace(c.script, "BROKEN", broken, 1) + "\n",
				"verify": "[ ! -e " + broken + " ]\n"})
			p := n.start(fmt.Sprintf("name=x run=once-per-instance timeout=20 attempts=%d delay=5 drift=run sum=%s", c.attempts, sum))
			p.until("ready", p.ready)
			n.write("broken", "")
			p.until("waiting for its turn", func() bool { return strings.Contains(p.read("var/lib/kopshook/status/x.json"), "; runs again in ") })
			if got := n.read("log"); got != "x\n" {
				t.Fatalf("it ran before its turn: %q", got)
			}
			for range c.runs - 1 {
				var turn string
				p.until("told its turn", func() bool { turn = n.read("state/turn-x"); return turn > n.read("now") })
				before := n.read("log")
				n.write("now", turn)
				p.until("run", func() bool { return n.read("log") != before })
			}
			p.until("done with", func() bool { return p.says(c.state, c.reason) })
			if !p.ready() {
				t.Error("it is not ready")
			}
			n.write("now", "9000000\n")
			p.until("looked at again", func() bool { return strings.Count(p.out.String(), "verify: exit") >= 2 })
			p.end()
			if got := strings.Count(n.read("log"), "x"); got != c.runs {
				t.Errorf("it ran %d times, want %d", got, c.runs)
			}
		})
	}
}

// Turns of a hook: ten follow each other, each as long as the hook may take and a minute, and a node has one of them, the
// same each time. One that comes too late for its turn waits for the next.
func TestTurnsOfNodesDoNotMeet(t *testing.T) {
	turn := func(node string, now int) int {
		t.Helper()
		text := string(Run)
		from := strings.Index(text, "next_turn() {")
		function := text[from : from+strings.Index(text[from:], "\n}\n")+3]
		cmd := exec.Command("/bin/sh", "-c", "set -u\ndate() { echo "+fmt.Sprint(now)+"; }\nlength=80\n"+function+"next_turn")
		cmd.Env = append(os.Environ(), "NODE_NAME="+node)
		out, err := cmd.CombinedOutput()
		var at int
		if _, scan := fmt.Sscan(string(out), &at); err != nil || scan != nil {
			t.Fatalf("%v %v: %s", err, scan, out)
		}
		return at
	}
	slots := map[int]int{}
	for i := range 100 {
		node := fmt.Sprint("i-", i)
		at := turn(node, 1000000+i*7)
		if at <= 1000000+i*7 || at > 1000000+i*7+800 || at%80 != 0 {
			t.Errorf("%s has its turn at %d", node, at)
		}
		if again := turn(node, at); again != at+800 {
			t.Errorf("%s has its next turn %d seconds later, want 800", node, again-at)
		}
		slots[at/80%10]++
	}
	for slot := range 10 {
		if slots[slot] < 2 || slots[slot] > 20 {
			t.Errorf("%d of 100 nodes have turn %d", slots[slot], slot)
		}
	}
}

// kops prunes the ConfigMaps of an older template though its pods still wait for their turn: after a reboot they go on with
// what they brought to the node.
func TestPodGoesOnWithoutItsConfigMap(t *testing.T) {
	n := newNode(t)
	sum := n.configMap(map[string]string{"script": "#!/bin/sh\necho x >> " + n.path("log") + "\n", "verify": "echo v >> " + n.path("log") + "\n"})
	args := "name=x run=every-boot timeout=20 attempts=1 delay=5 sum=" + sum
	p := n.start(args)
	p.until("ready", p.ready)
	p.end()
	os.RemoveAll(n.path("hooks/x/" + sum))
	n.write("boot_id", "boot-2\n")
	p = n.start(args)
	p.until("ready", p.ready)
	p.until("run again", func() bool { return strings.HasPrefix(n.read("log"), "x\nv\nx\nv\n") })
	p.end()
}

// The annotation of the pod template has a hook run again, once for each value.
func TestPodRunsAHookAgainWhenItIsAskedTo(t *testing.T) {
	n := newNode(t)
	sum := n.configMap(map[string]string{"script": "#!/bin/sh\necho x >> " + n.path("log") + "\n"})
	args := "name=x run=once-per-instance timeout=20 attempts=1 delay=5 sum=" + sum
	for _, c := range []struct{ again, log string }{
		{"", "x\n"}, {"x=1", "x\nx\n"}, {"x=1", "x\nx\n"}, {"other=5 x=1", "x\nx\n"}, {"x=2 other=5", "x\nx\nx\n"}, {"*", "x\nx\nx\nx\n"},
	} {
		n.t.Setenv("AGAIN", c.again)
		p := n.start(args)
		p.until("ready", p.ready)
		p.end()
		if got := n.read("log"); got != c.log {
			t.Errorf("with %q it ran %q in all, want %q", c.again, got, c.log)
		}
	}
}

// What the spec has no more leaves the node, also where it has nothing at all; then the pod is ready.
func TestPodClearsWhatIsGone(t *testing.T) {
	n := newNode(t)
	n.t.Setenv("OWNER", "kopshook.s")
	copying := path.Join(path.Dir(path.Clean(daemon)), "."+path.Base(daemon))
	sum := n.configMap(map[string]string{"script": "#!/bin/sh\necho x >> " + n.path("log") + "\n"})
	args := "name=x run=once-per-instance timeout=20 attempts=1 delay=5 sum=" + sum
	for range 2 {
		p := n.start(args)
		p.until("ready", p.ready)
		p.end()
		n.write(copying+"/owner", "kopshook.s\n") // as of a pod that was stopped while it copied
		os.Remove(n.path("reset"))
		p = n.start()
		p.until("ready without hooks", p.ready)
		p.end()
		if got := strings.Count(p.out.String(), "no longer in the spec"); got != 1 {
			t.Errorf("%d hooks are gone: %s", got, p.out)
		}
		if got := n.read("reset"); got != "kopshook-daemon@x.service\n" {
			t.Errorf("a failed unit stays: systemd forgets %q", got)
		}
		for _, f := range []string{daemon, copying, "var/lib/kopshook/daemon/x", "var/lib/kopshook/status/x.json"} {
			if n.exists(f) {
				t.Errorf("%s is still there: %s", f, p.out)
			}
		}
	}
	if got := n.read("log"); got != "x\nx\n" {
		t.Errorf("it ran %q, want once each time it came", got)
	}
}

// withUndo adds to the hook x what takes it back, and returns the pod's argument.
func (n *node) withUndo(files map[string]string, undo string) string {
	n.t.Helper()
	sum, undone := n.configMap(files), fmt.Sprintf("%x", sha256.Sum256([]byte(undo)))
	if err := os.Rename(n.path("hooks/x/"+sum), n.path("hooks/x/"+sum+undone)); err != nil {
		n.t.Fatal(err)
	}
	n.write("hooks/x/"+sum+undone+"/undo", undo)
	return "name=x run=once-per-instance timeout=20 attempts=2 delay=5 sum=" + sum + " undo=" + undone
}

// What a hook did is taken back when the spec has it no more, by what was brought with it: with its variables, as often as
// its attempts, and only then does it leave the node.
func TestPodTakesBackAHookThatIsGone(t *testing.T) {
	const script = "#!/bin/sh\necho ran >> LOG\n"
	for name, c := range map[string]struct {
		script, undo string
		between      func(n *node)
		log          string
		status       string // of what stays on the node, "" when nothing does
	}{
		"at once":                 {script, "echo \"undone $A $KOPSHOOK_INSTANCE_GROUP\" >> LOG\n", nil, "ran\nundone b c nodes\n", ""},
		"with an interpreter":     {script, "#!/bin/sh -e\necho undone >> LOG\nfalse || exit 0\n", nil, "ran\nundone\n", ""},
		"at the second time":      {script, "echo undone >> LOG\n[ $KOPSHOOK_ATTEMPT = 2 ]\n", nil, "ran\nundone\nundone\n", ""},
		"though it failed":        {"#!/bin/sh\necho ran >> LOG\nexit 3\n", "echo undone >> LOG\n", nil, "ran\nran\nundone\n", ""},
		"never":                   {script, "echo undone >> LOG\nexit 4\n", nil, "ran\nundone\nundone\n", "undo: exit status 4"},
		"where it was edited":     {script, "echo undone >> LOG\n", func(n *node) { n.write(daemon+"undo", "echo other >> LOG") }, "ran\n", "the files are not those of this pod"},
		"where systemd cannot":    {script, "echo undone >> LOG\n", func(n *node) { n.program("systemd-run", "echo 1 > "+n.root+"/exit") }, "ran\n", "systemd could not run it"},
		"not where it is skipped": {script, "echo undone >> LOG\n", func(n *node) { n.write("var/lib/kopshook/skip/x", "") }, "ran\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.t.Setenv("OWNER", "kopshook.s")
			local := strings.NewReplacer("LOG", n.path("log"))
			p := n.start(n.withUndo(map[string]string{"script": local.Replace(c.script), "env": "set -- \"$@\" A='b c'\n"}, local.Replace(c.undo)))
			p.until("done", func() bool { return p.ready() || p.says(nodestatus.Failed, "script: exit status 3") })
			p.end()
			os.RemoveAll(n.path("hooks/x")) // kops prunes what the new addon does not have
			if c.between != nil {
				c.between(n)
			}
			p = n.start()
			if c.status == "" {
				p.until("ready without it", p.ready)
			} else {
				p.until("failed", func() bool { return p.says(nodestatus.Failed, c.status) })
				p.until("done", func() bool { return !n.exists("run/kopshook-daemon-x.lock") })
				if p.ready() {
					t.Error("it is ready: the next node would follow")
				}
			}
			p.end()
			if got := n.read("log"); got != c.log {
				t.Errorf("it did %q, want %q: %s", got, c.log, p.out)
			}
			if n.exists(daemon) != (c.status != "") || n.exists("var/lib/kopshook/status/x.json") != (c.status != "") {
				t.Errorf("files of the hook are there: %v, its status: %v", n.exists(daemon), n.exists("var/lib/kopshook/status/x.json"))
			}
			if !strings.HasPrefix(name, "where systemd") && n.exists("var/lib/kopshook/daemon/x") {
				t.Error("the note that it ran is there: should it come back, it would not run")
			}
		})
	}
}

// A hook that could not be taken back runs again when it comes back, and an operator can have it left as it is.
func TestPodGoesOnAfterAFailedUndo(t *testing.T) {
	n := newNode(t)
	n.t.Setenv("OWNER", "kopshook.s")
	args := n.withUndo(map[string]string{"script": "#!/bin/sh\necho ran >> " + n.path("log") + "\n"}, "exit 4\n")
	for range 2 {
		p := n.start(args)
		p.until("ready", p.ready)
		p.until("succeeded", func() bool { return p.says(nodestatus.Succeeded, "") })
		p.end()
		p = n.start()
		p.until("failed", func() bool { return p.says(nodestatus.Failed, "undo: exit status 4") })
		p.end()
	}
	if got := n.read("log"); got != "ran\nran\n" {
		t.Errorf("it ran %q, want once each time it came", got)
	}
	p := n.start()
	p.until("failed", func() bool { return strings.Contains(p.out.String(), "undo, attempt 2 of 2: undo: exit status 4") })
	n.write("var/lib/kopshook/skip/x", "")
	p.until("ready when it is skipped", p.ready)
	p.end()
	p = n.start()
	p.until("ready", p.ready)
	p.end()
	if n.exists(daemon) {
		t.Error("its files stay")
	}
}

// What takes a hook back can change without another run; a hook that another spec took over is not taken back.
func TestPodKeepsTheLatestUndo(t *testing.T) {
	n := newNode(t)
	n.t.Setenv("OWNER", "kopshook.s")
	files := map[string]string{"script": "#!/bin/sh\necho ran >> " + n.path("log") + "\n"}
	args := n.withUndo(files, "echo old >> "+n.path("log")+"\n")
	p := n.start(args)
	p.until("ready", p.ready)
	p.end()
	newer := n.withUndo(files, "echo new >> "+n.path("log")+"\n")
	late := "hooks/x/" + newer[strings.Index(newer, "sum=")+4:strings.Index(newer, " undo=")] + newer[strings.Index(newer, "undo=")+5:]
	os.Rename(n.path(late), n.path("late"))
	p = n.start(newer)
	p.until("waiting for the newer one", func() bool { return strings.Contains(p.out.String(), "waits for the ConfigMap") })
	if p.ready() {
		t.Error("it is ready, and the node does not have what takes the hook back now")
	}
	os.Rename(n.path("late"), n.path(late))
	p.until("ready", p.ready)
	p.end()
	n.t.Setenv("OWNER", "kopshook.other")
	p = n.start()
	p.until("ready", p.ready)
	p.end()
	n.t.Setenv("OWNER", "kopshook.s")
	p = n.start()
	p.until("ready", p.ready)
	p.end()
	if got := n.read("log"); got != "ran\nnew\n" {
		t.Errorf("it did %q, want what it brought last", got)
	}
}

// Where a hook moves from one spec to another, the older spec's pod may have looked before the newer one's took it.
func TestPodLeavesAHookThatMoved(t *testing.T) {
	n := newNode(t)
	n.t.Setenv("OWNER", "kopshook.s")
	p := n.start(n.withUndo(map[string]string{"script": "#!/bin/sh\n"}, ": > "+n.path("log")+"\n"))
	p.until("ready", p.ready)
	p.cmd.Process.Signal(syscall.SIGSTOP)
	n.write("run/kopshook-daemon-x.lock", fmt.Sprintln(p.cmd.Process.Pid))
	second := n.start()
	second.until("waiting", func() bool { return strings.Contains(n.read("sleeps"), "2\n") })
	n.write(daemon+"owner", "kopshook.other\n")
	os.Remove(n.path("run/kopshook-daemon-x.lock"))
	second.until("ready", second.ready)
	second.end()
	if n.exists("log") || !n.exists(daemon) {
		t.Error("it took back what another spec has by now")
	}
}

// What node-problem-detector shows to schedulers: a file that is there while the pod is ready, and not before; a reboot takes
// it away.
func TestNodeSaysThatItsHooksAreVerified(t *testing.T) {
	n := newNode(t)
	n.t.Setenv("OWNER", "kopshook.s")
	n.write("verified.sh", string(Verified))
	verified := func() bool {
		t.Helper()
		cmd := exec.Command("/bin/sh", n.path("verified.sh"), "kopshook.s")
		cmd.Env = append(os.Environ(), "VERIFIED="+n.path("run/kopshook-daemon"))
		out, err := cmd.CombinedOutput()
		if exit := cmd.ProcessState.ExitCode(); exit > 1 || (exit == 1) != strings.Contains(string(out), "not all of its hooks have run and been verified") {
			t.Errorf("%v: %s", err, out)
		}
		return err == nil
	}
	args := func(script string) string {
		return "name=x run=once-per-instance timeout=20 attempts=1 delay=5 sum=" + n.configMap(map[string]string{"script": "#!/bin/sh\n" + script + "\n"})
	}
	if verified() {
		t.Error("it is, and no pod ran")
	}
	p := n.start(args("exit 3"))
	p.until("failed", func() bool { return p.says(nodestatus.Failed, "script: exit status 3") })
	p.end()
	if verified() {
		t.Error("it is, and the hook failed")
	}
	p = n.start(args(":"))
	p.until("verified", verified)
	if !p.ready() {
		t.Error("it is, and the pod is not ready")
	}
	p.end()
	p = n.start(args("exit 4"))
	p.until("failed", func() bool { return p.says(nodestatus.Failed, "script: exit status 4") })
	p.end()
	if verified() {
		t.Error("it is, and a newer content failed")
	}
	p = n.start()
	p.until("verified without hooks", verified)
	p.end()
}

// A pod runs what overrides say for the instance group of its node.
func TestPodChoosesTheHooksOfItsInstanceGroup(t *testing.T) {
	for name, c := range map[string]struct {
		filter string
		runs   bool
	}{
		"all": {"", true}, "its own": {" only=gpu,nodes", true}, "others": {" only=gpu", false}, "a part of its name": {" only=nodes-b,node", false},
		"all but others": {" except=gpu", true}, "all but its own": {" except=nodes,gpu", false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			sum := n.configMap(map[string]string{"script": "#!/bin/sh\necho x >> " + n.path("log") + "\n"})
			p := n.start("name=x run=once-per-instance timeout=20 attempts=1 delay=5 sum=" + sum + c.filter)
			p.until("ready", p.ready)
			p.end()
			if n.exists("log") != c.runs {
				t.Errorf("it ran: %v, want %v", n.exists("log"), c.runs)
			}
		})
	}
	n := newNode(t)
	os.Remove(n.path("opt/kops/conf/kube_env.yaml"))
	p := n.start("name=x run=once-per-instance timeout=20 attempts=1 delay=5 only=nodes sum=" + n.configMap(map[string]string{"script": "#!/bin/sh\n"}))
	p.until("waiting", func() bool { return strings.Contains(n.read("sleeps"), "30\n") })
	if p.ready() {
		t.Error("a pod that does not know its instance group is ready")
	}
	p.end()
}

func TestPodOfAHookThatFails(t *testing.T) {
	n := newNode(t)
	sum := n.configMap(map[string]string{"script": "#!/bin/sh\necho x >> " + n.path("log") + "\nexit 3\n"})
	p := n.start("name=x run=once-per-instance timeout=20 attempts=3 delay=50 sum=" + sum)
	p.until("failed", func() bool { return p.says(nodestatus.Failed, "script: exit status 3") })
	p.until("done trying", func() bool { return strings.Count(p.read("log"), "x") == 3 })
	if p.ready() {
		t.Error("it is ready")
	}
	p.end()
	if got := n.read("sleeps"); !strings.HasPrefix(got, "50\n100\n1\n") {
		t.Errorf("it waited %q", got)
	}
	if n.exists("var/lib/kopshook/daemon/x") {
		t.Error("it is remembered as done")
	}
}

func TestPodLeavesToTheOperatorWhatIsSkipped(t *testing.T) {
	n := newNode(t)
	sum := n.configMap(map[string]string{"script": "#!/bin/sh\n: > " + n.path("log") + "\n"})
	n.write("var/lib/kopshook/skip/x", "")
	p := n.start("name=x run=once-per-instance timeout=20 attempts=3 delay=5 sum=" + sum)
	p.until("ready", p.ready)
	p.end()
	if !p.says(nodestatus.Skipped, "") || n.exists("log") {
		t.Errorf("%s, ran: %v", n.read("var/lib/kopshook/status/x.json"), n.exists("log"))
	}
}

func TestPodWaitsForItsConfigMapAndForOtherPods(t *testing.T) {
	n := newNode(t)
	log := "echo x >> " + n.path("log") + "\n"
	sum := n.configMap(map[string]string{"script": "#!/bin/sh\n" + log})
	os.Rename(n.path("hooks/x/"+sum), n.path("late"))
	n.configMap(map[string]string{"script": "#!/bin/sh\n# of another template\n" + log})
	// a pod that is gone left its lock
	n.write("run/kopshook-daemon-x.lock", "999999\n")
	p := n.start("name=x run=once-per-instance timeout=20 attempts=3 delay=5 sum=" + sum)
	p.until("waiting", func() bool { return strings.Contains(n.read("sleeps"), "5\n") })
	if n.exists("log") || p.ready() {
		t.Error("it ran what belongs to another pod")
	}
	os.Rename(n.path("late"), n.path("hooks/x/"+sum))
	p.until("ready", p.ready)
	// and a second one, with other content, waits while the first has the node
	sum = n.configMap(map[string]string{"script": "#!/bin/sh\n# newer\n" + log})
	p.cmd.Process.Signal(syscall.SIGSTOP)
	n.write("run/kopshook-daemon-x.lock", fmt.Sprintln(p.cmd.Process.Pid))
	os.Remove(n.path("sleeps"))
	second := n.start("name=x run=once-per-instance timeout=20 attempts=3 delay=5 sum=" + sum)
	second.until("waiting", func() bool { return strings.Contains(n.read("sleeps"), "2\n") })
	if second.ready() {
		t.Error("it took a lock that a living pod has")
	}
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // else it may be ready again in the second one's folder
	p.cmd.Wait()
	os.Remove(n.path("run/kopshook-daemon-x.lock"))
	second.until("ready", second.ready)
	second.end()
	if got := n.read("log"); got != "x\nx\n" {
		t.Errorf("it ran %q", got)
	}
}
