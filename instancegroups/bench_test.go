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

func merge(b *testing.B, data []byte, parts func(i int) []kops.UserData) []byte {
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

func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{1, 50, 5000} {
		plain := manifest(n)
		same := hooks(5, 0)
		own := make([][]kops.UserData, n)
		for i := range own {
			own[i] = hooks(5, i)
		}
		for _, c := range []struct {
			name  string
			parts func(i int) []kops.UserData
		}{
			{"same parts", func(int) []kops.UserData { return same }},
			{"own parts", func(i int) []kops.UserData { return own[i] }},
		} {
			merged := merge(b, plain, c.parts)
			b.Run(fmt.Sprintf("%d groups/%s", n, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					merge(b, plain, c.parts)
				}
			})
			b.Run(fmt.Sprintf("%d groups/%s/again", n, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					merge(b, merged, c.parts)
				}
			})
			b.Run(fmt.Sprintf("%d groups/%s/others", n, c.name), func(b *testing.B) {
				b.ReportAllocs()
				others := hooks(5, -1)
				for b.Loop() {
					merge(b, merged, func(int) []kops.UserData { return others })
				}
			})
			b.Run(fmt.Sprintf("%d groups/%s/out", n, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					merge(b, merged, func(int) []kops.UserData { return nil })
				}
			})
		}
	}
}
