package localcluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/apis/kops/v1alpha2"
	"k8s.io/kops/pkg/kopscodecs"
)

// Group is the manifest of an instance group of nodes in the cluster that has what the machines of another one see of
// theirs: user data, kubelet, containerd, labels, taints, kernel settings, files and kops' hooks. What the cloud sees of
// it (images, sizes, subnets, disks) is the cluster's own, and packages are left out: nodes have no network.
func Group(like *kops.InstanceGroup, userData []kops.UserData) ([]byte, error) {
	if like.Spec.Role != kops.InstanceGroupRoleNode {
		return nil, fmt.Errorf("instance group %q has the role %s: real nodes are booted of the role Node only", like.Name, like.Spec.Role)
	}
	size := int32(1)
	return kopscodecs.ToVersionedYamlWithVersion(&kops.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: like.Name, Labels: map[string]string{kops.LabelClusterName: Name}},
		Spec: kops.InstanceGroupSpec{
			Role: like.Spec.Role, Image: "ubuntu-24.04", MachineType: "cx23", MinSize: &size, MaxSize: &size, Subnets: []string{"fsn1"},
			AdditionalUserData: userData, Kubelet: like.Spec.Kubelet, Containerd: like.Spec.Containerd, NodeLabels: like.Spec.NodeLabels,
			Taints: like.Spec.Taints, SysctlParameters: like.Spec.SysctlParameters, FileAssets: like.Spec.FileAssets, Hooks: like.Spec.Hooks,
		},
	}, v1alpha2.SchemeGroupVersion)
}
