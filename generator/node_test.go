package generator

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kopshook.dev/kopshook/internal/nodestatus"
)

// node is a folder in which the scripts that land on a node run as if it were /. systemd is not there: the boots of
// e2e/ have it.
type node struct {
	t     *testing.T
	root  string
	shell []string
}

// shells are what /bin/sh is on the nodes of kops: dash on Debian and Ubuntu, bash on the others.
func shells(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{"sh": {"/bin/sh"}}
	if bash, err := exec.LookPath("bash"); err == nil {
		found["bash"] = []string{bash, "--posix"}
	}
	return found
}

// newNode returns a node whose instance-id is i-1.
func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{t, t.TempDir(), []string{"/bin/sh"}}
	for _, dir := range []string{"var/lib/cloud/instances/i-1", "run/systemd/system", "etc/systemd/system", "sys/fs/cgroup", "dev", "bin"} {
		n.mkdir(dir)
	}
	n.instance("i-1")
	n.write("sys/fs/cgroup/system.slice", "", 0o644) // no cgroups here
	n.write("bin/systemctl", "#!/bin/sh\necho \"$*\" >> "+n.root+"/systemctl.log\n", 0o755)
	n.write("bin/sync", "#!/bin/sh\n", 0o755)
	n.write("bin/journalctl", "#!/bin/sh\n[ \"$1\" = --sync ] || echo last lines\n", 0o755)
	return n
}

func (n *node) path(path string) string { return filepath.Join(n.root, path) }

func (n *node) mkdir(path string) {
	n.t.Helper()
	if err := os.MkdirAll(n.path(path), 0o755); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) write(path, content string, mode os.FileMode) {
	n.t.Helper()
	n.mkdir(filepath.Dir(path))
	if err := os.WriteFile(n.path(path), []byte(content), mode); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) read(path string) string {
	n.t.Helper()
	b, err := os.ReadFile(n.path(path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		n.t.Fatal(err)
	}
	return string(b)
}

func (n *node) exists(path string) bool {
	_, err := os.Lstat(n.path(path))
	return err == nil
}

func (n *node) instance(id string) {
	n.t.Helper()
	link := n.path("var/lib/cloud/instance")
	os.Remove(link)
	if err := os.Symlink("/var/lib/cloud/instances/"+id, link); err != nil {
		n.t.Fatal(err)
	}
}

// local makes a script of the node one that runs below the node's root.
func (n *node) local(script string) string {
	for _, dir := range []string{"/run/kopshook", "/run/systemd", "/var/lib/", "/etc/systemd", "/opt/kopshook", "/sys/fs/cgroup", "/dev/console"} {
		script = strings.ReplaceAll(script, dir, n.root+dir)
	}
	return script
}

// sh runs a script, installed as name, and returns its output and exit status.
func (n *node) sh(name, script string, args ...string) (string, int) {
	n.t.Helper()
	n.write(name, n.local(script), 0o755)
	cmd := exec.Command(n.shell[0], slices.Concat(n.shell[1:], []string{n.path(name)}, args)...)
	cmd.Env = append(os.Environ(), "PATH="+n.path("bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		n.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// gate runs the gate for the hooks.
func (n *node) gate(hooks ...Hook) (string, int) {
	n.t.Helper()
	return n.sh("gate.sh", mustGenerate(n.t, gpuGroup, hooks...)[0].Content)
}

// dropIns returns the drop-ins of kopshook in /etc, by path.
func (n *node) dropIns() map[string]string {
	n.t.Helper()
	found := map[string]string{}
	paths, err := filepath.Glob(n.path("etc/systemd/system/*.d/*"))
	if err != nil {
		n.t.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			n.t.Fatal(err)
		}
		found[strings.TrimPrefix(p, n.root)] = strings.ReplaceAll(string(b), n.root, "")
	}
	return found
}

// planned returns the drop-ins that Files says the gate writes.
func planned(t *testing.T, hooks ...Hook) map[string]string {
	t.Helper()
	files, err := Files(gpuGroup, "v1", hooks)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, f := range files {
		if strings.Contains(f.Path, ".d/kopshook-") {
			m[f.Path] = string(f.Content)
		}
	}
	return m
}

func TestGateWritesTheDropIns(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) { testGateWritesTheDropIns(t, shell) })
	}
}

func testGateWritesTheDropIns(t *testing.T, shell []string) {
	n := newNode(t)
	n.shell = shell
	out, status := n.gate(allKinds(t)...)
	if status != 0 || out != "" {
		t.Fatalf("exit status %d: %s", status, out)
	}
	want := planned(t, allKinds(t)...)
	if diff := cmp.Diff(want, n.dropIns()); diff != "" {
		t.Errorf("not what Files says (-want +got):\n%s", diff)
	}
	if got := n.read("systemctl.log"); got != "daemon-reload\n" {
		t.Errorf("systemctl was told %q", got)
	}

	t.Run("and on the next boot nothing", func(t *testing.T) {
		n.write("run/kopshook/ok/light", "", 0o644)
		n.write("etc/systemd/system/kopshook-light.service", "", 0o644)
		before, err := os.Stat(n.path("etc/systemd/system/kubelet.service.d/kopshook-495-light.conf"))
		if err != nil {
			t.Fatal(err)
		}
		if out, status := n.gate(allKinds(t)...); status != 0 || out != "" {
			t.Fatalf("exit status %d: %s", status, out)
		}
		after, err := os.Stat(n.path("etc/systemd/system/kubelet.service.d/kopshook-495-light.conf"))
		if err != nil {
			t.Fatal(err)
		}
		if !os.SameFile(before, after) {
			t.Error("a drop-in was written again")
		}
		if got := n.read("systemctl.log"); got != "daemon-reload\n" {
			t.Errorf("systemctl was told %q", got)
		}
		if n.exists("run/kopshook/ok/light") {
			t.Error("the marker of the last boot is still there")
		}
		if !n.exists("etc/systemd/system/kopshook-light.service") {
			t.Error("the unit is gone")
		}
	})
	t.Run("and sweeps what an older gate left", func(t *testing.T) {
		one := newHook("light", PreNodeup, "#!/bin/sh\n")
		n.write("etc/systemd/system/kubelet.service.d/90-kopshook-nvidia-driver.conf", "theirs", 0o644)
		if out, status := n.gate(one); status != 0 || out != "" {
			t.Fatalf("exit status %d: %s", status, out)
		}
		want := planned(t, one)
		want["/etc/systemd/system/kubelet.service.d/90-kopshook-nvidia-driver.conf"] = "theirs"
		if diff := cmp.Diff(want, n.dropIns()); diff != "" {
			t.Error(diff)
		}
		if got := n.read("systemctl.log"); got != "daemon-reload\ndaemon-reload\n" {
			t.Errorf("systemctl was told %q", got)
		}
	})
	t.Run("and on another machine removes what the image holds of hooks", func(t *testing.T) {
		one := newHook("light", PreNodeup, "#!/bin/sh\n")
		n.instance("i-2")
		for _, file := range []string{"status/light.json", "skip/light", "i-1/light"} {
			n.write("var/lib/kopshook/"+file, "", 0o644)
		}
		if out, status := n.gate(one); status != 0 || out != "" {
			t.Fatalf("exit status %d: %s", status, out)
		}
		for file, want := range map[string]bool{
			"etc/systemd/system/kopshook-light.service": false,
			"var/lib/kopshook/status/light.json":        false,
			"var/lib/kopshook/skip/light":               false,
			"var/lib/kopshook/i-1/light":                true, // should the machine be that one again
		} {
			if n.exists(file) != want {
				t.Errorf("%s is there: %v, want %v", file, !want, want)
			}
		}
	})
}

func TestGateClosesWhenItFails(t *testing.T) {
	hook := newHook("x", PreNodeup, "#!/bin/sh\n")
	for name, breakIt := range map[string]func(n *node){
		"a file is in the way": func(n *node) { n.write("etc/systemd/system/kops-configuration.service.d", "", 0o644) },
		"no instance-id":       func(n *node) { os.Remove(n.path("var/lib/cloud/instance")) },
		"DataSourceNone":       func(n *node) { n.instance("iid-datasource-none") },
		"an odd instance-id":   func(n *node) { n.instance(`x"y`) },
		"systemd says no":      func(n *node) { n.write("bin/systemctl", "#!/bin/sh\nexit 1\n", 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			breakIt(n)
			if _, status := n.gate(hook); status == 0 {
				t.Error("it says that all is well")
			}
			for _, unit := range []string{"kops-configuration", "kubelet"} {
				got := n.read("run/systemd/system/" + unit + ".service.d/kopshook.conf")
				if !strings.HasPrefix(got, "[Unit]\nAssertPathExists=/gate-broken\n") {
					t.Errorf("%s may start: %q", unit, got)
				}
			}
		})
	}
}

// run runs the runner as the hook's unit does.
func (n *node) run(h Hook) (string, int) {
	n.t.Helper()
	m, err := newModel(gpuGroup, "v1", []Hook{h})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, s := range h.Scripts {
		n.write(hookDir(h.Name)+"/"+s.Name, n.local(string(s.Content)), 0o700)
	}
	if h.Verify != nil {
		n.write(hookDir(h.Name)+"/verify", n.local(string(h.Verify)), 0o700)
	}
	for i, f := range m.hooks[0].staged() {
		n.write(hookDir(h.Name)+"/files/"+strconv.Itoa(i), string(f.Content), 0o600)
	}
	for _, p := range m.runtimeParts()[1:] {
		n.write("opt/kopshook/bin/"+installed[p.Name], n.local(p.Content), 0o755)
	}
	args := splitExec(n.t, m.hooks[0].runArguments("0123456789ab"))
	for i, a := range args {
		args[i] = n.local(a)
	}
	return n.sh("opt/kopshook/bin/run", m.runtime.Run, args...)
}

func (n *node) status(hook string) nodestatus.Status {
	n.t.Helper()
	d := json.NewDecoder(strings.NewReader(n.read("var/lib/kopshook/status/" + hook + ".json")))
	d.DisallowUnknownFields()
	var s nodestatus.Status
	if err := d.Decode(&s); err != nil {
		n.t.Fatal(err)
	}
	if age := time.Since(s.UpdatedAt); age < -time.Minute || age > time.Hour || s.StartedAt.After(s.UpdatedAt) {
		n.t.Errorf("times %v, %v", s.StartedAt, s.UpdatedAt)
	}
	return s
}

func quickHook(name, script string) Hook {
	h := newHook(name, PreNodeup, "#!/bin/sh\n"+script+"\n")
	h.RetryDelay, h.Timeout, h.Attempts = 0, 20*time.Second, 2
	return h
}

func TestRunner(t *testing.T) {
	const count = `echo x >> /run/kopshook/count; n=$(grep -c . /run/kopshook/count); `
	base := nodestatus.Status{Hook: "x", Phase: "pre-nodeup", InstanceID: "i-1", Hash: "0123456789ab"}
	for _, c := range []struct {
		name   string
		hook   func(h *Hook)
		script string
		before func(n *node)
		want   nodestatus.Status
		exit   int
		marker bool
		runs   int
	}{
		{name: "succeeds", script: count, want: nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1},
		{name: "fails once", script: count + `[ $n = 2 ]`, want: nodestatus.Status{State: nodestatus.Succeeded, Attempts: 2}, marker: true, runs: 2},
		{name: "fails for good", script: count + `exit 3`, want: nodestatus.Status{State: nodestatus.Failed, Attempts: 2, ExitCode: 3, Reason: "script: exit status 3"}, exit: 3, runs: 2},
		{name: "may fail", script: count + `exit 3`, hook: func(h *Hook) { h.Continue = true },
			want: nodestatus.Status{State: nodestatus.Failed, Attempts: 2, ExitCode: 3, Reason: "script: exit status 3"}, exit: 3, marker: true, runs: 2},
		{name: "takes too long", script: count + `sleep 60`, hook: func(h *Hook) { h.Timeout, h.Attempts = time.Second, 1 },
			want: nodestatus.Status{State: nodestatus.Failed, Attempts: 1, ExitCode: 124, Reason: "script: timed out after 1 s"}, exit: 124, runs: 1},
		{name: "cannot be verified", script: count, hook: func(h *Hook) { h.Verify = []byte("exit 5") },
			want: nodestatus.Status{State: nodestatus.Failed, Attempts: 2, ExitCode: 5, Reason: "verify: exit status 5"}, exit: 5, runs: 2},
		{name: "cannot place a file", script: count, hook: func(h *Hook) {
			h.Files = []File{{Path: "/run/kopshook/with/x", Mode: 0o644, Owner: owner(t), Content: []byte("x")}}
		}, want: nodestatus.Status{State: nodestatus.Failed, Attempts: 2, ExitCode: 1, Reason: "files: exit status 1"}, exit: 1},
		{name: "stops at the first script that fails", hook: func(h *Hook) {
			h.Scripts = []Script{{"a", []byte("#!/bin/sh\n" + count)}, {"b b", []byte("exit 4")}, {"c", []byte(count)}}
		}, want: nodestatus.Status{State: nodestatus.Failed, Attempts: 2, ExitCode: 4, Reason: "script 2: exit status 4"}, exit: 4, runs: 2},
		{name: "has been released", script: count, before: func(n *node) { n.write("var/lib/kopshook/skip/x", "", 0o644) }, want: nodestatus.Status{State: nodestatus.Skipped}, marker: true},
		{name: "is not the gate's", script: count, before: func(n *node) { os.Remove(n.path("run/kopshook/hook/x")) }},
		{name: "is done", script: count, before: func(n *node) { n.write("var/lib/kopshook/i-1/x", "", 0o644) }, marker: true},
		{name: "is done, but runs on every boot", script: count, hook: func(h *Hook) { h.EveryBoot = true },
			before: func(n *node) { n.write("var/lib/kopshook/i-1/x", "", 0o644) }, want: nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1},
		{name: "is done on another machine", script: count, before: func(n *node) { n.write("var/lib/kopshook/i-2/x", "", 0o644) },
			want: nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1},
		{name: "asks for a reboot after three", script: count + "exit 100", hook: func(h *Hook) { h.RebootExitCodes = []int{99, 100}; h.Attempts = 1 },
			before: func(n *node) { n.write("var/lib/kopshook/status/x.reboots", "3\n", 0o644) },
			want:   nodestatus.Status{State: nodestatus.Failed, Attempts: 1, ExitCode: 100, Reason: "asks for a reboot after 3 of them: exit status 100"}, exit: 100, runs: 1},
	} {
		for name, shell := range shells(t) {
			t.Run(c.name+", "+name, func(t *testing.T) {
				t.Parallel()
				n := newNode(t)
				n.shell = shell
				h := quickHook("x", c.script)
				if c.hook != nil {
					c.hook(&h)
				}
				if out, status := n.gate(h); status != 0 {
					t.Fatal(out)
				}
				if c.before != nil {
					c.before(n)
				}
				out, status := n.run(h)
				if status != c.exit {
					t.Errorf("exit status %d, want %d", status, c.exit)
				}
				if c.want.State != "" {
					want := c.want
					want.Hook, want.Phase, want.InstanceID, want.Hash = base.Hook, base.Phase, base.InstanceID, base.Hash
					if diff := cmp.Diff(want, n.status("x"), cmpopts.IgnoreFields(nodestatus.Status{}, "StartedAt", "UpdatedAt")); diff != "" {
						t.Error(diff)
					}
				} else if n.exists("var/lib/kopshook/status/x.json") {
					t.Errorf("it has a status: %v", n.status("x"))
				}
				if got := n.exists("run/kopshook/ok/x"); got != c.marker {
					t.Errorf("the marker is there: %v, want %v", got, c.marker)
				}
				if got := strings.Count(n.read("run/kopshook/count"), "x"); got != c.runs {
					t.Errorf("it ran %d times, want %d", got, c.runs)
				}
				if c.want.State == nodestatus.Succeeded && !h.EveryBoot && !n.exists("var/lib/kopshook/i-1/x") {
					t.Error("nothing remembers that it is done")
				}
				if c.want.State == nodestatus.Failed && n.exists("var/lib/kopshook/i-1/x") {
					t.Error("it is remembered as done")
				}
				if c.want.State == nodestatus.Failed && n.read("dev/console") == "" {
					t.Error("nothing on the console")
				}
				if t.Failed() {
					t.Log(out)
				}
			})
		}
	}
}

// owner returns the user and group that runs the tests.
func owner(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
}

func TestScriptsGetTheirEnvironment(t *testing.T) {
	n := newNode(t)
	h := quickHook("x", `env > /run/kopshook/env; pwd > /run/kopshook/pwd; printf %s "$ODD" > /run/kopshook/odd`)
	odd := strings.Join(awkward, "|")
	h.Env = map[string]string{"ODD": odd, "h": "h", "f": "f", "i": "i", "n": "n", "r": "r", "s": "s", "c": "c", "d": "d", "rc": "rc", "why": "why", "HOME": "/x"}
	if out, status := n.gate(h); status != 0 {
		t.Fatal(out)
	}
	if out, status := n.run(h); status != 0 {
		t.Fatal(out)
	}
	if got := n.read("run/kopshook/odd"); got != odd {
		t.Errorf("got %q, want %q", got, odd)
	}
	env := "\n" + n.read("run/kopshook/env")
	for _, want := range []string{"KOPSHOOK_CLUSTER=minimal.example.com", "KOPSHOOK_INSTANCE_GROUP=gpu", "KOPSHOOK_ROLE=Node", "KOPSHOOK_HOOK=x", "KOPSHOOK_PHASE=pre-nodeup",
		"KOPSHOOK_ATTEMPT=1", "KOPSHOOK_FIRST_BOOT=true", "h=h", "f=f", "i=i", "n=n", "r=r", "s=s", "c=c", "d=d", "rc=rc", "why=why", "HOME=/x"} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("no %s in %s", want, env)
		}
	}
	for _, name := range []string{"NODE_NAME", "NODE_ARCH", "NODE_IP"} {
		if !strings.Contains(env, "\nKOPSHOOK_"+name+"=") {
			t.Errorf("no %s in %s", name, env)
		}
	}
	if got := n.read("run/kopshook/pwd"); got != n.path("opt/kopshook/hooks/x")+"\n" {
		t.Errorf("it ran in %q", got)
	}
}

func TestFilesAreInPlaceBeforeTheScript(t *testing.T) {
	n := newNode(t)
	path := n.path("etc/a folder/it's $(new)")
	h := quickHook("x", "")
	h.Scripts[0].Content = []byte("#!/bin/sh\ncp \"$FILE\" /run/kopshook/seen\n")
	h.Env = map[string]string{"FILE": path}
	h.Files = []File{{Path: path, Mode: 0o640, Owner: owner(t), Content: []byte("a\tb\xff\x00")}}
	if out, status := n.gate(h); status != 0 {
		t.Fatal(out)
	}
	if out, status := n.run(h); status != 0 {
		t.Fatal(out)
	}
	if got := n.read("run/kopshook/seen"); got != "a\tb\xff\x00" {
		t.Errorf("the script saw %q", got)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestRunnerInstallsItself(t *testing.T) {
	n := newNode(t)
	for _, p := range mustGenerate(t, gpuGroup, allKinds(t)...)[1:5] {
		if out, status := n.sh("var/lib/cloud/instance-boothooks/"+p.Name, p.Content); status != 0 {
			t.Fatal(out)
		}
		if got, want := n.read("opt/kopshook/bin/"+installed[p.Name]), n.local(p.Content); got != want {
			t.Errorf("%s became %q", p.Name, got)
		}
	}
}

func TestFetch(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		if _, err := exec.LookPath("wget"); err != nil {
			t.Skip("neither curl nor wget is here; the boots of e2e/ have curl")
		}
	}
	content := bytes.Repeat([]byte("0123456789"), 1000)
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	var requests []string
	mux := http.NewServeMux()
	mux.HandleFunc("/good", func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, "good "+r.Header.Get("Range"))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
	mux.HandleFunc("/bad", func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, "bad")
		fmt.Fprint(w, "not it")
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, "cut")
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		w.Write(content[:4000])
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	for _, c := range []struct {
		name   string
		urls   []string
		before []byte
		asked  []string
		fails  bool
		says   string
	}{
		{name: "downloads", urls: []string{"/good"}, asked: []string{"good "}},
		{name: "tries the next mirror", urls: []string{"/missing", "/good"}, asked: []string{"good "}},
		{name: "resumes", urls: []string{"/cut", "/good"}, asked: []string{"cut", "good bytes=4000-"}},
		{name: "leaves what is already right", urls: []string{"/good"}, before: content},
		{name: "replaces what is wrong", urls: []string{"/good"}, before: []byte("old"), asked: []string{"good "}},
		{name: "says both sums", urls: []string{"/bad"}, asked: []string{"bad"}, fails: true, says: "sha256 is " + fmt.Sprintf("%x", sha256.Sum256([]byte("not it"))) + ", not " + sum},
		{name: "takes a mirror after a wrong one", urls: []string{"/bad", "/good"}, asked: []string{"bad", "good "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t)
			requests = nil
			h := quickHook("x", "true")
			h.Attempts = 1
			path := n.path("usr/local/bin/a tool")
			if c.before != nil {
				n.write("usr/local/bin/a tool", string(c.before), 0o600)
			}
			file := File{Path: path, Mode: 0o755, Owner: owner(t), SHA256: strings.ToUpper(sum)}
			for _, u := range c.urls {
				file.URLs = append(file.URLs, server.URL+u)
			}
			h.Files = []File{file}
			if out, status := n.gate(h); status != 0 {
				t.Fatal(out)
			}
			out, status := n.run(h)
			if (status != 0) != c.fails || !strings.Contains(out, c.says) {
				t.Errorf("exit status %d: %s", status, out)
			}
			var asked []string // curl tries again when a connection is cut
			for _, r := range requests {
				if len(asked) == 0 || r != asked[len(asked)-1] {
					asked = append(asked, r)
				}
			}
			if diff := cmp.Diff(c.asked, asked); diff != "" {
				t.Error(diff)
			}
			if c.fails {
				return
			}
			if got := n.read("usr/local/bin/a tool"); got != string(content) {
				t.Errorf("got %d bytes", len(got))
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("%v %v", info, err)
			}
			if left, _ := filepath.Glob(n.path("opt/kopshook/hooks/x/fetched-*")); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
