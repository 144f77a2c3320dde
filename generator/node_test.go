package generator

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// node is a folder in which the scripts that land on a node run as if it were /. systemd is not there: the boots of
// e2e/ have it.
type node struct {
	t     *testing.T
	root  string
	shell []string
	// kubelet is where it says how it is, HOST:PORT; empty means its own port
	kubelet string
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
	n := &node{t: t, root: t.TempDir(), shell: []string{"/bin/sh"}}
	for _, dir := range []string{"var/lib/cloud/instances/i-1", "run/systemd/system", "etc/systemd/system", "sys/fs/cgroup", "dev", "bin"} {
		n.mkdir(dir)
	}
	n.instance("i-1")
	n.write("sys/fs/cgroup/system.slice", "", 0o644) // no cgroups here
	n.write("boot-time", "1", 0o644)
	n.write("bin/systemctl", `#!/bin/sh
cd `+n.root+`
[ "$1" != show ] || exec cat boot-time
echo "$*" >> systemctl.log
[ "$*" != "-q is-enabled kubelet" ] || [ ! -e warming ]
`, 0o755)
	n.record("sync", "")
	n.write("bin/journalctl", "#!/bin/sh\ncd "+n.root+"\n[ \"$1\" != --sync ] || exec touch synced\n[ ! -e synced ] || echo last lines\n", 0o755)
	n.write("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n", 0o644)
	return n
}

// record makes a program of the node one that writes its arguments to disk.log and then is what program is.
func (n *node) record(name, program string) {
	n.t.Helper()
	if program != "" {
		program = "exec " + program + " \"$@\"\n"
	}
	n.write("bin/"+name, "#!/bin/sh\necho "+name+" \"$@\" >> "+n.root+"/disk.log\n"+program, 0o755)
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
	for _, dir := range []string{"/run/kopshook", "/run/systemd", "/var/lib/", "/etc/systemd", "/etc/os-release", "/opt/kopshook", "/sys/fs/cgroup"} {
		script = strings.ReplaceAll(script, dir, n.root+dir)
	}
	if n.kubelet != "" {
		script = strings.ReplaceAll(script, "127.0.0.1:10248", n.kubelet)
	}
	return strings.ReplaceAll(script, ">/dev/console", ">>"+n.root+"/dev/console") // here it is a file
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

// told expects what systemctl was told since the last look. Units may be named in any order, and several times.
func (n *node) told(want string) {
	n.t.Helper()
	var got strings.Builder
	for line := range strings.Lines(n.read("systemctl.log")) {
		if units, ok := strings.CutPrefix(line, "--no-block try-restart "); ok {
			words := strings.Fields(units)
			slices.Sort(words)
			line = "--no-block try-restart " + strings.Join(slices.Compact(words), " ") + "\n"
		}
		got.WriteString(line)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		n.t.Errorf("systemctl was told (-want +got):\n%s", diff)
	}
	n.write("systemctl.log", "", 0o644)
}

// waiting returns the units that wait for hooks.
func waiting(t *testing.T, hooks ...Hook) []string {
	t.Helper()
	m, err := newModel(gpuGroup, "v1", hooks)
	if err != nil {
		t.Fatal(err)
	}
	var units []string
	for _, e := range m.gate {
		units = append(units, e.units...)
	}
	slices.Sort(units)
	return slices.Compact(units)
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
	// what runs already has not waited for the hooks
	again := "--no-block try-restart " + strings.Join(waiting(t, allKinds(t)...), " ") + "\n"
	n.told("daemon-reload\n" + again)
	if !n.exists("run/kopshook/ok/.gate") {
		t.Error("no marker of the gate")
	}

	t.Run("and in another run on the same boot nothing", func(t *testing.T) {
		n.write("run/kopshook/ok/light", "", 0o644)
		if out, status := n.gate(allKinds(t)...); status != 0 || out != "" {
			t.Fatalf("exit status %d: %s", status, out)
		}
		if !n.exists("run/kopshook/ok/light") {
			t.Error("the marker of this boot is gone: a kubelet that crashes would stay down")
		}
		if with := n.read("run/kopshook/env"); !strings.Contains(with, "FIRST_BOOT=true") {
			t.Errorf("it is no longer the first boot: %s", with)
		}
		n.told("")
	})
	t.Run("and on the next boot nothing", func(t *testing.T) {
		n.write("boot-time", "2", 0o644)
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
		n.told(again)
		if n.exists("run/kopshook/ok/light") {
			t.Error("the marker of the last boot is still there")
		}
		if with := n.read("run/kopshook/env"); !strings.Contains(with, "FIRST_BOOT=false") {
			t.Errorf("it is still the first boot: %s", with)
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
		n.told("daemon-reload\n")
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

// systemd keeps what it has read of a unit until it is told to read again.
func TestGateTellsSystemdWhatHasChanged(t *testing.T) {
	one, two := newHook("a", PreNodeup, "#!/bin/sh\n"), newHook("b", PreNodeup, "#!/bin/sh\n")
	for name, c := range map[string]struct {
		before func(n *node)
		hooks  []Hook
	}{
		"a drop-in is another": {func(n *node) {
			n.write("etc/systemd/system/kubelet.service.d/kopshook-500-a.conf", "older", 0o644)
		}, []Hook{one, two}},
		"a drop-in goes":         {func(*node) {}, []Hook{one}},
		"the machine is another": {func(n *node) { n.instance("i-2") }, []Hook{one, two}}, // the image's units are gone
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if out, status := n.gate(one, two); status != 0 {
				t.Fatal(out)
			}
			n.write("systemctl.log", "", 0o644)
			c.before(n)
			if out, status := n.gate(c.hooks...); status != 0 {
				t.Fatal(out)
			}
			n.told("daemon-reload\n")
		})
	}
}

// What before: names waits in either phase, whether another hook follows or not.
func TestUnitsOfBeforeWait(t *testing.T) {
	for _, phase := range []Phase{PreNodeup, PreKubelet} {
		n := newNode(t)
		h := newHook("x", phase, "#!/bin/sh\n")
		h.Before = []string{"containerd.service"}
		if out, status := n.gate(h, newHook("y", phase, "#!/bin/sh\n")); status != 0 {
			t.Fatal(out)
		}
		for _, unit := range []string{"containerd.service", "kubelet.service", "kopshook-y.service"} {
			got := n.read("etc/systemd/system/" + unit + ".d/kopshook-500-x.conf")
			got = strings.ReplaceAll(got, n.root, "")
			if want := "[Unit]\nAfter=kopshook-x.service\nAssertPathExists=/run/kopshook/ok/x\n"; got != want {
				t.Errorf("%s: the drop-in of %s is %q, want %q", phase, unit, got, want)
			}
		}
	}
}

func TestGateClosesWhenItFails(t *testing.T) {
	hook := newHook("x", PreNodeup, "#!/bin/sh\n")
	for name, breakIt := range map[string]func(n *node){
		"a file is in the way": func(n *node) { n.write("etc/systemd/system/kops-configuration.service.d", "", 0o644) },
		"a folder is in the way of a drop-in": func(n *node) {
			n.mkdir("etc/systemd/system/kubelet.service.d/kopshook-500-x.conf")
		},
		"a folder is in the way of what becomes one": func(n *node) {
			n.mkdir("etc/systemd/system/kubelet.service.d/kopshook-500-x.conf~")
		},
		"no instance-id":     func(n *node) { os.Remove(n.path("var/lib/cloud/instance")) },
		"DataSourceNone":     func(n *node) { n.instance("iid-datasource-none") },
		"an odd instance-id": func(n *node) { n.instance(`x"y`) },
		"systemd says no": func(n *node) {
			n.write("bin/systemctl", "#!/bin/sh\necho \"$*\" >> "+n.root+"/systemctl.log\n[ \"$1\" = show ]\n", 0o755)
		},
		"a soft-reboot after a boot that went well": func(n *node) {
			if _, status := n.gate(hook); status != 0 {
				n.t.Fatal("it failed")
			}
			n.write("boot-time", "2", 0o644)
			os.Remove(n.path("var/lib/cloud/instance"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			breakIt(n)
			if _, status := n.gate(hook); status == 0 {
				t.Error("it says that all is well")
			}
			for _, unit := range []string{"kops-configuration", "kubelet"} {
				got := n.read("run/systemd/system/" + unit + ".service.d/kopshook.conf")
				if !strings.HasPrefix(got, "[Unit]\nAssertPathExists="+n.root+"/run/kopshook/ok/.gate\n") || n.exists("run/kopshook/ok/.gate") {
					t.Errorf("%s may start: %q", unit, got)
				}
			}
			if want := "kopshook: {\"part\":\"gate\",\"state\":\"failed\",\"reason\":\"cloud-init-output.log\"}\n"; n.read("dev/console") != want {
				t.Errorf("console: %q", n.read("dev/console"))
			}
			if !strings.HasSuffix(n.read("systemctl.log"), "daemon-reload\n--no-block try-restart kops-configuration kubelet\n") {
				t.Errorf("what runs goes on: systemctl was told %q", n.read("systemctl.log"))
			}
		})
	}
}

// A node that runs keeps what it needs for a restart when somebody runs the gate again and that fails.
func TestGateThatFailsLaterLeavesTheNodeAlone(t *testing.T) {
	n := newNode(t)
	hook := newHook("x", PreNodeup, "#!/bin/sh\n")
	if out, status := n.gate(hook); status != 0 {
		t.Fatal(out)
	}
	n.write("run/kopshook/ok/x", "", 0o644)
	n.write("systemctl.log", "", 0o644)
	os.Remove(n.path("var/lib/cloud/instance"))
	if _, status := n.gate(hook); status == 0 {
		t.Error("it says that all is well")
	}
	if !n.exists("run/kopshook/ok/.gate") || !n.exists("run/kopshook/ok/x") {
		t.Error("a kubelet that crashes would stay down")
	}
	n.told("daemon-reload\n")
}

// What is on the disk is whole after a power cut: first the bytes, then the name.
func TestGateSyncsEachDropInBeforeItHasItsName(t *testing.T) {
	n := newNode(t)
	n.record("mv", "/bin/mv")
	if out, status := n.gate(newHook("x", PreNodeup, "#!/bin/sh\n")); status != 0 {
		t.Fatal(out)
	}
	var want strings.Builder
	for _, path := range []string{"kops-configuration.service.d/kopshook-500-x.conf", "kubelet.service.d/kopshook-500-x.conf"} {
		path = n.path("etc/systemd/system/" + path)
		want.WriteString("sync " + path + "~\nmv -T " + path + "~ " + path + "\n")
	}
	if diff := cmp.Diff(want.String(), n.read("disk.log")); diff != "" {
		t.Error(diff)
	}
}
