//go:build e2e

package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kops/channels/pkg/channels"
	"k8s.io/kops/util/pkg/vfs"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/addon"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// spec is a hook spec with a selector in flow style and hooks, a YAML list.
func spec(name, selector, hooks string) string {
	return fmt.Sprintf("apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: %s}\nspec:\n  selector: %s\n  hooks:\n%s\n", name, selector, hooks)
}

func hook(name, script string) string {
	return fmt.Sprintf("  - {name: %s, phase: daemon, script: %q}\n", name, "#!/bin/sh\n"+script)
}

// build makes an addon; its name keeps it apart from those of other tests.
func build(t *testing.T, in addon.Input, specs ...string) *addon.Addon {
	t.Helper()
	var r report.Report
	for _, s := range specs {
		in.Specs = append(in.Specs, hookspec.Decode("hooks.yaml", []byte(s), &r)...)
	}
	if in.Read == nil {
		in.Read = func(hooks []hookspec.Resolved) []generator.Hook {
			return plan.Read(t.Context(), hooks, &source.Loader{}, &r)
		}
	}
	a := addon.Build(in, &r)
	if r.HasErrors() {
		t.Fatal(r.Findings)
	}
	return a
}

// apply has kops apply the addon, as kops-channels does every minute on a control plane: with its reader of indexes,
// its applier and its pruner. It returns whether kops found that there was anything to do.
func apply(t *testing.T, dir string, a *addon.Addon) bool {
	t.Helper()
	files, err := a.Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return applyFrom(t, &url.URL{Scheme: "file", Path: filepath.Join(dir, addon.IndexName)})
}

func applyFrom(t *testing.T, location *url.URL) bool {
	t.Helper()
	ctx := t.Context()
	index, err := channels.LoadAddons(vfs.NewVFSContext(), location.String(), location)
	if err != nil {
		t.Fatal(err)
	}
	server, err := cluster.client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	version, err := semver.ParseTolerant(server.GitVersion)
	if err != nil {
		t.Fatal(err)
	}
	menu, err := index.GetCurrent(version)
	if err != nil {
		t.Fatal(err)
	}
	if len(menu.Addons) != 1 {
		t.Fatalf("for Kubernetes %s kops finds %d addons, want 1", version, len(menu.Addons))
	}
	ns, err := cluster.client.CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	did := false
	for name, a := range menu.Addons {
		update, err := a.EnsureUpdated(ctx, vfs.NewVFSContext(), cluster.client, nil,
			&channels.Pruner{Client: cluster.dynamic, RESTMapper: mapper()}, &channels.ClientApplier{Client: cluster.dynamic, RESTMapper: mapper()},
			channels.FindChannelVersions(ns)[name])
		if err != nil {
			t.Fatalf("kops cannot apply the addon: %v", err)
		}
		did = did || update != nil
	}
	return did
}

// contentHash ends the names of what never changes.
var contentHash = regexp.MustCompile(`-[0-9a-f]{12}$`)

// inCluster lists the objects of an addon as "KIND NAME".
func inCluster(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	for kind, resource := range map[string]schema.GroupVersionResource{
		"ConfigMap":          {Version: "v1", Resource: "configmaps"},
		"ServiceAccount":     {Version: "v1", Resource: "serviceaccounts"},
		"DaemonSet":          {Group: "apps", Version: "v1", Resource: "daemonsets"},
		"ClusterRoleBinding": {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
		"PriorityClass":      {Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
	} {
		list, err := cluster.dynamic.Resource(resource).List(t.Context(), metav1.ListOptions{LabelSelector: "kopshook.dev/addon=" + name})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			name := o.GetName()
			if strings.Contains(name, ".runner-") {
				name = "RUNNER"
			}
			if kind == "ConfigMap" {
				name = contentHash.ReplaceAllString(name, "")
			}
			out = append(out, kind+" "+name)
		}
	}
	slices.Sort(out)
	return out
}

// kops applies the addon once per content and prunes what is gone from it, down to nothing.
func TestKopsAppliesAndPrunes(t *testing.T) {
	dir := t.TempDir()
	options := func(status bool) addon.Input {
		return addon.Input{Options: addon.Options{Name: "prunes", Status: status}}
	}
	a := spec("a", "{roles: [Node]}", hook("stays", "echo 1")+hook("goes", ""))
	b := spec("b", "{roles: [Node]}", hook("other", ""))
	expect := func(changed bool, want ...string) {
		t.Helper()
		if !changed {
			t.Error("kops did nothing")
		}
		slices.Sort(want)
		eventually(t, func() error {
			if diff := cmp.Diff(want, inCluster(t, "prunes")); diff != "" {
				return fmt.Errorf("objects in the cluster (-want +got)\n%s", diff)
			}
			return nil
		})
	}
	base := []string{"PriorityClass prunes", "ConfigMap RUNNER", "ConfigMap prunes.a.stays", "DaemonSet prunes-a"}
	status := []string{"ConfigMap prunes.status", "ServiceAccount prunes-status", "ClusterRoleBinding prunes-status", "DaemonSet prunes-status"}
	expect(apply(t, dir, build(t, options(true), a, b)), slices.Concat(base, status, []string{"ConfigMap prunes.a.goes", "ConfigMap prunes.b.other", "DaemonSet prunes-b"})...)
	if apply(t, dir, build(t, options(true), a, b)) {
		t.Error("kops applied the same addon twice")
	}
	expect(apply(t, dir, build(t, options(true), spec("a", "{roles: [Node]}", hook("stays", "echo 1")), b)), slices.Concat(base, status, []string{"ConfigMap prunes.b.other", "DaemonSet prunes-b"})...)
	expect(apply(t, dir, build(t, options(true), spec("a", "{roles: [Node]}", hook("stays", "echo 2")))), slices.Concat(base, status)...)
	expect(apply(t, dir, build(t, options(false), spec("a", "{roles: [Node]}", hook("stays", "echo 2")))), base...)
	expect(apply(t, dir, build(t, options(false))))
}

// A plain manifest, without an index, is what kops 1.36 takes too.
func TestKopsAppliesThePlainManifest(t *testing.T) {
	manifest, err := build(t, addon.Input{Options: addon.Options{Name: "plain"}}, spec("s", "{roles: [Node]}", hook("h", ""))).Manifest()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hooks.yaml")
	if err := os.WriteFile(path, manifest, 0o666); err != nil {
		t.Fatal(err)
	}
	location := &url.URL{Scheme: "file", Path: path}
	if !applyFrom(t, location) {
		t.Error("kops did nothing")
	}
	want := []string{"ConfigMap RUNNER", "ConfigMap plain.s.h", "DaemonSet plain-s", "PriorityClass plain"}
	if diff := cmp.Diff(want, inCluster(t, "plain")); diff != "" {
		t.Errorf("objects in the cluster (-want +got)\n%s", diff)
	}
	if applyFrom(t, location) {
		t.Error("kops applied the same manifest twice")
	}
}

// Every object is one that the server creates in its strictest mode, as large as they may be.
func TestServerTakesEveryObject(t *testing.T) {
	long := strings.Repeat("n", 63)
	content := append([]byte("#!/bin/sh\n\x00\xff"), bytes.Repeat([]byte("x"), 1<<20-12)...)
	a := build(t, addon.Input{Cluster: "a.example.com", Options: addon.Options{Name: strings.Repeat("a", 40), Status: true},
		Read: func(hooks []hookspec.Resolved) []generator.Hook {
			return []generator.Hook{{Name: hooks[0].Name, Scripts: []generator.Script{{Name: "10-a", Content: content}, {Name: strings.Repeat("s", 246), Content: []byte("#!\x00")}}}}
		}}, spec(long, "{roles: [Node, APIServer], nodeLabels: {a: b}, excludeNames: [c]}", hook(long, "")))
	for _, o := range a.Objects {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		delete(object, "status")
		u := &unstructured.Unstructured{Object: object}
		m, err := mapper().RESTMapping(u.GroupVersionKind().GroupKind())
		if err != nil {
			t.Fatal(err)
		}
		client := cluster.dynamic.Resource(m.Resource)
		create := client.Create
		if ns := u.GetNamespace(); ns != "" {
			create = client.Namespace(ns).Create
		}
		got, err := create(t.Context(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			t.Errorf("%s %s: %v", u.GetKind(), u.GetName(), err)
			continue
		}
		if u.GetKind() != "ConfigMap" {
			continue
		}
		for _, field := range []string{"data", "binaryData"} {
			if diff := cmp.Diff(u.Object[field], got.Object[field]); diff != "" {
				t.Errorf("%s: %s came back otherwise", u.GetName(), field)
			}
		}
	}
	cleanUp(t, strings.Repeat("a", 40))
}

// cleanUp removes the objects of an addon, so that its pods are not in the way of other tests.
func cleanUp(t *testing.T, name string) {
	t.Helper()
	options := metav1.ListOptions{LabelSelector: "kopshook.dev/addon=" + name}
	if err := cluster.client.AppsV1().DaemonSets("kube-system").DeleteCollection(context.Background(), metav1.DeleteOptions{}, options); err != nil {
		t.Error(err)
	}
}
