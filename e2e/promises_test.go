//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/boot"
)

// What other systems promise, word for word, where no other test boots it: docs/promises.md names these tests.

// tkeCluster has the form of TKE's page on hooks: JSON with comments, in a file that is called YAML, and a comma too many.
const tkeCluster = `{
    "apiVersion": "platform.tkestack.io/v1",
    "kind": "Cluster",
    "spec": {
        "type": "Baremetal",
        "machines": [
            {
                "ip": "192.0.2.1",
                "port": 22,
                "username": "root",
                "password": "c2VjcmV0" // echo -n "secret" | base64
            }
        ],
        "features": {
            "files": [
                {
                    "src": "hooks/pre-install", // beside the spec
                    "dst": "/tmp/hooks/on-demand/pre-install" // on each node
                },
                                {
                    "src": "hooks/post-install",
                    "dst": "/tmp/hooks/post-install"
                },
            ],
            "hooks": {
                "PreInstall": "/tmp/hooks/on-demand/pre-install", // one of the files
                "PostInstall": "/tmp/hooks/post-install",
            }
        }
    }
}
`

// Files are there before any hook, PreInstall runs before anything is installed and is tried again when it fails, PostInstall
// when the kubelet starts.
func TestHooksOfTKEBoot(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		dir := t.TempDir()
		write := func(name, content string) string {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
				t.Fatal(err)
			}
			return path
		}
		write("hooks/pre-install", "#!/bin/sh\n/trial/bin/event \"pre-install, post-install is $([ -x /tmp/hooks/post-install ] && echo there)\"\nmkdir /run/second-time\n[ \"$KOPSHOOK_ATTEMPT\" = 2 ]\n")
		write("hooks/post-install", "#!/bin/sh\n/trial/bin/event post-install\n")
		code, hooks, _ := kopshook(t, "convert", "--from", "tke", write("cluster.yaml", tkeCluster))
		if code > 1 {
			t.Fatal("convert failed")
		}
		hooks = strings.ReplaceAll(hooks, "phase: pre-nodeup\n", "phase: pre-nodeup\n      retryDelay: 1s\n") // not to wait for it
		n := newNode(t, suite, userData(t, mergedParts(t, write("hooks.yaml", hooks))...))
		const pre = "pre-install, post-install is there"
		r := n.boot(boot.Options{}).joins().fails().happens(pre, pre, "nodeup-start", "kubelet-start", "post-install")
		if got := r.Timeline.Count(pre); got != 2 {
			t.Errorf("PreInstall ran %d times", got)
		}
	})
}

// slowNetwork is a unit that holds network-online.target back until the hook of phase boot has run, or for a minute: a hook that
// waited for the network would come after it.
const slowNetwork = `[Unit]
DefaultDependencies=no
After=local-fs.target
Before=network-online.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'i=0; until [ -e /run/early ] || [ $$i = 300 ]; do i=$$((i+1)); sleep 0.2; done; sleep 1; /trial/bin/event network'
`

// A hook of phase boot comes before the network, and one of pre-nodeup when it is there, on a later boot too.
func TestHooksWaitForTheNetwork(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("network", `
- {name: early, phase: boot, script: "#!/bin/sh\n/trial/bin/event early\ntouch /run/early"}
- {name: online, run: every-boot, script: "#!/bin/sh\n/trial/bin/event online"}
`))...))
		for path, content := range map[string]string{
			"/etc/systemd/system/slow-network.service":              slowNetwork,
			"/etc/systemd/system/network-online.target.d/slow.conf": "[Unit]\nWants=slow-network.service\n",
		} {
			if err := n.WriteFile(boot.File{Path: path, Mode: 0o644, Content: []byte(content)}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			n.boot(boot.Options{}).joins().fails().happens("early", "network", "online", "nodeup-start")
		}
	})
}

// A hook of phase post-kubelet waits until the kubelet answers, which takes longer than its start.
func TestPostKubeletWaitsForAnAnswer(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("answer", `
- name: slow-kubelet
  dropIns:
  - {unit: kubelet.service, content: "[Service]\nEnvironment=ANSWERS_AFTER=4\n"}
- {name: late, phase: post-kubelet, run: every-boot, script: "#!/bin/sh\n/trial/bin/event late"}
`))...))
		for range 2 {
			n.boot(boot.Options{}).joins().fails().happens("kubelet-start", "kubelet-answers", "late")
		}
	})
}

// A hook that fails when the kubelet runs holds nothing back: it is tried as often as it says, and its status says why.
func TestAHookBehindTheKubeletFails(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("behind", `
- name: late
  phase: post-kubelet
  attempts: 2
  retryDelay: 1s
  script: |
    #!/bin/sh
    /trial/bin/event "late $KOPSHOOK_ATTEMPT"
    echo "no server to tell" >&2
    exit 7
- {name: next, phase: post-kubelet, weight: 1, script: "#!/bin/sh\n/trial/bin/event next"}
`))...))
		r := n.boot(boot.Options{}).joins().fails("kopshook-late.service")
		r.happens("nodeup-start", "kubelet-start", "late 1", "late 2", "next").never("late 3")
		r.contains("console", r.Console, "no server to tell")
		n.hasStatus("late", "failed", "script: exit status 7")
		n.hasStatus("next", "succeeded", "")
	})
}

// kops' recipe sets TimeoutSec=infinity for long installations. 90 s is what systemd gives most units to start in
// (DefaultTimeoutStartSec=).
func TestAHookMayTakeLongerThanSystemdWaits(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("slow", `
- name: slow
  script: |
    #!/bin/sh
    /trial/bin/event install
    sleep 95
    /trial/bin/event installed
`))...))
		r := n.boot(boot.Options{Limit: 5 * time.Minute}).joins().fails().happens("install", "installed", "nodeup-start", "kubelet-start")
		from, _ := r.Timeline.First("install")
		to, _ := r.Timeline.First("nodeup-start")
		if took := to.At - from.At; took < 90*time.Second {
			t.Errorf("the hook held nodeup for %s only", took)
		}
	})
}

// A drop-in of a hook takes effect for a unit that starts after the hook, of kops' own too.
func TestDropInsTakeEffect(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("drop-in", `
- name: drop-in
  dropIns:
  - unit: kubelet.service
    content: |
      [Service]
      Environment=FROM_THE_HOOK=yes
      ExecStartPre=/bin/sh -c '/trial/bin/event "drop-in: $FROM_THE_HOOK"'
`))...))
		for range 2 {
			n.boot(boot.Options{}).joins().fails().happens("nodeup-start", "drop-in: yes", "kubelet-start")
		}
	})
}

// The scripts of a folder run one after the other, each with its own time, without those of its subfolders; of one that takes
// longer all processes are killed, and none runs after it.
func TestScriptsOfAFolderHaveTheirOwnTime(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		dir := filepath.Join(t.TempDir(), "scripts")
		if err := os.MkdirAll(filepath.Join(dir, "15-below"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"10-a": "sleep 6\n/trial/bin/event a", "20-b": "sleep 6\n/trial/bin/event b",
			"30-c": "sleep 60 &\n/trial/bin/event c\nwait", "40-d": "/trial/bin/event d", "15-below/e": "/trial/bin/event e",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(filepath.Dir(dir), "hooks.yaml")
		if err := os.WriteFile(file, []byte(spec("folder", "\n- {name: folder, source: scripts, attempts: 1, timeout: 10s}\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		n := newNode(t, suite, userData(t, mergedParts(t, file)...))
		n.boot(boot.Options{}).blocks().happens("a", "b", "c").never("d", "e", "nodeup-start")
		n.hasStatus("folder", "failed", "30-c timed out after 10 s: exit status 1")
	})
}

// mergedParts are what kopshook merge makes of a spec in a file, with the sources beside it.
func mergedParts(t *testing.T, spec string) []kops.UserData {
	t.Helper()
	ig := filepath.Join(t.TempDir(), "ig.yaml")
	if err := os.WriteFile(ig, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	code, merged, _ := kopshook(t, "merge", "-f", spec, ig)
	if code != 0 {
		t.Fatal("merge failed")
	}
	file, err := instancegroups.Parse("ig.yaml", []byte(merged))
	if err != nil {
		t.Fatal(err)
	}
	return mutate(t, file.Groups()[0].UserData())
}
