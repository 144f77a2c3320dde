//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/addon"
	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// morePackages are what some nodes have besides: for pods runc, which containerd has too, and busybox for the image; gpg for
// recipes. One root file system has them all: building one takes long.
var morePackages = []string{"busybox-static", "gpg", "runc"}

// podScript is what a test's scenario begins with: it lays out volumes, starts, probes and stops pods as the kubelet and
// containerd do.
const podScript = `
set -u
image=/pods/image
mkdir -p $image/bin
cp /bin/busybox $image/bin
for applet in $(busybox --list); do [ -e $image/bin/$applet ] || ln -s busybox $image/bin/$applet; done
for v in /pods/*/volumes/*; do
  [ ! -e "$v/..data" ] || continue
  mkdir "$v/..first"
  mv "$v"/* "$v/..first"
  ln -s ..first "$v/..data"
  for f in "$v"/..first/*; do ln -s "..data/${f##*/}" "$v/"; done
done
update() { # VOLUME FOLDER: as the kubelet when the ConfigMap has changed
  at=$(mktemp -d "$1/..XXXXXX")
  cp "$2"/* "$at"
  ln -s "${at##*/}" "$1/..new"
  mv -T "$1/..new" "$1/..data"
}
# nspawn forbids BPF, without which runc takes its control groups for rootless
start() { # POD: in the background; its output goes to /trial/out/POD.log, which stays
  runc --rootless=true run --no-new-keyring --bundle "/pods/$1" "$1" >> "/trial/out/$1.log" 2>&1 &
  for _ in $(seq 100); do ! runc state "$1" > /dev/null 2>&1 || break; sleep 0.1; done
}
ready() { # POD, as the readiness probe
  eval "runc exec $1 $(cat "/pods/$1/probe")" > /dev/null 2>&1
}
becomes() { # POD ready|unready, within two minutes
  for _ in $(seq 240); do
    if ready "$1"; then is=ready; else is=unready; fi
    [ $is != "$2" ] || { echo "$1 is $2"; return; }
    sleep 0.5
  done
  echo "$1 is NOT $2"
}
state() { sed -n 's/.*"state":"\([^"]*\)".*/\1/p' "/var/lib/kopshook/status/$1.json" 2> /dev/null; }
settles() { # HOOK STATE, within two minutes
  for _ in $(seq 240); do
    [ "$(state "$1")" != "$2" ] || { echo "hook $1 $2"; return; }
    sleep 0.5
  done
  echo "hook $1 is NOT $2 but $(state "$1")"
}
says() { # POD TEXT, within two minutes
  for _ in $(seq 240); do
    ! grep -qsF "$2" "/trial/out/$1.log" || return
    sleep 0.5
  done
  echo "$1 does NOT say $2"
}
stop() { # POD, as when it is deleted, with 30 s to end in; runc run may still be taking the control group away itself
  {
    runc kill "$1" TERM
    for _ in $(seq 300); do [ "$(runc state "$1" | grep -c '"running"')" = 1 ] || break; sleep 0.1; done
    runc kill --all "$1" KILL
    for _ in $(seq 100); do
      runc state "$1" || break
      runc delete --force "$1"
      sleep 0.5
    done
  } > "/trial/out/$1.stop.txt" 2>&1
  if runc state "$1" > /dev/null 2>&1; then echo "$1 NOT stopped"; else echo "$1 stopped"; fi
}
`

// addonObjects makes the addon of specs.
func addonObjects(t *testing.T, specs ...string) []any {
	t.Helper()
	var r report.Report
	var docs []*hookspec.Doc
	for _, s := range specs {
		docs = append(docs, hookspec.Decode("hooks.yaml", []byte(s), &r)...)
	}
	if r.HasErrors() {
		t.Fatal(r.Findings)
	}
	a := addon.Build(addon.Input{Specs: docs, Read: func(hooks []hookspec.Resolved) []generator.Hook {
		return plan.Read(context.Background(), hooks, &source.Loader{}, &r)
	}}, &r)
	if len(r.Findings) > 0 {
		t.Fatal(r.Findings)
	}
	return a.Objects
}

// addPod puts the pod of the only DaemonSet among the objects onto the node's disk, for runc, under the name pod.
func (n *node) addPod(pod string, objects []any, env ...string) {
	n.t.Helper()
	maps := map[string]*corev1.ConfigMap{}
	var set *appsv1.DaemonSet
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.ConfigMap:
			maps[o.Name] = o
		case *appsv1.DaemonSet:
			set = o
		}
	}
	spec := set.Spec.Template.Spec
	c := spec.Containers[0]
	dir := path.Join("/pods", pod)

	mounts := []map[string]any{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "strictatime", "mode=755", "size=64k"}},
		{"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
	}
	for _, v := range c.VolumeMounts {
		source := spec.Volumes[slices.IndexFunc(spec.Volumes, func(o corev1.Volume) bool { return o.Name == v.Name })].VolumeSource
		if source.EmptyDir != nil {
			mounts = append(mounts, map[string]any{"destination": v.MountPath, "type": "tmpfs", "source": "tmpfs", "options": []string{"size=1m"}})
			continue
		}
		var names []string
		if source.ConfigMap != nil {
			names = []string{source.ConfigMap.Name}
		} else {
			for _, p := range source.Projected.Sources {
				names = append(names, p.ConfigMap.Name)
			}
		}
		at := path.Join(dir, "volumes", v.Name)
		for _, name := range names {
			for key, text := range maps[name].Data {
				n.put(path.Join(at, key), []byte(text))
			}
			for key, data := range maps[name].BinaryData {
				n.put(path.Join(at, key), data)
			}
		}
		mounts = append(mounts, map[string]any{"destination": v.MountPath, "type": "bind", "source": at, "options": []string{"rbind", "ro"}})
	}
	var caps []string
	for _, name := range c.SecurityContext.Capabilities.Add {
		caps = append(caps, "CAP_"+string(name))
	}
	vars := append([]string{"PATH=/bin", "NODE_NAME=e2e-node", "NODE_IP=192.0.2.7"}, env...)
	for _, e := range c.Env {
		if e.Value != "" {
			vars = append(vars, e.Name+"="+e.Value)
		}
	}
	namespaces := []map[string]any{{"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network"}, {"type": "cgroup"}}
	if !spec.HostPID {
		namespaces = append(namespaces, map[string]any{"type": "pid"})
	}
	config, err := json.MarshalIndent(map[string]any{
		"ociVersion": "1.0.2",
		"process": map[string]any{
			"user": map[string]any{"uid": *c.SecurityContext.RunAsUser, "gid": 0}, "cwd": "/", "env": vars,
			"args":         append(slices.Clone(c.Command), c.Args...),
			"capabilities": map[string]any{"bounding": caps, "effective": caps, "permitted": caps},
		},
		"root":   map[string]any{"path": "/pods/image", "readonly": *c.SecurityContext.ReadOnlyRootFilesystem},
		"mounts": mounts,
		"linux": map[string]any{
			"namespaces": namespaces, "cgroupsPath": "/pods/" + pod,
			"maskedPaths":   []string{"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"},
			"readonlyPaths": []string{"/proc/asound", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}, "", "  ")
	if err != nil {
		n.t.Fatal(err)
	}
	n.put(path.Join(dir, "config.json"), config)
	var probe []byte
	for _, word := range c.ReadinessProbe.Exec.Command {
		probe = fmt.Appendf(probe, "%q ", word)
	}
	n.put(path.Join(dir, "probe"), probe)
}

func (n *node) put(path string, content []byte) {
	n.t.Helper()
	if err := n.WriteFile(boot.File{Path: path, Content: content}); err != nil {
		n.t.Fatal(err)
	}
}
