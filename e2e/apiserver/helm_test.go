//go:build e2e

package apiserver

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kopshook.dev/kopshook/internal/convert"
	"kopshook.dev/kopshook/internal/report"
)

const helmNamespace = "helm-hooks"

// chart is a rendered chart whose hooks are objects of several kinds: the later ones need the earlier.
const chart = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations: {"helm.sh/hook": "pre-upgrade,post-upgrade", "helm.sh/hook-weight": "-5"}
data: {mode: upgrade}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: second
  annotations: {"helm.sh/hook": pre-upgrade, "helm.sh/hook-weight": "5", "helm.sh/hook-delete-policy": hook-succeeded}
spec: {template: {metadata: {labels: {job: second}}, spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: first
  annotations: {"helm.sh/hook": pre-upgrade, "helm.sh/hook-weight": "-1"}
spec: {template: {metadata: {labels: {job: first}}, spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: smoke
  labels: {job: smoke}
  annotations: {"helm.sh/hook": post-upgrade}
spec: {restartPolicy: Never, containers: [{name: c, image: x}]}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: refuse
  annotations: {"helm.sh/hook": pre-delete, "helm.sh/hook-delete-policy": "POLICY"}
spec: {backoffLimit: 0, template: {metadata: {labels: {job: refuse}}, spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}
`

// Hooks of a chart run against a real API server and its controller of Jobs; this test says how their pods end, as a kubelet does.
func TestHelmHooksOfAnyKind(t *testing.T) {
	ctx := t.Context()
	if _, err := cluster.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: helmNamespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := cluster.client.CoreV1().ServiceAccounts(helmNamespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	kubelet := endPods(t)
	a := newAround(t)
	converted := func(policy string) string {
		var r report.Report
		text := convert.Convert("helm", "chart.yaml", []byte(strings.ReplaceAll(chart, "POLICY", policy)), convert.Options{Helm: convert.HelmOptions{Release: "web", Namespace: helmNamespace}}, &r)
		if r.HasErrors() {
			t.Fatal(r.Findings)
		}
		return a.write(t, "hooks.yaml", string(text))
	}
	there := func() []string { return objectsThere(t) }

	spec := converted("hook-failed")
	// before the upgrade: by weight, a ConfigMap before the Jobs; a Job that succeeded goes where its policy says so
	code, done, _, stderr := a.exec(t, spec, nil, "upgrade", "cluster", clusterName, "--yes")
	if code != 0 || !strings.HasPrefix(done, "kops upgrade") {
		t.Fatalf("exit code %d, kops did %q\n%s", code, done, stderr)
	}
	if diff := cmp.Diff([]string{"first with settings", "second with settings"}, kubelet.saw()); diff != "" {
		t.Errorf("pods, in their order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"configmap settings", "job first"}, there()); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	before := configMap(t).UID

	// after the upgrade is rolled out, and not before: the Pod, and the ConfigMap anew
	code, done, _, stderr = a.exec(t, spec, nil, "rolling-update", "cluster", clusterName, "--yes")
	if code != 0 || done != "kops rolling-update cluster "+clusterName+" --yes\n" {
		t.Fatalf("exit code %d, kops did %q\n%s", code, done, stderr)
	}
	if diff := cmp.Diff([]string{"smoke with settings"}, kubelet.saw()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if configMap(t).UID == before {
		t.Error("the ConfigMap was not made anew, as before-hook-creation has it")
	}

	// a Job that fails keeps kops from starting; it stays, or goes with hook-failed
	kubelet.fail("refuse")
	for _, tc := range []struct {
		policy string
		want   []string
	}{
		{"hook-failed", []string{"configmap settings", "job first", "pod smoke"}},
		{"before-hook-creation", []string{"configmap settings", "job first", "job refuse", "pod smoke"}},
	} {
		code, done, _, stderr = a.exec(t, converted(tc.policy), nil, "delete", "cluster", clusterName, "--yes")
		if code != 125 || done != "" || !strings.Contains(stderr, "before-delete: refuse: failed: exit code 1") {
			t.Errorf("%s: exit code %d, kops did %q\n%s", tc.policy, code, done, stderr)
		}
		if diff := cmp.Diff(tc.want, there()); diff != "" {
			t.Errorf("%s: objects (-want +got):\n%s", tc.policy, diff)
		}
	}
}

func configMap(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	c, err := cluster.client.CoreV1().ConfigMaps(helmNamespace).Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// objectsThere lists what hooks left.
func objectsThere(t *testing.T) []string {
	t.Helper()
	var names []string
	maps, err := cluster.client.CoreV1().ConfigMaps(helmNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range maps.Items {
		names = append(names, "configmap "+o.Name)
	}
	jobs, err := cluster.client.BatchV1().Jobs(helmNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range jobs.Items {
		names = append(names, "job "+o.Name)
	}
	pods, err := cluster.client.CoreV1().Pods(helmNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range pods.Items {
		if len(o.OwnerReferences) == 0 {
			names = append(names, "pod "+o.Name)
		}
	}
	slices.Sort(names)
	return names
}

// podEnder ends each pod of the namespace soon after it is there.
type podEnder struct {
	mu      sync.Mutex
	seen    []string
	failing string
}

func endPods(t *testing.T) *podEnder {
	k := &podEnder{}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		done := map[string]bool{}
		for ctx.Err() == nil {
			pods, err := cluster.client.CoreV1().Pods(helmNamespace).List(ctx, metav1.ListOptions{})
			if err == nil {
				for i := range pods.Items {
					if p := &pods.Items[i]; !done[string(p.UID)] && p.DeletionTimestamp == nil {
						done[string(p.UID)] = k.end(ctx, p)
					}
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return k
}

// end ends a pod, and notes it together with the ConfigMap that is there.
func (k *podEnder) end(ctx context.Context, p *corev1.Pod) bool {
	name := p.Labels["job"]
	note := name
	if _, err := cluster.client.CoreV1().ConfigMaps(helmNamespace).Get(ctx, "settings", metav1.GetOptions{}); err == nil {
		note += " with settings"
	}
	k.mu.Lock()
	p.Status.Phase = corev1.PodSucceeded
	if name == k.failing {
		p.Status.Phase = corev1.PodFailed
	}
	k.mu.Unlock()
	if _, err := cluster.client.CoreV1().Pods(helmNamespace).UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen = append(k.seen, note)
	return true
}

func (k *podEnder) fail(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failing = name
}

// saw returns the pods since it was last asked.
func (k *podEnder) saw() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	seen := k.seen
	k.seen = nil
	return seen
}
