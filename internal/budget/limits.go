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

// script is what kops' bootstrap script takes, in bytes, from the least to what may be expected. Measured with kops
// 1.36.2 (internal/kopscheck does so again): 3,813 to 3,975 on a control plane, 5,021 to 6,345 on a worker. Low is of
// short names, and of one certificate authority of RSA 2048; high of a cluster name with 91 characters and, as during
// a rotation, two authorities.
type script struct{ low, high int }

var scripts = map[string]script{
	"ControlPlane": {3700, 4300},
	"APIServer":    {3700, 4300},
	"Node":         {4900, 6500},
	"Bastion":      {0, 0}, // has none
}

// proxy is what spec.networking.egressProxy adds to the script: its address stands there eight times, the exclusions
// four times.
var proxy = script{700, 2000}

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
