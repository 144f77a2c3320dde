package addon

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// tainted is a group whose nodes join with a taint.
func tainted(name, role, taint, field string) Group {
	g := group(name, role)
	g.Taints = []Taint{TaintOf("dedicated=gpu:NoSchedule", "spec.taints"), TaintOf(taint, field)}
	return g
}

// A group with the taint of a spec waits for this spec, by a rule that no later change of the addon changes.
func TestNodesWaitForTheSpecOfTheirTaint(t *testing.T) {
	const kubelet = "spec.kubelet.taints"
	groups := []Group{group("plain", "Node"), tainted("gpu", "Node", "readiness.k8s.io/kopshook-s=:NoSchedule", kubelet),
		tainted("cp", "ControlPlane", "readiness.k8s.io/kopshook-s=pending:NoSchedule", kubelet)}
	in := Input{Groups: groups, Options: Options{Status: true}}
	a := build(t, in, spec("s", "{}", one("h")), spec("other", "{}", one("i")))
	f, err := a.Readiness()
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: readiness.node.x-k8s.io/v1alpha1
kind: NodeReadinessRule
metadata:
  labels:
    app.kubernetes.io/managed-by: kopshook
    app.kubernetes.io/name: kopshook
    kopshook.dev/addon: kopshook
    kopshook.dev/spec: s
  name: kopshook-s.gpu
spec:
  conditions:
  - requiredStatus: "False"
    type: KopshookNotVerified-kopshook-s
  enforcementMode: bootstrap-only
  nodeSelector:
    matchLabels:
      kops.k8s.io/instancegroup: gpu
  taint:
    effect: NoSchedule
    key: readiness.k8s.io/kopshook-s
`
	_, content, _ := strings.Cut(string(f.Content), "\n") // a comment
	first, second, _ := strings.Cut(content, "---\n")
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(strings.NewReplacer("kopshook-s.gpu", "kopshook-s-control-plane.cp", ": gpu", ": cp").Replace(want), second); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	files, err := a.Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	if at := slices.IndexFunc(files, func(f File) bool { return f.Name == "kopshook-readiness.yaml" }); at < 0 || string(files[at].Content) != string(f.Content) {
		t.Error("the rules are not among the files")
	}
	if manifest, _ := a.Manifest(); strings.Contains(string(manifest), "NodeReadinessRule") {
		t.Error("kops would apply a kind that the cluster may not know")
	}
	again, err := build(t, in, spec("other", "{}", one("i")), spec("s", "{}", one("h")+"\n"+one("j"))).Readiness()
	if err != nil || string(again.Content) != string(f.Content) {
		t.Errorf("another hook changes what cannot be changed: %v\n%s", err, again.Content)
	}

	// node-problem-detector sees what the pod leaves, and starts anew when there is more to see
	set := func(a *Addon) *appsv1.DaemonSet {
		all := objects[*appsv1.DaemonSet](a)
		return all[slices.IndexFunc(all, func(s *appsv1.DaemonSet) bool { return s.Name == "kopshook-status" })]
	}
	with, without := set(a), set(build(t, Input{Groups: groups[:1], Options: Options{Status: true}}, spec("s", "{}", one("h"))))
	c := with.Spec.Template.Spec.Containers[0]
	if !slices.Contains(c.Command, "--config.custom-plugin-monitor=/kopshook/monitor.json,/kopshook/verified.json") {
		t.Errorf("node-problem-detector is told %q", c.Command)
	}
	if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/verified" && m.ReadOnly }) {
		t.Error("it does not see the folder")
	}
	if slices.ContainsFunc(without.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "verified" }) {
		t.Error("it sees the folder though nobody waits")
	}
	for _, m := range objects[*corev1.ConfigMap](a) {
		if m.Name == "kopshook.status" && (!strings.Contains(m.Data["verified.json"], `"kopshook.s"`) || strings.Contains(m.Data["verified.json"], "kopshook.other")) {
			t.Errorf("it looks for %s", m.Data["verified.json"])
		}
	}
	if f, err := build(t, Input{Groups: groups[:1], Options: Options{Status: true}}, spec("s", "{}", one("h"))).Readiness(); err != nil || f.Content != nil {
		t.Errorf("there are rules though nobody waits: %v %s", err, f.Content)
	}
}

// A taint that nobody takes away keeps all pods from its nodes for ever.
func TestStartupTaintsThatStay(t *testing.T) {
	const key, kubelet = "readiness.k8s.io/kopshook-s", "spec.kubelet.taints"
	unlabelled := tainted("gpu", "Node", key+"=:NoSchedule", kubelet)
	unlabelled.Labelled = false
	for name, c := range map[string]struct {
		group  Group
		status bool
		want   string
		rules  int
	}{
		"fine":                     {tainted("gpu", "Node", key+"=:NoSchedule", kubelet), true, "", 1},
		"another's":                {tainted("gpu", "Node", "readiness.k8s.io/network=:NoSchedule", kubelet), true, "", 0},
		"no such spec":             {tainted("gpu", "Node", key+"x=:NoSchedule", kubelet), true, `instance group "gpu": nobody takes the taint readiness.k8s.io/kopshook-sx away, so its nodes never take pods`, 0},
		"not selected":             {tainted("apiserver", "APIServer", key+"=:NoSchedule", kubelet), true, `instance group "apiserver": nobody takes the taint readiness.k8s.io/kopshook-s away, so its nodes never take pods`, 0},
		"without the status":       {tainted("gpu", "Node", key+"=:NoSchedule", kubelet), false, "it takes the condition of node-problem-detector", 0},
		"another effect":           {tainted("gpu", "Node", key+"=:NoExecute", kubelet), true, `the effect of the taint readiness.k8s.io/kopshook-s is "NoExecute"`, 0},
		"no effect":                {tainted("gpu", "Node", key, kubelet), true, `the effect of the taint readiness.k8s.io/kopshook-s is ""`, 0},
		"where autoscalers see it": {tainted("gpu", "Node", key+":NoSchedule", "spec.taints"), true, "cluster-autoscaler and Karpenter are told that its nodes keep the taint", 1},
		"without its label":        {unlabelled, true, "its nodes lack the label kops.k8s.io/instancegroup", 1},
	} {
		t.Run(name, func(t *testing.T) {
			a, r := try(t, Input{Groups: []Group{c.group, group("other", "Node")}, Options: Options{Status: c.status}}, spec("s", "{roles: [Node, ControlPlane]}", one("h")), spec("all", "{}", one("i")))
			switch {
			case c.want == "" && len(r.Findings) > 0, c.want != "" && (len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Message, c.want)):
				t.Errorf("got %v, want %q", r.Findings, c.want)
			case c.want != "" && r.HasErrors() != (c.rules == 0):
				t.Errorf("errors: %v", r.HasErrors())
			}
			if len(a.rules) != c.rules {
				t.Errorf("%d rules, want %d", len(a.rules), c.rules)
			}
		})
	}
}
