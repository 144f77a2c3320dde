//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kopshook.dev/kopshook/internal/cli"
)

// kopshook runs the command as a user does.
func kopshook(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Run(context.Background(), append([]string{"kopshook"}, args...), strings.NewReader(""), &out, &errs)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("kopshook %s: exit code %d\n%s%s", strings.Join(args, " "), code, &out, &errs)
		}
	})
	return code, out.String(), errs.String()
}

// The README's four commands from a recipe to a node that was booted.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := os.ReadFile("../examples/mixed/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("cluster.yaml", cluster, 0o644); err != nil {
		t.Fatal(err)
	}
	var ran []string
	block := regexp.MustCompile("(?s)```sh\n(kopshook new.*?)```").FindStringSubmatch(string(page))
	if block == nil {
		t.Fatal("README.md has no such commands")
	}
	for line := range strings.Lines(block[1]) {
		args := strings.Fields(strings.TrimPrefix(line, "sudo "))[1:]
		if code, _, _ := kopshook(t, args...); code != 0 {
			t.Errorf("%s: exit code %d", line, code)
		}
		ran = append(ran, args[0])
	}
	if diff := cmp.Diff([]string{"new", "merge", "check", "try"}, ran); diff != "" {
		t.Errorf("commands (-want +got)\n%s", diff)
	}
}

// kopshook try says what happens, and why a node would not join.
func TestTry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ig := file("ig.yaml", manifest)
	bad := file("bad.yaml", spec("license", license))
	good := file("good.yaml", strings.Replace(spec("license", license), "[ -e /etc/license ]", "true", 1))
	merged := func(specs string) string {
		code, out, _ := kopshook(t, "merge", "-f", specs, ig)
		if code != 0 {
			t.Fatal("kopshook merge failed")
		}
		return out
	}
	contains := func(t *testing.T, text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("the output does not say %q", want)
			}
		}
	}

	t.Run("a node that joins", func(t *testing.T) {
		t.Parallel()
		code, out, _ := kopshook(t, "try", "-f", good, ig)
		if code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		contains(t, out, "kopshook-license: looking for a license", "boot 1: the node joined", "boot 2: the node joined", "2 of 2 boots joined; the slowest hook was license: ")
	})
	t.Run("a node whose hook fails", func(t *testing.T) {
		t.Parallel()
		keep := filepath.Join(dir, "kept")
		code, out, errs := kopshook(t, "try", "-f", bad, "--boots", "1", "--suite", "bookworm", "--keep", keep, ig)
		if code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
		contains(t, out, "boot 1: the node would not have joined", "hook license failed: script: exit status 7", "| there is no license in /etc/license", "0 of 1 boot joined")
		contains(t, errs, "kept in "+keep)
		if code, out, _ := kopshook(t, "status", filepath.Join(keep, "disk/root/var/lib/kopshook/status")); code != 1 || !strings.Contains(out, "script: exit status 7") {
			t.Errorf("kopshook status of what was kept: exit code %d\n%s", code, out)
		}
	})
	t.Run("a part that cloud-init cannot read, as JSON", func(t *testing.T) {
		t.Parallel()
		broken := file("broken.yaml", strings.Replace(merged(good), "write_files:", "write_files: {{{", 1))
		code, out, _ := kopshook(t, "try", "-o", "json", "--boots", "1", broken)
		if code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
		var tried struct {
			Joined bool
			Boots  []struct{ Reasons []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(out), &tried); err != nil {
			t.Fatal(err)
		}
		if tried.Joined || len(tried.Boots) != 1 || len(tried.Boots[0].Reasons) != 1 {
			t.Fatalf("got %+v", tried)
		}
		contains(t, tried.Boots[0].Reasons[0].Text, "kopshook-license.service is not there")
	})
	t.Run("a gate that cannot be set up", func(t *testing.T) {
		t.Parallel()
		theirs := `  additionalUserData:
  - name: theirs.sh
    type: text/cloud-boothook
    content: |
      #!/bin/sh
      mount --bind /etc /etc
      mount -o remount,bind,ro /etc
`
		readonly := file("readonly.yaml", strings.Replace(manifest, "spec:\n", "spec:\n"+theirs, 1))
		code, out, _ := kopshook(t, "try", "-f", good, "--boots", "1", readonly)
		if code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
		contains(t, out, "the gate could not be set up, so nothing may start", "kopshook-000-gate.sh execution error")
	})
	t.Run("a machine of a warm pool", func(t *testing.T) {
		t.Parallel()
		specs := file("warm-hooks.yaml", spec("warm", `
- {name: pre, script: "#!/bin/sh\n/trial/bin/event pre"}
- {name: early, phase: pre-kubelet, script: "#!/bin/sh\n/trial/bin/event early"}
- {name: register, phase: post-nodeup, script: "#!/bin/sh\n/trial/bin/event register"}
- {name: label, phase: post-kubelet, timeout: 5s, attempts: 1, script: "#!/bin/sh\n/trial/bin/event label"}
- {name: drain, phase: pre-shutdown, run: every-boot, script: "#!/bin/sh\n/trial/bin/event drain"}
`))
		warm := file("warm.yaml", mutated(t, "-001-runtime", merged(specs)))
		code, out, _ := kopshook(t, "try", "--warm-pool", "--strict", "-o", "json", warm)
		if code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		var tried struct {
			Boots []struct {
				Warming, Joined bool
				Events          []struct{ Event string }
			}
		}
		if err := json.Unmarshal([]byte(out), &tried); err != nil {
			t.Fatal(err)
		}
		// what waits for the kubelet counts for nothing while the machine is warming, and happens when it joins
		want := [][]string{
			{"pre", "early", "nodeup-end", "lifecycle-action-completed"},
			{"nodeup-end", "kubelet-start", "register", "label", "drain", "kubelet-stop"},
		}
		var got [][]string
		for _, b := range tried.Boots {
			var names []string
			for _, e := range b.Events {
				if slices.Contains(slices.Concat(want...), e.Event) {
					names = append(names, e.Event)
				}
			}
			got = append(got, names)
			if b.Joined == b.Warming {
				t.Errorf("joined %v, warming %v", b.Joined, b.Warming)
			}
		}
		sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b }) // nodeup and the kubelet go on side by side
		if diff := cmp.Diff(want, got, sorted); diff != "" {
			t.Errorf("events (-want +got)\n%s", diff)
		}
	})
	t.Run("a node that hangs", func(t *testing.T) {
		t.Parallel()
		hangs := file("hangs.yaml", spec("hangs", "- {name: hangs, script: \"#!/bin/sh\\nsleep 600\"}\n"))
		code, out, _ := kopshook(t, "try", "-f", hangs, "--boots", "1", "--timeout", "20s", ig)
		if code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
		contains(t, out, "the node did not settle in time; it still had to do:", "kopshook-hangs.service start running")
	})
}
