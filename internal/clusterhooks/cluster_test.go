package clusterhooks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEndpoint reads clusters as kops prints them, of both of its versions.
func TestEndpoint(t *testing.T) {
	for _, tc := range []struct{ name, json, want string }{
		{"the name in v1alpha2", `{"metadata": {"name": "a.example.com"}, "spec": {"masterPublicName": "k8s.example.com"}}`, "https://k8s.example.com"},
		{"the name in v1alpha3", `{"metadata": {"name": "a.example.com"}, "spec": {"api": {"publicName": "k8s.example.com"}}}`, "https://k8s.example.com"},
		{"kops' own name with public DNS", `{"metadata": {"name": "a.example.com"}, "spec": {"topology": {"dns": {"type": "Public"}}}}`, "https://api.a.example.com"},
		{"kops' own name where DNS is not said", `{"metadata": {"name": "a.example.com"}}`, "https://api.a.example.com"},
		{"none with private DNS", `{"metadata": {"name": "a.example.com"}, "spec": {"topology": {"dns": {"type": "Private"}}}}`, ""},
		{"none without DNS", `{"metadata": {"name": "a.example.com"}, "spec": {"masterPublicName": "api.a.example.com", "topology": {"dns": {"type": "None"}}}}`, ""},
		{"none with gossip", `{"metadata": {"name": "a.k8s.local"}, "spec": {"masterPublicName": "api.a.k8s.local"}}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, text := range []string{tc.json, "[" + tc.json + "]"} {
				objects, err := decodeObjects([]byte(text))
				if err != nil || len(objects) != 1 {
					t.Fatalf("%d objects, %v", len(objects), err)
				}
				if got := objects[0].cluster().APIEndpoint; got != tc.want {
					t.Errorf("endpoint %q, want %q", got, tc.want)
				}
			}
		})
	}
}

// TestCAPICluster has in it what a kops cluster knows.
func TestCAPICluster(t *testing.T) {
	objects, err := decodeObjects([]byte(`{"metadata": {"name": "a.example.com", "labels": {"x": "y"}}, "spec": {"kubernetesVersion": "v1.35.4",
		"nonMasqueradeCIDR": "100.64.0.0/10", "masterPublicName": "k8s.example.com:8443"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &capiCluster{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster",
		Metadata: capiMetadata{Name: "a.example.com", Namespace: "default", Labels: map[string]string{"x": "y"}}}
	want.Spec.ClusterNetwork.Pods = &cidrBlocks{[]string{"100.64.0.0/10"}}
	want.Spec.ControlPlaneEndpoint.Host, want.Spec.ControlPlaneEndpoint.Port = "k8s.example.com", 8443
	want.Spec.Topology.Class, want.Spec.Topology.Version = "kops", "v1.35.4"
	if diff := cmp.Diff(want, objects[0].cluster().capi()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
