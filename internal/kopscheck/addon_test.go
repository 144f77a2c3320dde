package kopscheck

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/client/simple/vfsclientset"
	"k8s.io/kops/pkg/kopscodecs"
	"k8s.io/kops/pkg/kubemanifest"
	"k8s.io/kops/util/pkg/text"
	"k8s.io/kops/util/pkg/vfs"
	"sigs.k8s.io/yaml"
)

// kops create -f takes the objects of an addon for additional objects of a cluster, stores them and finds the same again
// for kops update cluster (its cmd/kops/create.go and upup/pkg/fi/cloudup/apply_cluster.go:188).
func TestKopsStoresTheObjectsOfAnAddon(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	objects := kopshook(t, "addon", "--status", "-o", "objects", "examples/addon/hooks.yaml", "examples/mixed/cluster.yaml")

	var given kubemanifest.ObjectList
	var want []map[string]any
	for _, section := range text.SplitContentToSections([]byte(objects)) {
		object, gvk, err := kopscodecs.Decode(section, nil)
		if err != nil {
			t.Fatal(err)
		}
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("kops takes %s for an object of its own", gvk)
		}
		given = append(given, kubemanifest.NewObject(u.Object))
		fields := map[string]any{}
		if err := yaml.Unmarshal(section, &fields); err != nil {
			t.Fatal(err)
		}
		want = append(want, fields)
	}
	if len(want) < 5 {
		t.Fatalf("kops finds %d objects", len(want))
	}

	cluster := &kops.Cluster{}
	cluster.Name = "main.example.com"
	store := vfsclientset.NewVFSClientset(vfs.NewVFSContext(), vfs.NewMemFSPath(vfs.NewMemFSContext(), "state"))
	if err := store.AddonsFor(cluster).Replace(given); err != nil {
		t.Fatal(err)
	}
	stored, err := store.AddonsFor(cluster).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	for _, o := range stored {
		fields := map[string]any{}
		data, err := o.ToYAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(data, &fields); err != nil {
			t.Fatal(err)
		}
		got = append(got, fields)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-given +stored)\n%s", diff)
	}
}
