package generator

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// helper runs a program of /opt/kopshook/bin.
func (n *node) helper(name string, args ...string) (string, int) {
	n.t.Helper()
	m, err := newModel(gpuGroup, "v1", allKinds(n.t))
	if err != nil {
		n.t.Fatal(err)
	}
	for _, p := range m.runtimeParts() {
		if installed[p.Name] == name {
			return n.sh("opt/kopshook/bin/"+name, p.Content, args...)
		}
	}
	n.t.Fatalf("nothing is installed as %s", name)
	return "", 0
}

func TestReboot(t *testing.T) {
	for name, c := range map[string]struct {
		status  string // of the attempt
		before  string // what the counter says
		busy    int    // how often cloud-init's last stage is seen at work
		counter string
		told    string
		label   string
	}{
		"another exit status":              {status: "1"},
		"the first code":                   {status: "99", counter: "1\n", told: "is-active cloud-final\nreboot\n"},
		"the last code":                    {status: "100", counter: "1\n", told: "is-active cloud-final\nreboot\n"},
		"a part of a code":                 {status: "10"},
		"the third time":                   {status: "99", before: "2\n", counter: "3\n", told: "is-active cloud-final\nreboot\n"},
		"the fourth time":                  {status: "99", before: "3\n", counter: "3\n", label: "asks for a reboot after 3 of them:\n"},
		"the user's scripts are not done":  {status: "99", busy: 2, counter: "1\n", told: strings.Repeat("is-active cloud-final\n", 3) + "reboot\n"},
		"cloud-init's last stage hangs on": {status: "99", busy: 1000, counter: "1\n", told: strings.Repeat("is-active cloud-final\n", 601) + "reboot\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			n.mkdir("var/lib/kopshook/status")
			n.mkdir("run/kopshook/ok")
			n.write("bin/sleep", "#!/bin/sh\n", 0o755)
			n.write("bin/systemctl", fmt.Sprintf(`#!/bin/sh
cd %s
echo "$*" >> systemctl.log
echo "systemctl $*" >> disk.log
[ "$1" = reboot ] || [ $(grep -c . systemctl.log) -gt %d ] || echo activating
`, n.root, c.busy), 0o755)
			if c.before != "" {
				n.write("var/lib/kopshook/status/x.reboots", c.before, 0o644)
			}
			if out, status := n.helper("reboot", "x", "99", "100", c.status); status != 0 {
				t.Fatalf("exit status %d: %s", status, out)
			}
			if got := n.read("var/lib/kopshook/status/x.reboots"); got != c.counter {
				t.Errorf("the counter is %q, want %q", got, c.counter)
			}
			if got := n.read("systemctl.log"); got != c.told {
				t.Errorf("systemctl was told %q, want %q", got, c.told)
			}
			if got := n.read("run/kopshook/ok/x~"); got != c.label {
				t.Errorf("the reason begins with %q, want %q", got, c.label)
			}
			if c.told != "" && !strings.HasPrefix(n.read("disk.log"), "sync "+n.path("var/lib/kopshook/status/x.reboots")+"\n") {
				t.Errorf("the counter may be lost: %q", n.read("disk.log"))
			}
		})
	}
	t.Run("not when it cannot be counted", func(t *testing.T) {
		n := newNode(t)
		if out, status := n.helper("reboot", "x", "99", "99"); status == 0 || n.read("systemctl.log") != "" {
			t.Errorf("exit status %d: %s%s", status, out, n.read("systemctl.log"))
		}
	})
}

// A power cut leaves a hook done or not done, and its status whole: the bytes come before the name, and what the hook did
// before the file that says so.
func TestRunnerSyncsBeforeItSaysSo(t *testing.T) {
	n := newNode(t)
	n.record("mv", "/bin/mv")
	h := quickHook("x", "echo ran >> "+n.path("disk.log"))
	if out, status := n.gate(h); status != 0 {
		t.Fatal(out)
	}
	n.write("disk.log", "", 0o644)
	if out, status := n.run(h); status != 0 {
		t.Fatal(out)
	}
	status, done := n.path("var/lib/kopshook/status/x.json"), n.path("var/lib/kopshook/i-1/x")
	move := "mv " + status + "~ " + status + "\n"
	want := move + "ran\nsync\nsync " + done + "\nsync " + status + "~\n" + move // that it runs need not survive
	if diff := cmp.Diff(want, n.read("disk.log")); diff != "" {
		t.Error(diff)
	}
}

// The delay doubles up to two minutes. Where verify alone has failed, the hook runs at once.
func TestRunnerWaitsBetweenAttempts(t *testing.T) {
	n := newNode(t)
	n.write("bin/sleep", "#!/bin/sh\necho slept $1\n", 0o755)
	h := quickHook("x", "")
	h.OncePerImage, h.Attempts, h.RetryDelay, h.Verify = true, 7, 20*time.Second, []byte("exit 3")
	if out, status := n.gate(h); status != 0 {
		t.Fatal(out)
	}
	n.write("var/lib/kopshook/@image/x", "0123456789ab\n", 0o644)
	out, status := n.run(h)
	var got []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "attempt") || strings.HasPrefix(line, "slept") {
			got = append(got, line)
		}
	}
	want := []string{"attempt 0 of 7: verify: exit status 3"}
	for i, delay := range []string{"20", "40", "80", "120", "120", "120"} {
		want = append(want, fmt.Sprintf("attempt %d of 7: verify: exit status 3", i+1), "slept "+delay)
	}
	want = append(want, "attempt 7 of 7: verify: exit status 3")
	if diff := cmp.Diff(want, got); diff != "" || status != 3 {
		t.Errorf("exit status %d\n%s", status, diff)
	}
}

// Whatever proxy the machine uses, and however long the kubelet is up without being healthy.
func TestKubeletHelperWaitsUntilItIsHealthy(t *testing.T) {
	for _, tool := range []string{"curl", "wget"} {
		t.Run(tool, func(t *testing.T) {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skip("it is not here; the boots of e2e/ have it")
			}
			asked, n := 0, newNode(t)
			kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if why := n.read("run/kopshook/ok/x~"); why != "kubelet:\n" {
					t.Errorf("while it waits, the reason of a failure begins with %q", why)
				}
				if asked++; asked < 3 {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}))
			defer kubelet.Close()
			proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it asks the proxy") }))
			defer proxy.Close()
			n.mkdir("run/kopshook/ok")
			n.write("bin/sleep", "#!/bin/sh\n", 0o755)
			for _, other := range []string{"curl", "wget"} {
				if other != tool {
					n.write("bin/"+other, "#!/bin/sh\nexit 127\n", 0o755)
				}
			}
			for _, v := range []string{"http_proxy", "HTTP_PROXY"} {
				t.Setenv(v, proxy.URL)
			}
			for _, v := range []string{"no_proxy", "NO_PROXY"} {
				t.Setenv(v, "")
			}
			t.Setenv("KOPSHOOK_HOOK", "x")
			n.kubelet = strings.TrimPrefix(kubelet.URL, "http://")
			out, status := n.helper("up", "/bin/sh", "-c", "echo it is")
			if status != 0 || out != "it is\n" || asked != 3 {
				t.Errorf("exit status %d after %d answers: %s", status, asked, out)
			}
			if got := n.read("run/kopshook/ok/x~"); got != "script:\n" {
				t.Errorf("the reason of a failure begins with %q", got)
			}
		})
	}
}

// What a download becomes, and what is right but for its owner or mode.
func TestFetchGivesFilesTheirOwnerAndMode(t *testing.T) {
	const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of hello
	n := newNode(t)
	for _, name := range []string{"install", "chown", "chmod"} {
		n.record(name, "")
	}
	path := n.path("file")
	args := []string{path, "0640", "daemon:adm", sum, "http://127.0.0.1:1/x"}
	n.write("file", "hello", 0o644)
	if out, status := n.helper("fetch", args...); status != 0 {
		t.Fatal(out)
	}
	want := "chown daemon:adm " + path + "\nchmod 0640 " + path + "\n"
	os.Remove(path)
	t.Chdir(n.root)
	n.write("fetched-"+sum, "hello", 0o644) // what an earlier attempt left
	if out, status := n.helper("fetch", args...); status != 0 {
		t.Fatal(out)
	}
	want += "install -DT -m 0640 -o daemon -g adm fetched-" + sum + " " + path + "\n"
	if diff := cmp.Diff(want, n.read("disk.log")); diff != "" {
		t.Error(diff)
	}
}

// Images without curl have wget, which says of a cut connection with 4 what curl says with 18.
func TestFetchResumesWithWget(t *testing.T) {
	const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	n := newNode(t)
	for _, name := range []string{"sh", "sha256sum", "install", "rm", "env"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, n.path("bin/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	n.write("bin/wget", "#!/bin/sh\necho \"$*\" >> "+n.root+"/wget.log\n[ ! -s $8 ] || { printf llo >> $8; exit 0; }\nprintf he > $8\nexit 4\n", 0o755)
	t.Setenv("PATH", "") // the node's own follows in sh
	t.Chdir(n.root)
	if out, status := n.helper("fetch", n.path("file"), "0644", owner(t), sum, "http://a/1", "http://b/2"); status != 0 {
		t.Fatal(out)
	}
	var want strings.Builder
	for _, url := range []string{"http://a/1", "http://b/2"} {
		fmt.Fprintf(&want, "-q -c -t 3 -T 20 -O fetched-%s %s\n", sum, url)
	}
	if diff := cmp.Diff(want.String(), n.read("wget.log")); diff != "" {
		t.Error(diff)
	}
	if got := n.read("file"); got != "hello" {
		t.Errorf("it placed %q", got)
	}
	if left, _ := filepath.Glob(n.path("fetched-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
