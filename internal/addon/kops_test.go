package addon

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/restmapper"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/kops/channels/pkg/channels"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/kubemanifest"
	"k8s.io/kops/pkg/nodelabels"
	"k8s.io/kops/util/pkg/vfs"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// write puts the addon's files into a folder and returns the URL of the index.
func write(t *testing.T, a *Addon) *url.URL {
	t.Helper()
	dir := t.TempDir()
	files, err := a.Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if last := files[len(files)-1].Name; last != IndexName {
		t.Errorf("the last file is %s, want the index: it speaks of the others", last)
	}
	return &url.URL{Scheme: "file", Path: filepath.Join(dir, IndexName)}
}

// TestKopsReadsTheIndex reads the addon with the code that kops-channels runs.
func TestKopsReadsTheIndex(t *testing.T) {
	a := build(t, Input{Options: Options{Status: true, Name: "night-shift"}}, spec("s", "{}", one("a")+"\n"+one("b")))
	location := write(t, a)
	index, err := channels.LoadAddons(vfs.NewVFSContext(), location.String(), location)
	if err != nil {
		t.Fatal(err)
	}
	menu, err := index.GetCurrent(semver.MustParse("1.36.2"))
	if err != nil {
		t.Fatal(err)
	}
	entry := menu.Addons["night-shift"]
	if entry == nil || len(menu.Addons) != 1 {
		t.Fatalf("kops finds the addons %v", menu.Addons)
	}
	manifestURL, err := entry.GetManifestFullUrl()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(manifestURL.Path)
	if err != nil {
		t.Fatal(err)
	}
	if v := entry.ChannelVersion(); v.ManifestHash != sum(manifest) || v.Id == "" || !strings.HasPrefix(v.ManifestHash, v.Id) {
		t.Errorf("kops records %v, the manifest's hash is %s", v, sum(manifest))
	}
	if old, err := index.GetCurrent(semver.MustParse("1.29.0")); err != nil || len(old.Addons) != 0 {
		t.Errorf("Kubernetes 1.29 gets %v, %v; want nothing, since it does not know appArmorProfile", old, err)
	}
	found, err := kubemanifest.LoadObjectsFrom(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(a.Objects) {
		t.Errorf("kops finds %d objects, want %d", len(found), len(a.Objects))
	}
	for _, o := range found {
		if o.ToUnstructured().GetLabels()[labelAddon] != "night-shift" {
			t.Errorf("%s %s has not the label of the index's selector", o.Kind(), o.GetName())
		}
	}
}

// TestKopsReadsThePlainManifest is for spec.addons that name the manifest itself, as kops 1.36 allows.
func TestKopsReadsThePlainManifest(t *testing.T) {
	manifest, err := build(t, Input{}, spec("s", "{}", one("a"))).Manifest()
	if err != nil {
		t.Fatal(err)
	}
	index, err := channels.ParseAddons("x", &url.URL{Scheme: "s3", Host: "bucket", Path: "/hooks.yaml"}, manifest)
	if err != nil {
		t.Fatal(err)
	}
	if got := index.APIObject.Spec.Addons; len(got) != 1 || *got[0].Manifest != "s3://bucket/hooks.yaml" || got[0].Prune != nil {
		t.Errorf("kops takes it for %v", got)
	}
}

// TestKopsPrunes has kops' own pruner compare what an earlier addon made with what a later one holds.
func TestKopsPrunes(t *testing.T) {
	before := []string{spec("s", "{}", one("stays")+"\n"+one("goes")), spec("t", "{roles: [Node]}", one("other"))}
	for name, tt := range map[string]struct {
		after   []string
		options Options
		gone    []string
	}{
		"a hook":                 {[]string{spec("s", "{}", one("stays")), before[1]}, Options{Status: true}, []string{"ConfigMap kopshook.s.goes"}},
		"what a hook was before": {[]string{strings.Replace(before[0], "echo stays", "echo other", 1), before[1]}, Options{Status: true}, []string{"ConfigMap kopshook.s.stays"}},
		"a spec":                 {before[:1], Options{Status: true}, []string{"ConfigMap kopshook.t.other", "DaemonSet kopshook-t"}},
		"the status": {before, Options{}, []string{"ClusterRoleBinding kopshook-status", "ConfigMap kopshook.status", "DaemonSet kopshook-status",
			"ServiceAccount kopshook-status"}},
		"its priority class": {before, Options{Status: true, PriorityClass: "system-node-critical"}, []string{"PriorityClass kopshook"}},
		"everything": {nil, Options{}, []string{"ClusterRoleBinding kopshook-status", "ConfigMap RUNNER", "ConfigMap kopshook.s.goes", "ConfigMap kopshook.s.stays",
			"ConfigMap kopshook.status", "ConfigMap kopshook.t.other", "DaemonSet kopshook-s", "DaemonSet kopshook-s-control-plane", "DaemonSet kopshook-status", "DaemonSet kopshook-t",
			"PriorityClass kopshook", "ServiceAccount kopshook-status"}},
	} {
		t.Run(name, func(t *testing.T) {
			old := build(t, Input{Options: Options{Status: true}}, before...)
			client := newCluster(t, old, build(t, Input{Options: Options{Name: "another", Status: true}}, before...))
			next, _ := try(t, Input{Options: tt.options}, tt.after...)
			location := write(t, next)
			index, err := channels.LoadAddons(vfs.NewVFSContext(), "x", location)
			if err != nil {
				t.Fatal(err)
			}
			manifest, err := next.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			pruner := &channels.Pruner{Client: client, RESTMapper: mapper()}
			if err := pruner.Prune(context.Background(), manifest, index.APIObject.Spec.Addons[0].Prune); err != nil {
				t.Fatal(err)
			}
			var gone []string
			for _, action := range client.Actions() {
				if d, ok := action.(clienttesting.DeleteAction); ok {
					kind := map[string]string{"configmaps": "ConfigMap", "daemonsets": "DaemonSet", "serviceaccounts": "ServiceAccount",
						"clusterrolebindings": "ClusterRoleBinding", "priorityclasses": "PriorityClass"}[d.GetResource().Resource]
					object := d.GetName()
					if strings.HasPrefix(object, "kopshook.runner-") {
						object = "RUNNER"
					}
					if kind == "ConfigMap" {
						object = regexp.MustCompile(`-[0-9a-f]{12}$`).ReplaceAllString(object, "")
					}
					gone = append(gone, kind+" "+object)
				}
			}
			slices.Sort(gone)
			if diff := cmp.Diff(tt.gone, gone); diff != "" {
				t.Errorf("kops deletes (-want +got)\n%s", diff)
			}
		})
	}
}

// newCluster has the objects of addons.
func newCluster(t *testing.T, addons ...*Addon) *fake.FakeDynamicClient {
	t.Helper()
	var all []runtime.Object
	for _, a := range addons {
		for _, o := range a.Objects {
			u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, &unstructured.Unstructured{Object: u})
		}
	}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "configmaps"}:                                              "ConfigMapList",
		{Version: "v1", Resource: "serviceaccounts"}:                                         "ServiceAccountList",
		{Group: "apps", Version: "v1", Resource: "daemonsets"}:                               "DaemonSetList",
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}: "ClusterRoleBindingList",
		{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}:             "PriorityClassList",
	}, all...)
}

func mapper() *restmapper.DeferredDiscoveryRESTMapper {
	resource := func(name, kind string, namespaced bool) metav1.APIResource {
		return metav1.APIResource{Name: name, Kind: kind, Namespaced: namespaced}
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(&fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{
		Resources: []*metav1.APIResourceList{
			{GroupVersion: "v1", APIResources: []metav1.APIResource{resource("configmaps", "ConfigMap", true), resource("serviceaccounts", "ServiceAccount", true)}},
			{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{resource("daemonsets", "DaemonSet", true)}},
			{GroupVersion: "rbac.authorization.k8s.io/v1", APIResources: []metav1.APIResource{resource("clusterrolebindings", "ClusterRoleBinding", false)}},
			{GroupVersion: "scheduling.k8s.io/v1", APIResources: []metav1.APIResource{resource("priorityclasses", "PriorityClass", false)}},
		},
	}}))
}

// TestAffinityIsTheSelector gives nodes the labels that kops gives them, and asks the scheduler's code on which of them
// pods may run: on those of the instance groups that the spec selects.
func TestAffinityIsTheSelector(t *testing.T) {
	igs := []*kops.InstanceGroup{
		instanceGroup("cp-a", kops.InstanceGroupRoleControlPlane, nil),
		instanceGroup("api-a", kops.InstanceGroupRoleAPIServer, nil),
		instanceGroup("nodes-a", kops.InstanceGroupRoleNode, nil),
		instanceGroup("nodes-b", kops.InstanceGroupRoleNode, map[string]string{"pool": "b", "example.com/ssd": ""}),
		instanceGroup("gpu-a", kops.InstanceGroupRoleNode, map[string]string{"pool": "gpu"}),
		instanceGroup("nodes.with.dots", kops.InstanceGroupRoleNode, map[string]string{"pool": "b"}),
	}
	igs[4].Labels["team"] = "vision"
	var groups []Group
	for _, ig := range igs {
		groups = append(groups, Group{Labelled: true, Group: hookspec.Group{Cluster: "a.example.com", Name: ig.Name, Role: string(ig.Spec.Role),
			Labels: ig.Labels, NodeLabels: ig.Spec.NodeLabels}})
	}
	for _, selector := range []string{
		"{}", "{roles: [Node]}", "{roles: [Master]}", "{roles: [APIServer]}", "{roles: [ControlPlane, Node]}", "{roles: [APIServer, Bastion]}",
		"{names: [gpu-a]}", "{names: [gpu-a, nodes.with.dots]}", "{excludeNames: [gpu-a, nodes-a]}", "{names: [gpu-a, nodes-a], excludeNames: [gpu-a]}",
		"{nodeLabels: {pool: b}}", "{nodeLabels: {pool: b, example.com/ssd: \"\"}}", "{roles: [Node], nodeLabels: {pool: b}, excludeNames: [nodes-b]}",
		`{names: ["nodes*"]}`, `{names: ["*-a"], roles: [Node]}`, `{excludeNames: ["nodes*"]}`, "{matchLabels: {team: vision}}",
		`{clusters: ["*.example.com"], names: ["gpu-*"]}`, `{clusters: [b.example.com]}`, `{clusters: [a.example.com], roles: [Node]}`,
		`{names: [jump], roles: [Node]}`,
	} {
		t.Run(selector, func(t *testing.T) {
			s := spec("s", selector, one("h"))
			var want []string
			var r report.Report
			doc := hookspec.Decode("x", []byte(s), &r)[0]
			for _, g := range groups {
				if doc.Selects(g.Group) {
					want = append(want, g.Name)
				}
			}
			for _, in := range []Input{{Cluster: "a.example.com", Groups: groups}, {Cluster: "a.example.com"}} {
				if in.Groups == nil && (strings.Contains(selector, "*-") || strings.Contains(selector, `*"`) && !strings.Contains(selector, "clusters") ||
					strings.Contains(selector, "gpu-*") || strings.Contains(selector, "matchLabels")) {
					continue // cannot be said without the groups
				}
				a, r := try(t, in, s)
				if r.HasErrors() {
					t.Fatal(findings(r))
				}
				var got []string
				for _, ig := range igs {
					if runsOn(t, a, node(t, ig)) {
						got = append(got, ig.Name)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("nodes of instance groups, groups known: %v (-want +got)\n%s", in.Groups != nil, diff)
				}
			}
		})
	}
}

func instanceGroup(name string, role kops.InstanceGroupRole, labels map[string]string) *kops.InstanceGroup {
	ig := &kops.InstanceGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{kops.LabelClusterName: "a.example.com"}}}
	ig.Spec.Role, ig.Spec.NodeLabels = role, labels
	ig.AddInstanceGroupNodeLabel() // as kops create ig does
	return ig
}

// node is a node of the instance group, with the labels that kops gives it.
func node(t *testing.T, ig *kops.InstanceGroup) *corev1.Node {
	t.Helper()
	labels, err := nodelabels.BuildNodeLabels(&kops.Cluster{}, ig)
	if err != nil {
		t.Fatal(err)
	}
	if ig.Spec.Role == kops.InstanceGroupRoleControlPlane {
		labels[nodelabels.RoleLabelAPIServer16] = "" // as with the feature flag APIServerNodes
	}
	labels[corev1.LabelOSStable] = "linux"
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: ig.Name, Labels: labels}}
	n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
		{Key: "x", Value: "y", Effect: corev1.TaintEffectNoExecute}}
	return n
}

// runsOn says whether pods of the addon's DaemonSets may run on a node.
func runsOn(t *testing.T, a *Addon, n *corev1.Node) bool {
	t.Helper()
	runs := 0
	for _, set := range objects[*appsv1.DaemonSet](a) {
		pod := &corev1.Pod{Spec: set.Spec.Template.Spec}
		match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, taint := range n.Spec.Taints {
			tolerated := slices.ContainsFunc(pod.Spec.Tolerations, func(o corev1.Toleration) bool {
				return o.Key == "" && o.Operator == corev1.TolerationOpExists && (o.Effect == "" || o.Effect == taint.Effect)
			})
			match = match && tolerated
		}
		if match {
			runs++
		}
	}
	if runs > 1 {
		t.Errorf("%d DaemonSets have pods on %s", runs, n.Name)
	}
	return runs > 0
}

// The labels that this package knows are kops' own.
func TestNodeLabelsAreThoseOfKops(t *testing.T) {
	got := []string{nodeLabelGroup, nodeLabelNode, nodeLabelControlPlane, nodeLabelAPIServer}
	want := []string{kops.NodeLabelInstanceGroup, nodelabels.RoleLabelNode16, nodelabels.RoleLabelControlPlane20, nodelabels.RoleLabelAPIServer16}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
