package instancegroups_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
)

const takeHead = `apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  name: nodes
`

func TestTakeUserData(t *testing.T) {
	ours := []kops.UserData{{Name: "kopshook-000-gate.sh", Type: "text/cloud-boothook", Content: "#!/bin/sh\n"}}
	const gate = "  - content: |\n      #!/bin/sh\n    name: kopshook-000-gate.sh\n    type: text/cloud-boothook\n"
	const a = "  - name: a.sh\n    type: text/x-shellscript\n    content: |\n      #!/bin/sh\n"
	b := strings.ReplaceAll(a, "a.sh", "b.sh")
	for _, c := range []struct {
		name, spec, want string
		take             []int
		ours             []kops.UserData
	}{
		{"one of two goes; the comment before it stays", "  additionalUserData:\n" + a + "  # about b\n" + b + "  role: Node # x\n",
			"  additionalUserData:\n" + a + "  # about b\n  role: Node # x\n", []int{1}, nil},
		{"the key goes with the last", "  additionalUserData:\n" + a + "  role: Node # x\n", "  role: Node # x\n", []int{0}, nil},
		{"hooks take their place", "  additionalUserData:\n" + a + b + "  role: Node\n",
			"  additionalUserData:\n" + b + gate + "  role: Node\n", []int{0}, ours},
		{"hooks take the place of all", "  additionalUserData:\n" + a + b + "  role: Node\n",
			"  additionalUserData:\n" + gate + "  role: Node\n", []int{0, 1}, ours},
		{"hooks that are there are replaced", "  additionalUserData:\n" + a + gate + "  role: Node\n",
			"  additionalUserData:\n" + gate + "  role: Node\n", []int{0}, ours},
		{"nothing is taken", "  additionalUserData:\n" + a + "  role: Node\n", "  additionalUserData:\n" + a + "  role: Node\n", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := instancegroups.Parse("ig.yaml", []byte(takeHead+"spec:\n"+c.spec))
			if err != nil {
				t.Fatal(err)
			}
			f.Groups()[0].TakeUserData(c.take, c.ours)
			got, err := f.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(takeHead+"spec:\n"+c.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("in JSON", func(t *testing.T) {
		f, err := instancegroups.Parse("ig.json", []byte(`[{"apiVersion":"kops.k8s.io/v1alpha2","kind":"InstanceGroup","metadata":{"name":"nodes"},`+
			`"spec":{"additionalUserData":[{"name":"a","type":"t","content":"c"},{"name":"b","type":"t","content":"c"}],"role":"Node"}}]`))
		if err != nil {
			t.Fatal(err)
		}
		f.Groups()[0].TakeUserData([]int{0}, nil)
		got, err := f.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		const want = `"spec":{"additionalUserData":[{"name":"b","type":"t","content":"c"}],"role":"Node"}}]`
		if !strings.HasSuffix(string(got), want) {
			t.Errorf("%s does not end in %s", got, want)
		}
	})
}
