package addon

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/nodestatus"
	templates "kopshook.dev/kopshook/templates/addon"
)

// conditionPrefix begins the type of the node condition of each hook. A condition has one reason, and a rule of
// node-problem-detector that finds nothing clears what another rule found (its issue 566): hence one for each hook.
const conditionPrefix = "KopshookHookFailed-"

// metricsPort is node-problem-detector's own.
const metricsPort = 20257

func (b *builder) statusName() string { return setName(b.Name, "status") }

// status makes node-problem-detector with a monitor that reads the status files of nodes, and one that says of specs that nodes
// wait for whether their hooks are verified.
func (b *builder) status(waited []string) (objects, sets []any) {
	name := b.statusName()
	config := b.configMap(b.Name+".status", "")
	put(config, "check.sh", templates.Check)
	put(config, "monitor.json", monitorConfig(b.hookNames()))
	monitors, parts := "/kopshook/monitor.json", []string{"monitor.json", "check.sh"}
	if len(waited) > 0 {
		put(config, "verified.sh", templates.Verified)
		put(config, "verified.json", b.verifiedMonitor(waited))
		monitors += ",/kopshook/verified.json"
		parts = append(parts, "verified.json", "verified.sh")
	}

	account := &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: b.meta(name, "")}
	binding := &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"},
		ObjectMeta: b.meta(name, ""),
		// Kubernetes has this role itself: nodes may be read, their conditions patched, events written
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-problem-detector"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: namespace}},
	}
	binding.Namespace = ""

	set := b.newDaemonSet(name, "", b.StatusImage)
	b.rolls(set, intstr.Parse(b.MaxUnavailable))
	// node-problem-detector reads its configuration once
	var content strings.Builder
	for _, part := range parts {
		content.WriteString(config.Data[part])
	}
	set.Spec.Template.Annotations = map[string]string{"kopshook.dev/config": sum([]byte(content.String()))[:12]}
	pod := &set.Spec.Template.Spec
	pod.AutomountServiceAccountToken = nil
	pod.ServiceAccountName = name
	c := &pod.Containers[0]
	c.Name = "node-problem-detector"
	c.Command = []string{"/node-problem-detector", "--logtostderr", "--config.custom-plugin-monitor=" + monitors,
		"--port=0", "--prometheus-address=0.0.0.0"}
	c.Env = []corev1.EnvVar{fieldEnv("NODE_NAME", "spec.nodeName")}
	c.Ports = []corev1.ContainerPort{{Name: "metrics", ContainerPort: metricsPort}}
	c.Resources = resources("10m", "40Mi", "100Mi")
	c.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		ReadOnlyRootFilesystem:   new(true),
		RunAsNonRoot:             new(true),
		RunAsUser:                new(int64(65534)),
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	mount(pod, "kopshook", "/kopshook", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: config.Name}, DefaultMode: new(int32(0o555))}})
	mount(pod, "status", "/status", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: nodestatus.Dir, Type: new(corev1.HostPathDirectoryOrCreate)}})
	if len(waited) > 0 {
		mount(pod, "verified", "/verified", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: verifiedDir, Type: new(corev1.HostPathDirectoryOrCreate)}})
	}
	return []any{account, binding, config}, []any{set}
}

// hookNames returns the names of all hooks of the specs that keep a status file, in any phase.
func (b *builder) hookNames() []string {
	names := map[string]bool{}
	groups := b.Groups
	if groups == nil {
		groups = []Group{{Group: hookspec.Group{Cluster: b.Cluster}}}
	}
	for _, d := range b.Specs {
		for _, g := range groups {
			if b.Groups != nil && !d.Selects(g.Group) {
				continue
			}
			for _, h := range d.Resolve(g.Group) {
				if h.Phase != hookspec.Boot {
					names[h.Name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// The configuration of node-problem-detector's custom plugin monitor (its pkg/custompluginmonitor/types/config.go).
type (
	monitor struct {
		Plugin     string           `json:"plugin"`
		Config     monitorSettings  `json:"pluginConfig"`
		Source     string           `json:"source"`
		Metrics    bool             `json:"metricsReporting"`
		Conditions []monitorDefault `json:"conditions"`
		Rules      []monitorRule    `json:"rules"`
	}
	monitorSettings struct {
		Interval         string `json:"invoke_interval"`
		Timeout          string `json:"timeout"`
		MaxOutput        int    `json:"max_output_length"`
		Concurrency      int    `json:"concurrency"`
		MessageChanges   bool   `json:"enable_message_change_based_condition_update"`
		SkipInitialState bool   `json:"skip_initial_status"`
	}
	monitorDefault struct {
		Type    string `json:"type"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	monitorRule struct {
		Type      string   `json:"type"`
		Condition string   `json:"condition"`
		Reason    string   `json:"reason"`
		Path      string   `json:"path"`
		Args      []string `json:"args"`
	}
)

func newMonitor(interval string) *monitor {
	return &monitor{
		Plugin: "custom", Source: "kopshook", Metrics: true, Conditions: []monitorDefault{}, Rules: []monitorRule{},
		Config: monitorSettings{Interval: interval, Timeout: "5s", MaxOutput: 120, Concurrency: 3, MessageChanges: true,
			// a restart of the detector must not clear a condition for a minute
			SkipInitialState: true},
	}
}

func monitorConfig(hooks []string) []byte {
	m := newMonitor("60s")
	for _, h := range hooks {
		m.Conditions = append(m.Conditions, monitorDefault{conditionPrefix + h, "HookHasNotFailed", "the hook succeeded, runs, or is not of this node"})
		m.Rules = append(m.Rules, monitorRule{"permanent", conditionPrefix + h, h, "/kopshook/check.sh", []string{h}})
	}
	return m.encode()
}

func (m *monitor) encode() []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		panic(err) // strings and numbers only
	}
	return buf.Bytes()
}
