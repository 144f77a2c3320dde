package instancegroups

import "k8s.io/kops/pkg/apis/kops"

// Group is an InstanceGroup in a file.
type Group struct {
	Name       string
	Cluster    string // metadata.labels["kops.k8s.io/cluster"]; empty when there is none
	Role       string // ControlPlane, APIServer, Node or Bastion, in every API version
	Labels     map[string]string
	NodeLabels map[string]string
	APIVersion string // as written: kops.k8s.io/v1alpha2, kops.k8s.io/v1alpha3 or kops/v1alpha2
	Line       int    // of the document's first key, from 1

	// Object is the group as kops decodes it. It does not follow SetUserData, and changing it changes nothing.
	Object *kops.InstanceGroup

	// ClusterObject is the Cluster that the group belongs to. Parse sets it when it is in the same file; callers may
	// set it when they know it from elsewhere.
	ClusterObject *Cluster
}

// UserData returns the parts of the group with all edits: the user's own, then ours.
func (g *Group) UserData() []kops.UserData { return nil }

// SetUserData replaces all parts named kopshook-*. The others are kept, in their order, before ours. Every name in
// ours must begin with Prefix. No parts of ours: the key goes too when nothing is left in it.
func (g *Group) SetUserData(ours []kops.UserData) {}

// CannotServe says why user data does not reach the nodes of the group or breaks them, when that is so. Bastions, which
// have no kubelet, are for the caller to decide.
func (g *Group) CannotServe() (reason string, cannot bool) { return "", false }
