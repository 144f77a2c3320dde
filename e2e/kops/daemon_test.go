//go:build e2e

package kops

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/kops/channels/pkg/channels"
	"k8s.io/kops/util/pkg/vfs"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/cli"
	"kopshook.dev/kopshook/internal/localcluster"
)

var addonGroup = group("addon", withoutLimits(), spec(network))

// noLimits stands in front of runc where nothing can be limited: runc fails then when it is to set a limit.
const noLimits = `#!/usr/bin/python3 -IS
import json, os, sys
if "create" in sys.argv:
    file = sys.argv[sys.argv.index("--bundle") + 1] + "/config.json"
    with open(file) as f:
        config = json.load(f)
    config["linux"].pop("resources", None)
    with open(file, "w") as f:
        json.dump(config, f)
os.execv("/usr/sbin/runc", ["runc"] + sys.argv[1:])
`

const noLimitsPath = "/opt/no-limits"

// withoutLimits has containerd run it.
func withoutLimits() func(string) string {
	if limits() {
		return nil
	}
	return func(manifest string) string {
		return strings.Replace(manifest, "\nspec:\n", `
spec:
  containerd:
    configAdditions:
      plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options.BinaryName: `+noLimitsPath+"\n", 1)
	}
}

// daemonHook proves that it ran on the node, and not in the pod: a pod sees no units of systemd's.
const daemonHook = `
- name: tune
  phase: daemon
  script: |
    #!/bin/sh
    set -eu
    systemctl -q is-active kubelet.service
    echo "$KOPSHOOK_NODE_NAME" > /etc/tuned
    echo ran >> /etc/tuned-runs
  verify: test -s /etc/tuned
  undo: |
    systemctl -q is-active kubelet.service
    echo "undone on $KOPSHOOK_NODE_NAME" >> /etc/tuned-runs
`

// sideload makes an image of the node's own shell and tools, and gives it to containerd: as pause, too, with a command
// that only waits.
const sideload = `set -eu
mkdir /var/image && cd /var/image
tar -C / -cf layer.tar bin sbin lib lib64 usr/bin usr/sbin usr/lib/x86_64-linux-gnu usr/lib64
sum=$(sha256sum < layer.tar | cut -d ' ' -f 1)
printf '{"architecture": "amd64", "os": "linux", "config": {"Cmd": ["/bin/sleep", "infinity"]}, "rootfs": {"type": "layers", "diff_ids": ["sha256:%s"]}}' "$sum" > config.json
pause=$(sed -n 's/.*sandbox = "\(.*\)"/\1/p' /etc/containerd/config.toml)
printf '[{"Config": "config.json", "RepoTags": ["` + toolsImage + `", "%s"], "Layers": ["layer.tar"]}]' "$pause" > manifest.json
tar -cf image.tar manifest.json config.json layer.tar
ctr -n k8s.io images import image.tar
until [ -e /trial/done ]; do sleep 0.5; done
journalctl -b --no-pager -u containerd -u kubelet | grep -E 'tune|kopshook-|RunPodSandbox|StartContainer' | tail -n 40
`

const toolsImage = "example.com/tools:1"

// TestDaemonHooks: an addon that kops' channels apply runs its hooks on a real node, in a pod that a real kubelet, containerd
// and runc run, with a network of CNI's plugins. A Service of the node is reached from outside by way of its kubelet, as exec
// reaches servers of extensions.
func TestDaemonHooks(t *testing.T) {
	t.Parallel()
	n := newNode(t, addonGroup, suites[0].Name)
	if !limits() {
		t.Log("limits of pods: see TestOnCgroupV2Alone. This machine mounts the controllers of cgroup v1, so v2 has none; runc is run without limits")
		if err := n.WriteFile(boot.File{Path: noLimitsPath, Content: []byte(noLimits), Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
	}
	rolled := make(chan error, 1)
	go func() {
		rolled <- func() error {
			ctx, stop := context.WithTimeout(context.Background(), patient(8*time.Minute))
			defer stop()
			defer os.WriteFile(filepath.Join(n.Dir(), "trial", "done"), nil, 0o644)
			if n.ready(ctx) == nil {
				return fmt.Errorf("the node was not Ready in time")
			}
			if err := apply(ctx, t.TempDir(), spec(daemonHook)); err != nil {
				return err
			}
			if err := podReady(ctx, n.name); err != nil {
				return err
			}
			if limits() {
				if err := podsLimited(ctx, n.name); err != nil {
					return err
				}
			}
			if err := forwards(ctx, n.name); err != nil {
				return err
			}
			return life(ctx, n)
		}()
	}()
	r := n.boot(boot.Options{End: boot.Cut, Scenario: sideload, Limit: 9 * time.Minute, Until: func(ctx context.Context) { n.ready(ctx) }})
	report(t, settles(r))
	if err := <-rolled; err != nil {
		t.Error(err)
	}
	if text, err := n.ReadFile("/etc/tuned"); err != nil || strings.TrimSpace(string(text)) != n.name {
		t.Errorf("the hook left %q on the node, %v", text, err)
	}
}

// apply makes an addon of a spec and has kops apply it, as kops-channels does every minute on a control plane.
func apply(ctx context.Context, dir, spec string) error {
	file := filepath.Join(dir, "hooks.yaml")
	if err := os.WriteFile(file, []byte(strings.NewReplacer(`selector: {names: ["@"]}`, "selector: {}", `"@"`, "tune").Replace(spec)), 0o644); err != nil {
		return err
	}
	out := filepath.Join(dir, "addon")
	var errs bytes.Buffer
	// nodes of other tests, which are down by now, count as not available
	args := []string{"kopshook", "addon", "-f", file, "--image", toolsImage, "--max-unavailable", "100%", "-o", out}
	if code := cli.Run(ctx, args, strings.NewReader(""), &errs, &errs); code != 0 {
		return fmt.Errorf("kopshook addon: exit code %d\n%s", code, &errs)
	}
	location := &url.URL{Scheme: "file", Path: filepath.Join(out, "addon.yaml")}
	index, err := channels.LoadAddons(vfs.NewVFSContext(), location.String(), location)
	if err != nil {
		return err
	}
	menu, err := index.GetCurrent(semver.MustParse("1.36.1"))
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfigAndClient(&rest.Config{Host: localcluster.URL}, theCluster.Client())
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(api.Discovery()))
	ns, err := api.CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
	if err != nil {
		return err
	}
	for name, a := range menu.Addons {
		if _, err := a.EnsureUpdated(ctx, vfs.NewVFSContext(), api, nil, &channels.Pruner{Client: objects, RESTMapper: mapper},
			&channels.ClientApplier{Client: objects, RESTMapper: mapper}, channels.FindChannelVersions(ns)[name]); err != nil {
			return fmt.Errorf("kops cannot apply the addon: %w", err)
		}
	}
	return nil
}

// podReady waits until the node's pod of the addon is Ready: its hooks are done.
func podReady(ctx context.Context, node string) error {
	last := "there is no pod"
	for {
		pods, err := api.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil {
			return fmt.Errorf("%w; before: %s", err, last)
		}
		for _, p := range pods.Items {
			for _, c := range p.Status.Conditions {
				if c.Type == "Ready" && c.Status == "True" {
					return nil
				}
			}
			last = fmt.Sprintf("pod %s is %s: %v %v", p.Name, p.Status.Phase, p.Status.Conditions, p.Status.ContainerStatuses)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the pod is not Ready in time: %s", last)
		case <-time.After(time.Second):
		}
	}
}
