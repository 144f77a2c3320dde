package budget

import (
	"slices"
	"strings"

	"k8s.io/kops/pkg/apis/kops"
)

// Limit is what a cloud takes of an instance's user data.
type Limit struct {
	Cloud   string `json:"cloud"` // for people: "AWS"
	Bytes   int    `json:"bytes"`
	Encoded bool   `json:"encoded"` // the limit is on the base64 of the user data

	doubt bool // whether it is, is not written: what exceeds it for certain exceeds it before base64
}

// limits of the clouds, by kops' names for them, and where they are written down.
var limits = map[kops.CloudProviderID]Limit{
	// "User data is limited to 16 KB, in raw form, before it is base64-encoded":
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html;
	// kops upup/pkg/fi/cloudup/awstasks/instance.go:35 has the number, and checks it for no instance group
	kops.CloudProviderAWS: {Cloud: "AWS", Bytes: 16384},
	// "their size must be less than or equal to 262144 bytes (256 KiB)", of a metadata value; kops uses one:
	// https://cloud.google.com/compute/docs/reference/rest/v1/Metadata
	kops.CloudProviderGCE: {Cloud: "Google Cloud", Bytes: 262144},
	// "The contents should be base64 encoded before passed to the API. The size can't exceed 64 KB":
	// https://learn.microsoft.com/azure/virtual-machines/user-data
	kops.CloudProviderAzure: {Cloud: "Azure", Bytes: 65536, Encoded: true, doubt: true},
	// "must be base64 encoded and is restricted to 65535 bytes": https://docs.openstack.org/nova/latest/user/metadata.html
	kops.CloudProviderOpenstack: {Cloud: "OpenStack", Bytes: 65535, Encoded: true},
	// "This field is limited to 32KiB": https://docs.hetzner.cloud, user_data of "Create a Server"
	kops.CloudProviderHetzner: {Cloud: "Hetzner Cloud", Bytes: 32768},
	// "may not exceed 64 KiB in size": https://docs.digitalocean.com/reference/api, user_data of "Create a New Droplet"
	kops.CloudProviderDO: {Cloud: "DigitalOcean", Bytes: 65536},
	// cloud_init of scaleway_instance_server, as Scaleway's own Terraform provider validates it
	kops.CloudProviderScaleway: {Cloud: "Scaleway", Bytes: 127998},
}

// script is what kops' bootstrap script takes, in bytes: the least that is possible, and what is to be expected.
type script struct{ low, high int }

// usual sizes of the script beside the cluster's name, which stands there twice. Measured with kops 1.36.2;
// internal/kopscheck does so again. A worker's holds the cluster's certificate authority, as kops makes it of RSA 2048:
// one of the user's own with ECDSA takes 500 bytes less. While authorities are rotated there are two, which takes 1,170
// bytes more; that is not expected here.
var usual = map[string]script{
	"ControlPlane": {3790 - 150, 3790 + 400},
	"APIServer":    {3790 - 150, 3790 + 400},
	"Node":         {5000 - 600, 5000 + 300},
	"Bastion":      {}, // has none
}

// proxy is what spec.networking.egressProxy adds to the script: its address stands there eight times, the exclusions
// four times.
var proxy = script{700, 2000}

// unknownName are the lengths of a cluster's name that is not known.
var unknownName = script{5, 60}

// scriptOf estimates.
func scriptOf(role, cluster string, hasProxy bool) script {
	s := usual[role]
	if role == "Bastion" {
		return s
	}
	name := script{len(cluster), len(cluster)}
	if cluster == "" {
		name = unknownName
	}
	s.low += 2 * name.low
	s.high += 2 * name.high
	if hasProxy {
		s.low += proxy.low
		s.high += proxy.high
	}
	return s
}

// CloudOf returns kops' name for the cloud of an instance group: the cluster's, else, since manifests of groups are
// often piped alone, what the group's image and fields tell; "" when they do not.
func CloudOf(ig *kops.InstanceGroup, cluster *kops.Cluster) kops.CloudProviderID {
	if cluster != nil {
		return cluster.GetCloudProvider()
	}
	if ig == nil {
		return ""
	}
	s := &ig.Spec
	owner, _, slash := strings.Cut(s.Image, "/")
	switch {
	// upup/pkg/fi/cloudup/awsup/aws_utils.go and aws_cloud.go: ami-ID, ssm:PARAMETER, OWNER/NAME
	case strings.HasPrefix(s.Image, "ami-"), strings.HasPrefix(s.Image, "ssm:"), slash && isAccount(owner), owner == "amazon",
		s.InstanceMetadata != nil, s.MixedInstancesPolicy != nil, s.WarmPool != nil, s.MaxPrice != nil:
		return kops.CloudProviderAWS
	// upup/pkg/fi/cloudup/azuretasks/vmscaleset.go: PUBLISHER:OFFER:SKU:VERSION
	case strings.Count(s.Image, ":") == 3:
		return kops.CloudProviderAzure
	case slash && slices.Contains([]string{"ubuntu-os-cloud", "cos-cloud", "debian-cloud", "rocky-linux-cloud", "rhel-cloud"}, owner):
		return kops.CloudProviderGCE
	}
	return ""
}

func isAccount(s string) bool {
	return len(s) == 12 && strings.Trim(s, "0123456789") == ""
}

// HasProxy says whether kops writes proxy settings into the bootstrap script.
func HasProxy(cluster *kops.Cluster) bool {
	return cluster != nil && cluster.Spec.Networking.EgressProxy != nil && cluster.Spec.Networking.EgressProxy.HTTPProxy.Host != ""
}
