package generator

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kopshook.dev/kopshook/internal/nodestatus"
)

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
	warming := func(n *node) { n.write("warming", "", 0o644) }
	earlier := fmt.Sprintf(`{"hook":"x","phase":"pre-nodeup","state":"succeeded","reason":"","attempts":2,"exitCode":0,"startedAt":"%[1]s","updatedAt":"%[1]s","instanceID":"i-1","hash":"0123456789ab"}`,
		time.Now().UTC().Format(time.RFC3339))
	base := nodestatus.Status{Hook: "x", Phase: "pre-nodeup", InstanceID: "i-1", Hash: "0123456789ab"}
	for _, c := range []struct {
		name   string
		hook   func(h *Hook)
		script string
		before func(n *node)
		want   nodestatus.Status
		exit   int
		silent bool // nothing changes, and nothing is said
		// the disk takes no status: the console alone has it
		unwritten bool
		marker    bool
		runs      int
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
			h.Files = []File{{Path: "/run/kopshook/env/x", Mode: 0o644, Owner: owner(t), Content: []byte("x")}}
		}, want: nodestatus.Status{State: nodestatus.Failed, Attempts: 2, ExitCode: 1, Reason: "files: exit status 1"}, exit: 1},
		{name: "stops at the first script that fails", hook: func(h *Hook) {
			h.Scripts = []Script{{"a", []byte("#!/bin/sh\n" + count)}, {"b b", []byte("exit 4")}, {"c", []byte(count)}}
		}, want: nodestatus.Status{State: nodestatus.Failed, Attempts: 2, ExitCode: 4, Reason: "script 2: exit status 4"}, exit: 4, runs: 2},
		{name: "has been released", script: count, before: func(n *node) { n.write("var/lib/kopshook/skip/x", "", 0o644) }, want: nodestatus.Status{State: nodestatus.Skipped}, marker: true},
		{name: "is not the gate's", script: count, before: func(n *node) { os.Remove(n.path("run/kopshook/hook/x")) },
			want: nodestatus.Status{State: nodestatus.Skipped, Reason: "not in user data", InstanceID: "-"}},
		{name: "has no gate on this boot", script: count, before: func(n *node) { os.RemoveAll(n.path("run/kopshook")) },
			want: nodestatus.Status{State: nodestatus.Failed, Reason: "no gate on this boot", ExitCode: 1, InstanceID: "-"}, exit: 1},
		{name: "has no gate on this boot, and may fail", script: count, before: func(n *node) { os.RemoveAll(n.path("run/kopshook")) },
			hook: func(h *Hook) { h.Continue = true },
			want: nodestatus.Status{State: nodestatus.Failed, Reason: "no gate on this boot", ExitCode: 1, InstanceID: "-"}, exit: 1, marker: true},
		{name: "is done, and has no gate on this boot", script: count, before: func(n *node) {
			n.write("var/lib/kopshook/i-1/x", "", 0o644)
			os.RemoveAll(n.path("run/kopshook"))
		}, want: nodestatus.Status{State: nodestatus.Failed, Reason: "no gate on this boot", ExitCode: 1, InstanceID: "-"}, exit: 1},
		{name: "has a gate that failed", script: count, before: func(n *node) { os.Remove(n.path("run/kopshook/ok/.gate")) },
			want: nodestatus.Status{State: nodestatus.Failed, Reason: "no gate on this boot", ExitCode: 1, InstanceID: "-"}, exit: 1},
		{name: "cannot be stored", script: count, before: func(n *node) { os.RemoveAll(n.path("var/lib/kopshook/i-1")) },
			want: nodestatus.Status{State: nodestatus.Failed, Reason: "cannot be stored", Attempts: 1, ExitCode: 1}, exit: 1, runs: 1},
		{name: "has a status that cannot be written", script: count, before: func(n *node) {
			os.RemoveAll(n.path("var/lib/kopshook/status"))
			n.write("var/lib/kopshook/status", "", 0o644)
		}, want: nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1, unwritten: true},
		{name: "cannot be stored, and may fail", script: count, before: func(n *node) { os.RemoveAll(n.path("var/lib/kopshook/i-1")) },
			hook: func(h *Hook) { h.Continue = true },
			want: nodestatus.Status{State: nodestatus.Failed, Reason: "cannot be stored", Attempts: 1, ExitCode: 1}, exit: 1, marker: true, runs: 1},
		{name: "waits for nodeup while the machine is warming", script: count, before: warming, hook: func(h *Hook) { h.Phase = PostNodeup }},
		{name: "waits for the kubelet while the machine is warming", script: count, before: warming, hook: func(h *Hook) { h.Phase = PostKubelet }},
		{name: "waits for the end while the machine is warming", script: count, before: warming, hook: func(h *Hook) { h.Phase = PreShutdown }},
		{name: "does not wait when nodeup does", script: count, before: warming,
			want: nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1},
		{name: "is done", script: count, before: func(n *node) {
			n.write("var/lib/kopshook/i-1/x", "", 0o644)
			n.write("var/lib/kopshook/status/x.json", earlier+"\n", 0o644)
		}, want: nodestatus.Status{State: nodestatus.Succeeded, Attempts: 2}, silent: true, marker: true},
		{name: "is done, and had no gate on the last boot", script: count, before: func(n *node) {
			n.write("var/lib/kopshook/i-1/x", "", 0o644)
			n.write("var/lib/kopshook/status/x.json", strings.Replace(earlier, "succeeded", "failed", 1)+"\n", 0o644)
		}, want: nodestatus.Status{State: nodestatus.Succeeded}, marker: true},
		{name: "is done, but runs on every boot", script: count, hook: func(h *Hook) { h.EveryBoot = true },
			before: func(n *node) { n.write("var/lib/kopshook/i-1/x", "", 0o644) }, want: nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1},
		{name: "is done on another machine", script: count, before: func(n *node) { n.write("var/lib/kopshook/i-2/x", "", 0o644) },
			want: nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1},
		{name: "is done in the image", script: count, hook: func(h *Hook) { h.OncePerImage, h.Verify = true, []byte("[ $KOPSHOOK_ATTEMPT = 0 ]") },
			before: func(n *node) { n.write("var/lib/kopshook/@image/x", "0123456789ab\n", 0o644) },
			want:   nodestatus.Status{State: nodestatus.Succeeded, Reason: "was done"}, marker: true},
		{name: "is done in the image, and the disk takes nothing", script: count, hook: func(h *Hook) { h.OncePerImage = true },
			before: func(n *node) {
				n.write("var/lib/kopshook/@image/x", "0123456789ab\n", 0o644)
				os.RemoveAll(n.path("var/lib/kopshook/i-1"))
			}, want: nodestatus.Status{State: nodestatus.Succeeded, Reason: "was done"}, marker: true},
		{name: "is done in the image, and there is nothing to verify", script: count, hook: func(h *Hook) { h.OncePerImage = true },
			before: func(n *node) { n.write("var/lib/kopshook/@image/x", "0123456789ab\n", 0o644) },
			want:   nodestatus.Status{State: nodestatus.Succeeded, Reason: "was done"}, marker: true},
		{name: "is done by the machine that the image was made of", script: count, hook: func(h *Hook) { h.OncePerImage = true },
			before: func(n *node) { n.write("var/lib/kopshook/i-2/x", "0123456789ab\n", 0o644) },
			want:   nodestatus.Status{State: nodestatus.Succeeded, Reason: "was done"}, marker: true},
		{name: "is done on an earlier boot, and is verified again", script: count, hook: func(h *Hook) { h.OncePerImage, h.Verify = true, []byte("[ $KOPSHOOK_ATTEMPT = 0 ]") },
			before: func(n *node) { n.write("var/lib/kopshook/i-1/x", "0123456789ab\n", 0o644) },
			want:   nodestatus.Status{State: nodestatus.Succeeded, Reason: "was done"}, marker: true},
		{name: "is done on an earlier boot, but cannot be verified any more", script: count, hook: func(h *Hook) { h.OncePerImage, h.Verify = true, []byte("[ $KOPSHOOK_ATTEMPT = 1 ]") },
			before: func(n *node) { n.write("var/lib/kopshook/i-1/x", "0123456789ab\n", 0o644) },
			want:   nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1},
		{name: "is done in the image, but cannot be verified", script: count, hook: func(h *Hook) { h.OncePerImage, h.Verify = true, []byte("[ $KOPSHOOK_ATTEMPT = 1 ]") },
			before: func(n *node) { n.write("var/lib/kopshook/@image/x", "0123456789ab\n", 0o644) },
			want:   nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1},
		{name: "is done in the image, with other content", script: count, hook: func(h *Hook) { h.OncePerImage = true },
			before: func(n *node) { n.write("var/lib/kopshook/@image/x", "ba9876543210\n", 0o644) },
			want:   nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1},
		{name: "is done in the image, but once per instance", script: count,
			before: func(n *node) { n.write("var/lib/kopshook/@image/x", "0123456789ab\n", 0o644) },
			want:   nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true, runs: 1},
		{name: "has nothing to run", hook: func(h *Hook) { h.Scripts = nil }, want: nodestatus.Status{State: nodestatus.Succeeded, Attempts: 1}, marker: true},
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
				if c.unwritten {
					_, line, _ := strings.Cut(strings.TrimRight(n.read("dev/console"), "\n"), "\nkopshook: ")
					os.Remove(n.path("var/lib/kopshook/status"))
					n.write("var/lib/kopshook/status/x.json", line+"\n", 0o644)
				}
				if c.want.State != "" {
					want := c.want
					want.Hook, want.Phase, want.Hash = base.Hook, base.Phase, base.Hash
					if want.InstanceID = strings.TrimSuffix(want.InstanceID, "-"); c.want.InstanceID == "" {
						want.InstanceID = base.InstanceID
					}
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
				if stamp := n.read("var/lib/kopshook/i-1/x"); c.want.State == nodestatus.Succeeded && c.runs > 0 && !h.EveryBoot && stamp != "0123456789ab\n" {
					t.Errorf("what remembers that it is done is %q", stamp)
				}
				if c.want.State == nodestatus.Failed && c.want.Attempts > 0 && n.exists("var/lib/kopshook/i-1/x") {
					t.Error("it is remembered as done")
				}
				if !c.silent {
					n.consoleShows(h.Name, c.want.State)
				} else if got := n.read("dev/console"); got != "" {
					t.Errorf("on the console: %q", got)
				}
				if t.Failed() {
					t.Log(out)
				}
			})
		}
	}
}

// consoleShows expects a line on the console for each state that the hook went through; the last one is what its status
// file says, and no state means no line.
func (n *node) consoleShows(hook string, state nodestatus.State) {
	n.t.Helper()
	var last string
	if state == nodestatus.Failed && !strings.HasSuffix(n.read("dev/console"), "\nlast lines\n") {
		n.t.Errorf("the console does not end with what the hook printed: %q", n.read("dev/console"))
	}
	for line := range strings.Lines(n.read("dev/console")) {
		if status, ok := strings.CutPrefix(line, "kopshook: "); ok {
			last = status
			if s, err := nodestatus.Parse([]byte(status)); err != nil || s.Hook != hook {
				n.t.Errorf("on the console: %q: %v", line, err)
			}
		} else if state != nodestatus.Failed || line != "last lines\n" {
			n.t.Errorf("on the console: %q", line)
		}
	}
	if want := n.read("var/lib/kopshook/status/" + hook + ".json"); last != want {
		n.t.Errorf("the console ends with %q, the status file is %q", last, want)
	}
}

// owner returns the user and group that runs the tests.
func owner(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
}

func TestScriptsGetTheirEnvironment(t *testing.T) {
	t.Run("Debian 12", func(t *testing.T) { testEnvironment(t, "ID=debian\nVERSION_ID=\"12\"\n", "debian-12") })
	t.Run("Debian sid, which has no version", func(t *testing.T) { testEnvironment(t, "ID=debian\n", "debian") })
}

func testEnvironment(t *testing.T, release, system string) {
	n := newNode(t)
	n.write("etc/os-release", release, 0o644)
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
		"KOPSHOOK_ATTEMPT=1", "KOPSHOOK_FIRST_BOOT=true",
		"KOPSHOOK_NODE_OS=" + system, "KOPSHOOK_NODE_ARCH=" + runtime.GOARCH, "h=h", "f=f", "i=i", "n=n", "r=r", "s=s", "c=c", "d=d", "rc=rc", "why=why", "HOME=/x"} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("no %s in %s", want, env)
		}
	}
	for _, name := range []string{"NODE_NAME", "NODE_IP"} {
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

func TestSystemdHearsOfUnitFiles(t *testing.T) {
	for paths, want := range map[string]string{
		"/etc/systemd/system/a.service /etc/a": "daemon-reload\n",
		"/etc/a /etc/systemd/system/a.service": "daemon-reload\n",
		"/etc/a /etc/b":                        "",
	} {
		n := newNode(t)
		h := quickHook("x", "")
		for _, p := range strings.Fields(paths) {
			h.Files = append(h.Files, File{Path: p, Mode: 0o644, Owner: owner(t)})
		}
		if out, status := n.gate(h); status != 0 {
			t.Fatal(out)
		}
		n.record("install", "")
		n.write("systemctl.log", "", 0o644)
		if out, status := n.run(h); status != 0 {
			t.Fatal(out)
		}
		if got := n.read("systemctl.log"); got != want {
			t.Errorf("%s: systemctl was told %q, want %q", paths, got, want)
		}
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
		{name: "says what cannot be downloaded", urls: []string{"/missing"}, fails: true, says: "/missing: exit status "},
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
				file.URLs = append(file.URLs, server.URL+u+"?sig=t0ken")
			}
			h.Files = []File{file}
			if out, status := n.gate(h); status != 0 {
				t.Fatal(out)
			}
			out, status := n.run(h)
			if (status != 0) != c.fails || !strings.Contains(out, c.says) {
				t.Errorf("exit status %d: %s", status, out)
			}
			if strings.Contains(out, "t0ken") {
				t.Errorf("it prints what signs the address: %s", out)
			}
			if !strings.Contains(out, "+ /bin/sh ./script") && !c.fails {
				t.Errorf("it does not trace the script: %s", out)
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
