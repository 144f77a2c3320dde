//go:build e2e

package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/nodelabels"

	"kopshook.dev/kopshook/internal/addon"
	"kopshook.dev/kopshook/internal/hookspec"
)

// addNodes makes n nodes of an instance group, as kops labels them, and returns the group. Nobody runs their pods.
func addNodes(t *testing.T, n int, name string, role kops.InstanceGroupRole, labels map[string]string, taints ...corev1.Taint) addon.Group {
	t.Helper()
	ig := &kops.InstanceGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	ig.Spec.Role, ig.Spec.NodeLabels = role, labels
	ig.AddInstanceGroupNodeLabel()
	all, err := nodelabels.BuildNodeLabels(&kops.Cluster{}, ig)
	if err != nil {
		t.Fatal(err)
	}
	all[corev1.LabelOSStable] = "linux"
	for i := range n {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), Labels: all}, Spec: corev1.NodeSpec{Taints: taints}}
		if _, err := cluster.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cluster.client.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	return addon.Group{Labelled: true, Group: hookspec.Group{Cluster: "a.example.com", Name: name, Role: string(role), NodeLabels: ig.Spec.NodeLabels}}
}

// pods returns the pods of a DaemonSet, by the node that they are for.
func pods(t *testing.T, set string) map[string]*corev1.Pod {
	t.Helper()
	list, err := cluster.client.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + set})
	if err != nil {
		t.Fatal(err)
	}
	byNode := map[string]*corev1.Pod{}
	for i := range list.Items {
		p := &list.Items[i]
		if p.DeletionTimestamp != nil {
			// there is no kubelet that would say that it is gone
			if err := cluster.client.CoreV1().Pods("kube-system").Delete(t.Context(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
				t.Log(err)
			}
			continue
		}
		// the DaemonSet's controller says by affinity which node a pod is for
		byNode[p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]] = p
	}
	return byNode
}

// Kubernetes' own controller makes pods for the nodes of the selected instance groups, whatever their taints, and with
// the overrides that hold there.
func TestDaemonSetsReachTheirNodes(t *testing.T) {
	taint := corev1.Taint{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule}
	evict := corev1.Taint{Key: "example.com/leave", Value: "now", Effect: corev1.TaintEffectNoExecute}
	groups := []addon.Group{
		addNodes(t, 1, "cp", kops.InstanceGroupRoleControlPlane, nil, corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}),
		addNodes(t, 1, "api", kops.InstanceGroupRoleAPIServer, nil),
		addNodes(t, 2, "nodes", kops.InstanceGroupRoleNode, map[string]string{"pool": "a"}, evict),
		addNodes(t, 1, "gpu-a", kops.InstanceGroupRoleNode, nil, taint),
	}
	specs := []string{
		spec("every", "{}", hook("e", "")), spec("workers", "{roles: [Node]}", hook("w", "")), spec("control", "{roles: [ControlPlane, APIServer]}", hook("c", "")),
		spec("pool", "{nodeLabels: {pool: a}}", hook("p", "")), spec("not", "{excludeNames: [nodes], roles: [Node]}", hook("n", "")),
		spec("over", "{roles: [Node]}", hook("o", "")) + "  overrides:\n  - {selector: {names: [\"gpu-*\"]}, hooks: {o: {attempts: 1}}}\n",
	}
	a := build(t, addon.Input{Cluster: "a.example.com", Groups: groups, Options: addon.Options{Name: "reach"}}, specs...)
	apply(t, t.TempDir(), a)
	defer cleanUp(t, "reach")
	want := map[string][]string{
		"reach-every":                 {"api-0", "gpu-a-0", "nodes-0", "nodes-1"},
		"reach-every-control-plane":   {"cp-0"},
		"reach-workers":               {"gpu-a-0", "nodes-0", "nodes-1"},
		"reach-control":               {"api-0"},
		"reach-control-control-plane": {"cp-0"},
		"reach-pool":                  {"nodes-0", "nodes-1"},
		"reach-not":                   {"gpu-a-0"},
		"reach-over":                  {"gpu-a-0", "nodes-0", "nodes-1"},
	}
	eventually(t, func() error {
		got := map[string][]string{}
		for set := range want {
			got[set] = slices.Sorted(maps.Keys(pods(t, set)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("nodes by DaemonSet (-want +got)\n%s", diff)
		}
		return nil
	})
}

// A changed hook goes to a tenth of the nodes at a time, and no further while their pods are not ready.
func TestRolloutWaitsForReadiness(t *testing.T) {
	t.Parallel()
	group := addNodes(t, 4, "roll", kops.InstanceGroupRoleNode, nil)
	in := addon.Input{Cluster: "a.example.com", Groups: []addon.Group{group}, Options: addon.Options{Name: "roll"}}
	dir := t.TempDir()
	apply(t, dir, build(t, in, spec("s", "{names: [roll]}", hook("h", "echo old"))))
	defer cleanUp(t, "roll")
	sumOf := func(p *corev1.Pod) string {
		_, sum, _ := strings.Cut(p.Spec.Containers[0].Args[0], " sum=")
		return sum
	}
	eventually(t, func() error {
		all := pods(t, "roll-s")
		if len(all) != 4 {
			return fmt.Errorf("%d pods, want 4", len(all))
		}
		for _, p := range all {
			setReady(t, p, true)
		}
		return nil
	})
	old := sumOf(pods(t, "roll-s")["roll-0"])

	if !apply(t, dir, build(t, in, spec("s", "{names: [roll]}", hook("h", "echo new")))) {
		t.Fatal("kops did not see the change")
	}
	changed := func() (n int) {
		for _, p := range pods(t, "roll-s") {
			if sumOf(p) != old {
				n++
			}
		}
		return n
	}
	for want := 1; want <= 4; want++ {
		eventually(t, func() error {
			if n := changed(); n != want {
				return fmt.Errorf("%d pods of the new kind, want %d", n, want)
			}
			return nil
		})
		time.Sleep(time.Second) // for more than one to be replaced, if that is what happens
		if n := changed(); n > want {
			t.Fatalf("%d pods of the new kind while one of them is not ready, want %d", n, want)
		}
		for _, p := range pods(t, "roll-s") {
			setReady(t, p, true)
		}
	}
}

// setReady says what a kubelet would say.
func setReady(t *testing.T, p *corev1.Pod, ready bool) {
	t.Helper()
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"phase": "Running",
		"conditions": []map[string]any{{"type": "Ready", "status": status, "lastTransitionTime": "2020-01-01T00:00:00Z"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.client.CoreV1().Pods("kube-system").Patch(t.Context(), p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err) // a pod may go at any moment
	}
}
