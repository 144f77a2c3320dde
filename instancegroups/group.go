package instancegroups

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kops/pkg/apis/kops"
)

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

	problems
	section *section
	object  object
	parts   []part

	set  bool
	ours []kops.UserData
}

// UserData returns the parts of the group: as they are in the file or, after SetUserData, the user's and then ours.
func (g *Group) UserData() []kops.UserData {
	if !g.set {
		return slices.Clone(g.Object.Spec.AdditionalUserData)
	}
	return append(g.theirs(), g.ours...)
}

func (g *Group) theirs() []kops.UserData {
	var theirs []kops.UserData
	for _, p := range g.parts {
		if !p.ours() {
			theirs = append(theirs, p.UserData)
		}
	}
	return theirs
}

// SetUserData replaces all parts named kopshook-*. The others are kept, in their order, before ours. Every name in
// ours must begin with Prefix. With no parts in ours, additionalUserData itself goes too when nothing is left in it.
func (g *Group) SetUserData(ours []kops.UserData) {
	g.set = true
	g.ours = slices.Clone(ours)
}

// TakeUserData makes parts of the user's go with those that SetUserData replaces, and sets those that take their place.
// items are their numbers in Object.Spec.AdditionalUserData.
func (g *Group) TakeUserData(items []int, ours []kops.UserData) {
	for _, i := range items {
		g.parts[i].taken = true
	}
	g.SetUserData(ours)
}

// changed says whether what SetUserData asked for is not in the file yet. A file that says the same in another form is
// left alone.
func (g *Group) changed() bool {
	if !g.set {
		return false
	}
	first := len(g.parts) - len(g.ours)
	for i := range g.parts {
		p := &g.parts[i]
		if i < first && p.ours() || i >= first && (p.extra || i-first < 0 || p.UserData != g.ours[i-first]) {
			return true
		}
	}
	return first < 0
}

func (g *Group) errorf(path []string, remedy, format string, args ...any) *Error {
	line, col := g.Position(path...)
	return &Error{File: g.section.file.name, Line: line, Col: col, Path: fieldPath(path), Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// Position returns the line and column of a field, as in Position("spec", "additionalUserData", "0", "name"), or of the
// deepest part of that path that is in the file. Lines and columns count from 1, columns in characters; they are 0 in a group
// that was not read from a file.
func (g *Group) Position(path ...string) (line, col int) {
	if g.section == nil {
		return 0, 0
	}
	return g.section.position(g.section.locate(append(slices.Clone(g.object.path), path...)))
}

// LeavesOut says whether kops leaves additionalUserData out of what the nodes of the group get: they join without it.
func (g *Group) LeavesOut() bool {
	return g.Object.IsKarpenterManaged() || g.ClusterObject != nil && g.ClusterObject.Object.GetCloudProvider() == kops.CloudProviderMetal
}

// InNodeClass says whether the user data of the group's nodes is that of an EC2NodeClass of Karpenter's, and would be of use there.
func (g *Group) InNodeClass() bool { return g.Object.IsKarpenterManaged() && g.noMultipart() == "" }

// noMultipart says why nodes with the group's image do not read the parts of user data; it is empty where they do.
func (g *Group) noMultipart() (reason string) {
	image := strings.ToLower(g.Object.Spec.Image)
	switch {
	case strings.Contains(image, "flatcar") || strings.HasPrefix(image, "075585003325/"):
		// kops docs/instance_groups.md:118; the account is Flatcar's own, as in kops' upup/pkg/fi/cloudup/awsup/aws_cloud.go:116.
		return "its image is Flatcar, which does not read multipart user data"
	case strings.HasPrefix(image, "cos-cloud/"):
		// kops tells Container-Optimized OS by its project: pkg/model/gcemodel/autoscalinggroup.go:142.
		return "its image is Container-Optimized OS, whose cloud-init and file system are its own"
	}
	return ""
}

// Unsupported says why user data does not reach the nodes of the group, or breaks them; it is empty where neither is so.
// Bastions, which have no kubelet, are for the caller to decide.
func (g *Group) Unsupported() (reason string) {
	if reason := g.noMultipart(); reason != "" {
		return reason
	}
	switch {
	case g.Object.IsKarpenterManaged():
		// kops pkg/model/bootstrapscript.go:128: the user data of Karpenter's nodes is built without additionalUserData.
		return "Karpenter manages it, and kops leaves additionalUserData out there"
	case g.ClusterObject == nil:
		return ""
	}
	cluster := g.ClusterObject.Object
	switch gce := cluster.Spec.CloudProvider.GCE; {
	case cluster.GetCloudProvider() == kops.CloudProviderMetal:
		// kops pkg/commands/toolbox_enroll.go:835
		return "the cluster runs on metal, and kops leaves additionalUserData out there"
	case gce != nil && gce.UseStartupScript != nil && *gce.UseStartupScript:
		// kops pkg/model/gcemodel/autoscalinggroup.go:132
		return "the cluster sets useStartupScript, so that GCE runs the whole message as a script"
	}
	return ""
}
