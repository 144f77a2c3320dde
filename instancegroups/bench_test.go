package instancegroups_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
)

// manifest returns what "kops get ig -o yaml" prints for n groups.
func manifest(n int) []byte {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString("\n---\n\n")
		}
		fmt.Fprintf(&b, `apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  creationTimestamp: "2026-11-21T09:03:00Z"
  labels:
    kops.k8s.io/cluster: minimal.example.com
  name: nodes-%04d
spec:
  image: ubuntu-24.04
  machineType: cx23
  maxSize: 4
  minSize: 1
  nodeLabels:
    accelerator: nvidia
  role: Node
  subnets:
  - fsn1
`, i)
	}
	return []byte(b.String())
}

// hooks returns n parts of about 2.5 KB. Those with the same seed are equal.
func hooks(n, seed int) []kops.UserData {
	parts := make([]kops.UserData, n)
	for i := range parts {
		parts[i] = kops.UserData{
			Name:    fmt.Sprintf("kopshook-%03d-hook.yaml", i),
			Type:    "text/cloud-config",
			Content: fmt.Sprintf("#cloud-config\n# %d %d\n", seed, i) + strings.Repeat("  - echo 'a line of a script that is as long as such lines are' && true\n", 35),
		}
	}
	return parts
}

// manifestJSON returns what "kops get ig -o json" prints for n groups.
func manifestJSON(n int) []byte {
	var b strings.Builder
	for i := range n {
		b.WriteString("[,"[min(i, 1):][:1])
		fmt.Fprintf(&b, `{"kind":"InstanceGroup","apiVersion":"kops.k8s.io/v1alpha2","metadata":{"name":"nodes-%04d","creationTimestamp":"2026-11-21T09:03:00Z","labels":{"kops.k8s.io/cluster":"minimal.example.com"}},"spec":{"role":"Node","image":"ubuntu-24.04","minSize":1,"maxSize":4,"machineType":"cx23","subnets":["fsn1"],"nodeLabels":{"accelerator":"nvidia"}}}`+"\n", i)
	}
	return []byte(b.String() + "]\n")
}

func merge(b testing.TB, data []byte, parts func(i int) []kops.UserData) []byte {
	b.Helper()
	f, err := instancegroups.Parse("ig.yaml", data)
	if err != nil {
		b.Fatal(err)
	}
	for i, g := range f.Groups() {
		g.SetUserData(parts(i))
	}
	out, err := f.Bytes()
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkMerge merges 5 hooks of 2.5 KB each. "same": all groups get the same parts, "own": each group gets its own.
// The input has no hooks, has them ("again": nothing changes), or has others ("others").
func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{1, 50, 5000} {
		same, others := hooks(5, 0), hooks(5, -1)
		own := make([][]kops.UserData, n)
		for i := range own {
			own[i] = hooks(5, i)
		}
		all := func(parts []kops.UserData) func(int) []kops.UserData {
			return func(int) []kops.UserData { return parts }
		}
		each := func(i int) []kops.UserData { return own[i] }
		yaml, json := manifest(n), manifestJSON(n)
		merged, mergedJSON := merge(b, yaml, all(same)), merge(b, json, all(same))
		for _, c := range []struct {
			name  string
			data  []byte
			parts func(i int) []kops.UserData
		}{
			{"yaml/same", yaml, all(same)},
			{"yaml/own", yaml, each},
			{"yaml/again", merged, all(same)},
			{"yaml/others", merged, all(others)},
			{"yaml/none", merged, all(nil)},
			{"json/same", json, all(same)},
			{"json/again", mergedJSON, all(same)},
		} {
			b.Run(fmt.Sprintf("groups=%d/%s", n, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					merge(b, c.data, c.parts)
				}
			})
		}
	}
}
