//go:build e2e

package kops

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/cli"
)

// theirs is an instance group as people have it: of another cloud, with what its machines see and what its cloud sees.
const theirs = `apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  labels:
    kops.k8s.io/cluster: main.example.com
  name: theirs
spec:
  image: 099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260101
  machineType: m6i.large
  mixedInstancesPolicy: {instances: [m6i.large, m5.large]}
  role: Node
  subnets: [us-east-1a]
  taints: ["example.com/gpu=yes:NoSchedule"]
  packages: [nfs-common]
`

// try runs `kopshook try --kops` with a spec of hooks.
func try(t *testing.T, hooks string, options ...string) (code int, out, errs string) {
	t.Helper()
	return tryWith(t, "", hooks, options...)
}

// tryWith is try with text on standard input.
func tryWith(t *testing.T, stdin, hooks string, options ...string) (code int, out, errs string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"ig.yaml": theirs, "hooks.yaml": replace(spec(hooks), `"@"`, "theirs")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := slices.Concat([]string{"kopshook", "try", "--kops", os.Getenv("KOPSHOOK_PROGRAMS"), "-f", filepath.Join(dir, "hooks.yaml")}, options, []string{filepath.Join(dir, "ig.yaml")})
	var stdout, stderr bytes.Buffer
	code = cli.Run(context.Background(), args, strings.NewReader(stdin), &stdout, &stderr)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("exit code %d\n%s%s", code, &stdout, &stderr)
		}
	})
	return code, stdout.String(), stderr.String()
}

// TestTry: `kopshook try --kops` boots a real node, tells what the kubelet counts, on each boot anew, and that a node with a
// failed hook is not in the API.
func TestTry(t *testing.T) {
	t.Run("a node that joins", func(t *testing.T) {
		t.Parallel()
		code, out, errs := try(t, `
- name: huge-pages
  phase: pre-kubelet
  run: every-boot
  script: |
    #!/bin/sh
    set -eu
`+hugePages+`    echo $((32 * $(wc -l < /var/boots))) > /run/huge/nr_hugepages
- name: boots
  run: every-boot
  script: |
    #!/bin/sh
    echo boot >> /var/boots
`, "-o", "json")
		if code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		if want := "spec.packages is left out, because the node has no network: name them with --package nfs-common"; !strings.Contains(errs, want) {
			t.Errorf("it does not say %q", want)
		}
		var tried struct {
			Joined bool
			Boots  []struct {
				Joined bool
				Node   struct {
					Ready    bool
					Capacity map[string]string
					Taints   []string
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &tried); err != nil {
			t.Fatal(err)
		}
		if !tried.Joined || len(tried.Boots) != 2 {
			t.Fatalf("got %+v, want a node that joined in two boots", tried)
		}
		for i, want := range []string{"64Mi", "128Mi"} {
			b := tried.Boots[i]
			if !b.Joined || !b.Node.Ready || b.Node.Capacity["hugepages-2Mi"] != want {
				t.Errorf("boot %d: got %+v, want hugepages-2Mi %s", i+1, b, want)
			}
			if !slices.Contains(b.Node.Taints, "example.com/gpu=yes:NoSchedule") {
				t.Errorf("boot %d: the node has the taints %v", i+1, b.Node.Taints)
			}
		}
	})
	t.Run("a node whose hook fails", func(t *testing.T) {
		t.Parallel()
		code, out, _ := try(t, replace(license, "PHASE", "pre-kubelet"), "--boots", "1")
		if code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
		for _, want := range []string{"boot 1: the node did not join\n  the API server has not heard of the node\n  hook license failed: script: exit status 1", "started kops-configuration.service"} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not say %q", want)
			}
		}
	})
	t.Run("a node that is let in from its shell", func(t *testing.T) {
		t.Parallel()
		const wayOut = "touch /etc/license\nsystemctl restart kops-configuration\nexit\n"
		code, out, _ := tryWith(t, wayOut, replace(license, "PHASE", "pre-kubelet"), "--boots", "1", "--shell")
		if code != 0 || !strings.Contains(out, "the node has not joined: this is a root shell in it") || !strings.Contains(out, "1 of 1 boot joined") {
			t.Errorf("exit code %d, want 0 and a node that joined after the shell", code)
		}
	})
}
