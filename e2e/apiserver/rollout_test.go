//go:build e2e

package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/addon"
)

// rollout is an addon on its way to nodes that no kubelet serves: the tests say what is ready.
type rollout struct {
	t    *testing.T
	name string
	in   addon.Input
	dir  string
}

// The tests of rollouts mostly wait, so they do it side by side, each with nodes of its own.
func newRollout(t *testing.T, name string, groups ...addon.Group) *rollout {
	r := &rollout{t, name, addon.Input{Cluster: "a.example.com", Groups: groups, Options: addon.Options{Name: name}}, t.TempDir()}
	t.Cleanup(func() { cleanUp(t, name) })
	return r
}

func (r *rollout) apply(specs ...string) {
	r.t.Helper()
	if !apply(r.t, r.dir, build(r.t, r.in, specs...)) {
		r.t.Fatal("kops did not see the change")
	}
}

// running returns what pods of a DaemonSet run, by node: the checksums of their hooks, and what is to run again.
func (r *rollout) running(set string) map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for node, p := range pods(r.t, set) {
		var sums []string
		for _, a := range p.Spec.Containers[0].Args {
			_, sum, _ := strings.Cut(a, " sum=")
			sums = append(sums, sum)
		}
		out[node] = strings.Join(sums, "; ") + p.Annotations["kopshook.dev/again"]
	}
	return out
}

// settle waits until the DaemonSets' controller has done what it will do: it has seen the last change, and no pod changes for two
// seconds.
func (r *rollout) settle(sets ...string) {
	r.t.Helper()
	since, last := time.Now(), ""
	for end := time.Now().Add(time.Minute); time.Since(since) < 2*time.Second; time.Sleep(200 * time.Millisecond) {
		now, seen := "", true
		for _, s := range sets {
			set, err := cluster.client.AppsV1().DaemonSets("kube-system").Get(r.t.Context(), s, metav1.GetOptions{})
			if err != nil {
				r.t.Fatal(err)
			}
			seen = seen && set.Status.ObservedGeneration == set.Generation
			ps := pods(r.t, s)
			for _, node := range slices.Sorted(maps.Keys(ps)) {
				now += node + " " + string(ps[node].UID) + "\n"
			}
		}
		if now != last || now == "" || !seen {
			since, last = time.Now(), now
		}
		if time.Now().After(end) {
			r.t.Fatal("the controller comes to no end")
		}
	}
}

// ready makes the pods of a DaemonSet ready, all or those that are.
func (r *rollout) ready(set string, is func(node string) bool) {
	r.t.Helper()
	for node, p := range pods(r.t, set) {
		setReady(r.t, p, is == nil || is(node))
	}
}

// complete makes all pods ready until the controller says that each of its nodes has one of the latest kind.
func (r *rollout) complete(sets ...string) {
	r.t.Helper()
	for _, name := range sets {
		eventually(r.t, func() error {
			r.ready(name, nil)
			s, err := cluster.client.AppsV1().DaemonSets("kube-system").Get(r.t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := s.Status; got.ObservedGeneration != s.Generation || got.DesiredNumberScheduled == 0 || got.UpdatedNumberScheduled != got.DesiredNumberScheduled ||
				got.NumberAvailable != got.DesiredNumberScheduled {
				return fmt.Errorf("the rollout of %s comes to no end: %+v", name, got)
			}
			return nil
		})
	}
}

// changed returns the nodes whose pod is another than before.
func changed(before, now map[string]string) []string {
	var out []string
	for node, sum := range now {
		if before[node] != sum {
			out = append(out, node)
		}
	}
	slices.Sort(out)
	return out
}

// arrives waits until so many nodes have another pod than before, and for what comes after that.
func (r *rollout) arrives(set string, before map[string]string, want int) {
	r.t.Helper()
	waitFor(r.t.Context(), time.Minute, func() error {
		if n := len(changed(before, r.running(set))); n < want {
			return fmt.Errorf("%d of %d", n, want)
		}
		return nil
	})
	r.settle(set)
}

// bad applies specs whose new pods never become ready, and expects that so many nodes get them and no more.
func (r *rollout) bad(set string, want int, specs ...string) []string {
	r.t.Helper()
	before := r.running(set)
	r.apply(specs...)
	r.arrives(set, before, want)
	got := changed(before, r.running(set))
	if len(got) != want {
		r.t.Errorf("%s: %d of %d nodes have what never becomes ready, want %d: %v", set, len(got), len(before), want, got)
	}
	return got
}

// A new DaemonSet is not held back: Kubernetes makes its pods on all nodes at once, and --plan warns of it. One whose hooks
// were disabled first is held back, and so is a spec with a new name, or one that is added, if it begins so.
func TestNewDaemonSetIsHeldBackWhenItsHooksBeginDisabled(t *testing.T) {
	t.Parallel()
	g := addNodes(t, 20, "first", kops.InstanceGroupRoleNode, nil)
	off := strings.Replace(spec("s", "{names: [first]}", hook("h", "exit 1")), ", phase: daemon,", ", phase: daemon, enabled: false,", 1)
	on := spec("s", "{names: [first]}", hook("h", "exit 1"))

	r := newRollout(t, "first", g)
	r.apply(off)
	r.complete("first-s")
	r.bad("first-s", 2, on)

	// another name: first beside the old one, without hooks, then in its place
	name := func(s string) string { return strings.Replace(s, "metadata: {name: s}", "metadata: {name: t}", 1) }
	r.apply(on, name(off))
	r.complete("first-t")
	r.bad("first-t", 2, name(on))
	eventually(t, func() error {
		if left := pods(t, "first-s"); len(left) > 0 {
			return fmt.Errorf("the old name has %d pods", len(left))
		}
		return nil
	})

	direct := newRollout(t, "direct", g)
	p, err := build(t, direct.in, on).Compare(nil)
	if err != nil || p.Changes[0].Kind != addon.New {
		t.Errorf("the plan does not say that the DaemonSet is new: %+v, %v", p, err)
	}
	direct.bad("direct-s", 20, on)
}

// Overrides that are inserted, removed and put into another order make no new DaemonSet, so that a hook that is changed
// with them is held back.
func TestOverridesAreHeldBack(t *testing.T) {
	t.Parallel()
	gpu, cpu := addNodes(t, 10, "ov-gpu", kops.InstanceGroupRoleNode, nil), addNodes(t, 10, "ov-cpu", kops.InstanceGroupRoleNode, nil)
	r := newRollout(t, "over", gpu, cpu)
	s := func(script string, overrides ...string) string {
		out := spec("s", `{names: ["ov-*"]}`, hook("h", script))
		if len(overrides) > 0 {
			out += "  overrides:\n" + strings.Join(overrides, "")
		}
		return out
	}
	const (
		onGPU = "  - {selector: {names: [\"ov-gpu\"]}, hooks: {h: {attempts: 2}}}\n"
		onARM = "  - {selector: {names: [\"arm-*\"]}, hooks: {h: {attempts: 5}}}\n"
		onCPU = "  - {selector: {names: [\"ov-cpu\"]}, hooks: {h: {env: {A: b}}}}\n"
	)
	r.apply(s("echo old", onGPU))
	r.complete("over-s")
	for i, overrides := range [][]string{{onARM, onGPU}, {onGPU}, {onCPU, onGPU}, {onGPU, onCPU}, {}, {onCPU}} {
		r.bad("over-s", 2, s(fmt.Sprint("exit ", i+1), overrides...))
		r.complete("over-s")
	}
}

// A tenth of the control planes is one, and workers have a tenth of their own.
func TestControlPlanesAreApart(t *testing.T) {
	t.Parallel()
	pool := map[string]string{"pool": "apart"}
	addNodes(t, 3, "cpa", kops.InstanceGroupRoleControlPlane, pool, corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule})
	addNodes(t, 20, "wka", kops.InstanceGroupRoleNode, pool)
	r := newRollout(t, "apart")
	r.apply(spec("s", "{nodeLabels: {pool: apart}}", hook("h", "echo")))
	r.complete("apart-s", "apart-s-control-plane")
	before := r.running("apart-s-control-plane")
	r.bad("apart-s", 2, spec("s", "{nodeLabels: {pool: apart}}", hook("h", "exit 1")))
	r.arrives("apart-s-control-plane", before, 1)
	if got := changed(before, r.running("apart-s-control-plane")); len(got) != 1 {
		t.Errorf("%d of 3 control planes have what never becomes ready, want 1", len(got))
	}
}

// Five specs that change at once are on no more than a tenth of the nodes.
func TestSpecsThatChangeTogetherShareOneTenth(t *testing.T) {
	t.Parallel()
	g := addNodes(t, 50, "many", kops.InstanceGroupRoleNode, nil)
	r := newRollout(t, "many", g)
	var good, bad, sets []string
	for i := range 5 {
		name := fmt.Sprint("s", i)
		good = append(good, spec(name, "{names: [many]}", hook(fmt.Sprint("h", i), "echo")))
		bad = append(bad, spec(name, "{names: [many]}", hook(fmt.Sprint("h", i), "exit 1")))
		sets = append(sets, "many-"+name)
	}
	r.apply(good...)
	r.complete(sets...)
	before := map[string]map[string]string{}
	for _, s := range sets {
		before[s] = r.running(s)
	}
	r.apply(bad...)
	for _, s := range sets {
		r.arrives(s, before[s], 1)
	}
	r.settle(sets...)
	nodes := map[string]bool{}
	for _, s := range sets {
		for _, node := range changed(before[s], r.running(s)) {
			nodes[node] = true
		}
	}
	if len(nodes) == 0 || len(nodes) > 5 {
		t.Errorf("%d of 50 nodes have what never becomes ready, want at most 5", len(nodes))
	}
}

// What the docs say Kubernetes does not hold back: nodes that join get what the template says then, and so do nodes whose
// pod was not ready when the rollout began. They count: where they are a tenth, nobody else follows.
func TestNodesThatAreNotHeldBack(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"pool": "loose"}
	addNodes(t, 20, "loose", kops.InstanceGroupRoleNode, labels)
	r := newRollout(t, "loose")
	s := func(script string) string { return spec("s", `{nodeLabels: {pool: loose}}`, hook("h", script)) }
	r.apply(s("echo"))
	r.complete("loose-s")
	down := func(node string) bool {
		return strings.HasSuffix(node, "-3") || strings.HasSuffix(node, "-4") || strings.HasSuffix(node, "-5")
	}
	r.ready("loose-s", func(node string) bool { return !down(node) })
	got := r.bad("loose-s", 3, s("exit 1"))
	for _, node := range got {
		if !down(node) {
			t.Errorf("%s was ready, and the others are more than a tenth", node)
		}
	}
	addNodes(t, 2, "late", kops.InstanceGroupRoleNode, labels)
	eventually(t, func() error {
		for _, node := range []string{"late-0", "late-1"} {
			if r.running("loose-s")[node] != r.running("loose-s")[got[0]] {
				return fmt.Errorf("%s joined, and has not what is new", node)
			}
		}
		return nil
	})
}

// kubectl rollout undo finds what the older template speaks of, where nothing was pruned.
func TestRolloutUndo(t *testing.T) {
	t.Parallel()
	g := addNodes(t, 1, "undo", kops.InstanceGroupRoleNode, nil)
	r := newRollout(t, "undo", g)
	s := func(script string) string { return spec("s", "{names: [undo]}", hook("h", script)) }
	manifest := func(spec string) {
		data, err := build(t, r.in, spec).Manifest()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(r.dir, "objects.yaml")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if !applyFrom(t, &url.URL{Scheme: "file", Path: path}) {
			t.Fatal("kops did not see the change")
		}
	}
	manifest(s("echo good"))
	r.complete("undo-s")
	good := r.running("undo-s")
	manifest(s("exit 1"))
	r.arrives("undo-s", good, 1)
	if len(changed(good, r.running("undo-s"))) != 1 {
		t.Fatal("the change did not arrive")
	}
	revisions, err := cluster.client.AppsV1().ControllerRevisions("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=undo-s"})
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range revisions.Items {
		if rev.Revision == 1 { // what kubectl rollout undo sends
			if _, err := cluster.client.AppsV1().DaemonSets("kube-system").Patch(t.Context(), "undo-s", types.StrategicMergePatchType, rev.Data.Raw, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	waitFor(t.Context(), time.Minute, func() error {
		if len(changed(good, r.running("undo-s"))) > 0 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	r.settle("undo-s")
	if got := changed(good, r.running("undo-s")); len(got) > 0 {
		t.Errorf("the pod runs %v, not what it ran before", r.running("undo-s"))
	}
	for _, p := range pods(t, "undo-s") {
		for _, v := range p.Spec.Volumes {
			if v.ConfigMap == nil {
				continue
			}
			m, err := cluster.client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), v.ConfigMap.Name, metav1.GetOptions{})
			if err != nil || m.Immutable == nil || !*m.Immutable {
				t.Errorf("ConfigMap %s: %v", v.ConfigMap.Name, err)
			} else if script, ok := m.Data["script"]; ok && script != "#!/bin/sh\necho good" {
				t.Errorf("the pod finds %q", script)
			}
		}
	}
}

// The commands of docs/rollout.md: a rollout is stopped and goes on, and a hook runs again at the same pace.
func TestRolloutIsPausedAndHooksRunAgain(t *testing.T) {
	t.Parallel()
	g := addNodes(t, 10, "pause", kops.InstanceGroupRoleNode, nil)
	r := newRollout(t, "pause", g)
	s := func(script string) string { return spec("s", "{names: [pause]}", hook("h", script)) }
	patch := func(body string) {
		t.Helper()
		if _, err := cluster.client.AppsV1().DaemonSets("kube-system").Patch(t.Context(), "pause-s", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r.apply(s("echo 1"))
	r.complete("pause-s")
	before := r.running("pause-s")
	r.bad("pause-s", 1, s("echo 2"))
	patch(docPatch(t, "pause"))
	r.ready("pause-s", nil)
	r.settle("pause-s")
	if got := changed(before, r.running("pause-s")); len(got) != 1 {
		t.Errorf("%d nodes follow while the rollout is paused", len(got)-1)
	}
	patch(docPatch(t, "go on"))
	r.complete("pause-s")
	if got := changed(before, r.running("pause-s")); len(got) != 10 {
		t.Errorf("%d of 10 nodes have the change when the rollout went on", len(got))
	}
	uids := func() map[string]string {
		out := map[string]string{}
		for node, p := range pods(t, "pause-s") {
			out[node] = string(p.UID)
		}
		return out
	}
	was := uids()
	patch(strings.ReplaceAll(docPatch(t, "again"), "ship-journal", "h"))
	waitFor(t.Context(), time.Minute, func() error {
		if len(changed(was, uids())) == 0 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	r.settle("pause-s")
	now := changed(was, uids())
	if len(now) != 1 {
		t.Fatalf("%d nodes run the hook again at once, want 1", len(now))
	}
	if got := pods(t, "pause-s")[now[0]].Annotations["kopshook.dev/again"]; got != "h=1" {
		t.Errorf("the pod is told %q", got)
	}
	// the next change of the addon does not forget it, or the hook would run once more
	r.complete("pause-s")
	r.apply(s("echo 3"))
	r.settle("pause-s")
	for node, p := range pods(t, "pause-s") {
		if p.Annotations["kopshook.dev/again"] != "h=1" {
			t.Errorf("%s: the annotation is gone", node)
		}
	}
}

// docPatch returns what docs/rollout.md gives kubectl patch, in the place that a comment names.
func docPatch(t *testing.T, what string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/rollout.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "# "+what+"\n")
	_, rest, ok2 := strings.Cut(rest, "-p '")
	body, _, ok3 := strings.Cut(rest, "'")
	if !ok || !ok2 || !ok3 || !json.Valid([]byte(body)) {
		t.Fatalf("docs/rollout.md has no command %q", what)
	}
	return body
}
