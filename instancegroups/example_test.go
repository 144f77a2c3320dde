package instancegroups_test

import (
	"fmt"
	"log"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
)

func Example() {
	f, err := instancegroups.Parse("ig.yaml", []byte(`apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  name: gpu
spec: # comments stay
  machineType: g5.xlarge
  role: Node
`))
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range f.Groups() {
		g.SetUserData([]kops.UserData{
			{Name: "kopshook-500-hello.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\necho hello\n"},
		})
	}
	out, err := f.Bytes()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(out))
	// Output:
	// apiVersion: kops.k8s.io/v1alpha2
	// kind: InstanceGroup
	// metadata:
	//   name: gpu
	// spec: # comments stay
	//   additionalUserData:
	//   - content: |
	//       #!/bin/sh
	//       echo hello
	//     name: kopshook-500-hello.sh
	//     type: text/x-shellscript
	//   machineType: g5.xlarge
	//   role: Node
}

func ExampleGroup_Position() {
	f, err := instancegroups.Parse("ig.json", []byte(`{
  "apiVersion": "kops.k8s.io/v1alpha2", "kind": "InstanceGroup", "metadata": {"name": "gpu"},
  "spec": {"role": "Node", "image": "ubuntu-24.04"}
}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Groups()[0].Position("spec", "image"))
	// Output: 3 28
}
