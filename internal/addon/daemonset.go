package addon

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kopshook.dev/kopshook/internal/hookspec"
	templates "kopshook.dev/kopshook/templates/addon"
)

// daemonSets makes the DaemonSets of a spec, one a pool of nodes, and returns the ConfigMaps that they share. Where all
// hooks are disabled a DaemonSet stays, whose pods clear the nodes, and wait: what is enabled later is an update to it,
// which goes to some of the nodes at a time. A new DaemonSet's pods would come to all of them at once.
func (b *builder) daemonSets(d *hookspec.Doc) (config []any) {
	targets := b.targets(d)
	if len(targets) == 0 {
		return nil
	}
	b.refuseSameName(d, setName(b.Name, d.Spec.Metadata.Name))
	contents := b.contents(targets)
	made := map[string]bool{}
	for _, t := range targets {
		set := b.hookDaemonSet(d, &t)
		hooks := t.hooks()
		for _, h := range hooks {
			c := contents[h.ID]
			for _, m := range c.maps {
				if !made[m.Name] {
					made[m.Name] = true
					config = append(config, m)
				}
			}
			pod := &set.Spec.Template.Spec
			if at := c.path(); !slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == at }) {
				mount(pod, fit("hook-"+c.hook.Name, 50)+"-"+c.id(), at, mapVolume(c.maps))
			}
		}
		set.Spec.Template.Spec.Containers[0].Args = t.arguments(contents)
		slices.SortFunc(hooks, func(x, y hookspec.Resolved) int { return strings.Compare(x.Name, y.Name) })
		hooks = slices.CompactFunc(hooks, func(x, y hookspec.Resolved) bool { return x.Name == y.Name })
		b.hookSets = append(b.hookSets, hookSet{d, hooks, set, t})
	}
	return config
}

// hookDaemonSet is a DaemonSet that runs hooks on the target's nodes, without the hooks.
func (b *builder) hookDaemonSet(d *hookspec.Doc, t *target) *appsv1.DaemonSet {
	spec := d.Spec.Metadata.Name
	name := setName(b.Name, spec)
	if t.pool == controlPlane {
		name = setName(b.Name, spec, controlPlane)
		b.refuseSameName(d, name)
	}
	set := b.newDaemonSet(name, spec, b.Image)
	pod := &set.Spec.Template.Spec
	pod.HostPID = true
	if len(t.terms) > 0 {
		pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: t.terms},
		}}
	}
	c := &pod.Containers[0]
	c.Name = "hooks"
	c.Command = []string{"/bin/sh", "/kopshook/run.sh"}
	c.Env = []corev1.EnvVar{{Name: "OWNER", Value: b.Name + "." + spec}, fieldEnv("NODE_NAME", "spec.nodeName"), fieldEnv("NODE_IP", "status.hostIP"),
		fieldEnv("AGAIN", "metadata.annotations['"+againAnnotation+"']")}
	if b.Cluster != "" {
		c.Env = append([]corev1.EnvVar{{Name: "CLUSTER", Value: b.Cluster}}, c.Env...)
	}
	c.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-e", "/state/ready"}}},
		PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 1,
	}
	c.Resources = resources("10m", "16Mi", "64Mi")
	// What nsenter(1) takes to enter the mount namespace of the node's first process, and no more. AppArmor's profile
	// for containers forbids it, SELinux' type too. The seccomp profile of the runtime allows it with SYS_ADMIN.
	unconfined := corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	c.SecurityContext = &corev1.SecurityContext{
		Capabilities:           &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"SYS_ADMIN", "SYS_CHROOT", "SYS_PTRACE"}},
		RunAsUser:              new(int64(0)),
		ReadOnlyRootFilesystem: new(true),
		AppArmorProfile:        &unconfined,
		SeccompProfile:         &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		SELinuxOptions:         &corev1.SELinuxOptions{Type: "spc_t"},
	}
	runner := corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: b.runnerName()}}
	mount(pod, "kopshook", "/kopshook", corev1.VolumeSource{ConfigMap: &runner})
	mount(pod, "state", "/state", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("1Mi"))}})
	return set
}

// refuseSameName reports two specs that would make one DaemonSet.
func (b *builder) refuseSameName(d *hookspec.Doc, name string) {
	pos := d.Pos("metadata.name")
	if first, ok := b.names[name]; ok {
		b.r.Errorf(pos, "metadata.name", "rename one of the specs", "the spec at %s makes the DaemonSet %q too", first, name)
		return
	}
	if b.Status && name == b.statusName() {
		b.r.Errorf(pos, "metadata.name", "rename the spec", "node-problem-detector's DaemonSet is called %q too", name)
	}
	b.names[name] = pos
}

// newDaemonSet is what all DaemonSets of the addon have in common: one container, on every node of Linux, whatever its
// taints.
func (b *builder) newDaemonSet(name, spec, image string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: b.meta(name, spec)}
	set.Labels[labelInstance] = name
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{labelInstance: name}}
	set.Spec.Template.Labels = maps.Clone(set.Labels)
	set.Spec.Template.Spec = corev1.PodSpec{
		AutomountServiceAccountToken:  new(false),
		Containers:                    []corev1.Container{{Image: image, ImagePullPolicy: corev1.PullIfNotPresent}},
		NodeSelector:                  map[string]string{corev1.LabelOSStable: "linux"},
		PriorityClassName:             b.PriorityClass,
		TerminationGracePeriodSeconds: new(int64(10)),
		Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}
	return set
}

// rolls sets how a DaemonSet's pods are replaced: at most so many at once.
func (b *builder) rolls(set *appsv1.DaemonSet, atOnce intstr.IntOrString) {
	set.Spec.MinReadySeconds = int32(b.MinReady / time.Second)
	if b.OnDelete {
		set.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
		return
	}
	set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
		Type:          appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &atOnce},
	}
}

// share is how many pods of a DaemonSet may be replaced at once. max-unavailable holds for a node population as a
// whole: DaemonSets that can have pods on the same nodes share it, since each of them rolls by itself. Kubernetes rounds
// percentages up, so each takes one pod at least.
func (b *builder) share(s *hookSet) intstr.IntOrString {
	sharing := 0
	for i := range b.hookSets {
		if o := &b.hookSets[i]; o == s || !s.disjoint(&o.target) {
			sharing++
		}
	}
	number, percent := strings.CutSuffix(b.MaxUnavailable, "%")
	n, _ := strconv.Atoi(number) // check reports what is no number
	n = max(1, n/sharing)
	if percent {
		return intstr.FromString(fmt.Sprintf("%d%%", n))
	}
	return intstr.FromInt32(int32(n))
}

// meta is the metadata of an object; spec is the name of the hook spec it is made of, or empty.
func (b *builder) meta(name, spec string) metav1.ObjectMeta {
	labels := map[string]string{labelAddon: b.Name, labelName: "kopshook", labelManaged: "kopshook"}
	if spec != "" {
		labels[labelSpec] = spec
	}
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels}
}

// runner is the ConfigMap with the scripts of all pods that run hooks. Its name has its hash: pods of an older
// kopshook keep their own.
func (b *builder) runner() *corev1.ConfigMap {
	m := b.configMap(b.runnerName(), "")
	m.Immutable = new(true)
	put(m, "run.sh", templates.Run)
	put(m, "hook.sh", templates.Hook)
	return m
}

func (b *builder) runnerName() string {
	return fmt.Sprintf("%s.runner-%s", b.Name, sum(slices.Concat(templates.Run, templates.Hook))[:12])
}

// priorityClass is above all workloads, and below kops' own: kops validate cluster, and with it a rolling update,
// would fail forever on one failed hook if its pod were system-node-critical
// (kops pkg/validation/validate_cluster.go:243).
func (b *builder) priorityClass() *schedulingv1.PriorityClass {
	meta := b.meta(b.PriorityClass, "")
	meta.Namespace = ""
	return &schedulingv1.PriorityClass{
		TypeMeta:    metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"},
		ObjectMeta:  meta,
		Value:       1000000000, // the largest for users
		Description: "Hooks of kopshook, on nodes that run already.",
	}
}

func resources(cpu, request, limit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(request)},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m"), corev1.ResourceMemory: resource.MustParse(limit)},
	}
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// mapVolume is a volume with the files of ConfigMaps. It is empty where they are gone: kops prunes those of an older
// addon though a rollout waits, and a pod that was there before must start again after a reboot.
func mapVolume(maps []*corev1.ConfigMap) corev1.VolumeSource {
	if len(maps) == 1 {
		return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: maps[0].Name}, Optional: new(true)}}
	}
	all := &corev1.ProjectedVolumeSource{}
	for _, m := range maps {
		all.Sources = append(all.Sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: m.Name}, Optional: new(true)}})
	}
	return corev1.VolumeSource{Projected: all}
}

// mount adds a volume and mounts it in the pod's first container; ConfigMaps are mounted read-only anyway.
func mount(pod *corev1.PodSpec, name, path string, source corev1.VolumeSource) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	c := &pod.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path,
		ReadOnly: source.EmptyDir == nil})
}
