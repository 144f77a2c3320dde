package cloudinit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/model/resources"
)

func TestMessageIsWhatKopsSends(t *testing.T) {
	const nodeup = "#!/bin/bash\nset -o errexit\n"
	script := Part{Name: "00-disk.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\nlsblk\n"}
	config := Part{Name: "a.yaml", Type: "text/cloud-config", Content: "bootcmd:\n- true"}
	odd := Part{Name: `a "b" é.sh`, Type: "", Content: "--MIMEBOUNDARY\r\n\n"}
	for _, c := range []struct {
		name  string
		role  kops.InstanceGroupRole
		parts []Part
	}{
		{"no parts", kops.InstanceGroupRoleNode, nil},
		{"one part", kops.InstanceGroupRoleNode, []Part{script}},
		{"several parts", kops.InstanceGroupRoleControlPlane, []Part{script, config, script}},
		{"odd names and contents", kops.InstanceGroupRoleAPIServer, []Part{odd, {}}},
		{"bastion", kops.InstanceGroupRoleBastion, []Part{script, config}},
		{"bastion without parts", kops.InstanceGroupRoleBastion, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ig := &kops.InstanceGroup{Spec: kops.InstanceGroupSpec{Role: c.role}}
			for _, p := range c.parts {
				ig.Spec.AdditionalUserData = append(ig.Spec.AdditionalUserData, kops.UserData{Name: p.Name, Type: p.Type, Content: p.Content})
			}
			want, err := resources.AWSMultipartMIME(nodeup, ig)
			if err != nil {
				t.Fatal(err)
			}
			got := string(Message([]byte(nodeup), string(c.role), c.parts))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("message differs from kops' (-kops +kopshook):\n%s", diff)
			}
		})
	}
}
