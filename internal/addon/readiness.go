package addon

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nodes that join with a startup taint take no pods until the hooks of a spec are verified: the pod of the spec leaves a file
// on its node, node-problem-detector makes a condition of it, and a NodeReadinessRule has the node readiness controller of
// Kubernetes take the taint away. Who wants it writes the taint into the manifest of an instance group.

const (
	taintDomain     = "readiness.k8s.io/" // the one that the controller takes
	verifiedPrefix  = "KopshookNotVerified-"
	verifiedDir     = "/run/kopshook-daemon" // run.sh; gone after a reboot, as what it speaks of may be
	readinessSuffix = "-readiness.yaml"
)

// Taint is a taint with which kops has the kubelet register a node, and the field that has it.
type Taint struct {
	corev1.Taint
	Field string // of the InstanceGroup: spec.taints or spec.kubelet.taints
}

// rule is a NodeReadinessRule, as sigs.k8s.io/node-readiness-controller/api/v1alpha1 defines it.
type rule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ruleSpec `json:"spec"`
}

type ruleSpec struct {
	Conditions      []ruleCondition      `json:"conditions"`
	EnforcementMode string               `json:"enforcementMode"`
	NodeSelector    metav1.LabelSelector `json:"nodeSelector"`
	Taint           corev1.Taint         `json:"taint"`
}

type ruleCondition struct {
	Type           string                 `json:"type"`
	RequiredStatus corev1.ConditionStatus `json:"requiredStatus"`
}

// readiness returns the rules that the taints of the instance groups ask for, and the specs that nodes wait for. Nothing of a
// rule may be changed once it is there, so each is for one spec and one instance group, and all in it follows from these two.
func (b *builder) readiness() (rules []any, specs []string) {
	for _, g := range b.Groups {
		for _, t := range g.Taints {
			if !strings.HasPrefix(t.Key, taintDomain+b.Name+"-") {
				continue
			}
			i := slices.IndexFunc(b.hookSets, func(s hookSet) bool {
				return t.Key == taintDomain+setName(b.Name, s.doc.Spec.Metadata.Name) && s.doc.Selects(g.Group) && (s.pool == "" || s.pool == pool(g.Group))
			})
			if i < 0 {
				b.r.Errorf(g.Position, t.Field, "its end is the name of a spec that has hooks of phase daemon and selects the group; else remove it",
					"instance group %q: nobody takes the taint %s away, so its nodes never take pods", g.Name, t.Key)
				continue
			}
			if !b.Status {
				b.r.Errorf(g.Position, t.Field, "add --status, or remove the taint",
					"instance group %q: nobody takes the taint %s away: it takes the condition of node-problem-detector", g.Name, t.Key)
				continue
			}
			if t.Effect != corev1.TaintEffectNoSchedule {
				b.r.Errorf(g.Position, t.Field, fmt.Sprintf("write %q", t.Key+"=:NoSchedule"), "instance group %q: the effect of the taint %s is %q", g.Name, t.Key, t.Effect)
				continue
			}
			if t.Field == "spec.taints" {
				b.r.Warnf(g.Position, t.Field, "move it to spec.kubelet.taints",
					"instance group %q: cluster-autoscaler and Karpenter are told that its nodes keep the taint %s, and make none for pods without a toleration", g.Name, t.Key)
			}
			b.checkLabelled([]Group{g})
			set := b.hookSets[i]
			spec := set.doc.Spec.Metadata.Name
			specs = append(specs, spec)
			rules = append(rules, b.rule(set.object.Name, spec, g.Name))
		}
	}
	slices.Sort(specs)
	return rules, slices.Compact(specs)
}

// rule is for an instance group whose nodes wait for the hooks of a spec, once: what breaks later takes no node out of use. Its
// name is one that older controllers make an annotation of.
func (b *builder) rule(set, spec, group string) *rule {
	meta := b.meta(fit(set+"."+group, 43), spec)
	meta.Namespace = ""
	owner := setName(b.Name, spec)
	return &rule{
		TypeMeta:   metav1.TypeMeta{APIVersion: "readiness.node.x-k8s.io/v1alpha1", Kind: "NodeReadinessRule"},
		ObjectMeta: meta,
		Spec: ruleSpec{
			Conditions:      []ruleCondition{{verifiedPrefix + owner, corev1.ConditionFalse}},
			EnforcementMode: "bootstrap-only",
			NodeSelector:    metav1.LabelSelector{MatchLabels: map[string]string{nodeLabelGroup: group}},
			Taint:           corev1.Taint{Key: taintDomain + owner, Effect: corev1.TaintEffectNoSchedule},
		},
	}
}

// verifiedMonitor is the configuration of the monitor that reads what pods leave on their nodes when they are ready.
func (b *builder) verifiedMonitor(specs []string) []byte {
	m := newMonitor("10s")
	for _, spec := range specs {
		name := verifiedPrefix + setName(b.Name, spec)
		m.Conditions = append(m.Conditions, monitorDefault{name, "HooksAreVerified", "all of its hooks ran and were verified on this node"})
		m.Rules = append(m.Rules, monitorRule{"permanent", name, "HooksNotVerified", "/kopshook/verified.sh", []string{b.Name + "." + spec}})
	}
	return m.encode()
}

// Readiness returns the file of the rules and its name, nil when no instance group has a startup taint. It is no part of the manifest:
// kops applies nothing of an addon with a kind that the cluster does not know.
func (a *Addon) Readiness() (File, error) {
	f := File{Name: a.Name + readinessSuffix}
	if len(a.rules) == 0 {
		return f, nil
	}
	var out bytes.Buffer
	out.WriteString("# For clusters with the node readiness controller: kubectl apply -f this file, before nodes join with the taint.\n")
	for i, r := range a.rules {
		doc, err := document(r)
		if err != nil {
			return f, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(doc)
	}
	f.Content = out.Bytes()
	return f, nil
}

// TaintOf reads a taint as kops writes it, KEY=VALUE:EFFECT.
func TaintOf(text, field string) Taint {
	rest, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(rest, "=")
	return Taint{corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}, field}
}
