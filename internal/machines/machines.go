// Package machines lists the machines that a cloud runs for a kops cluster, and reads their consoles: of a machine that
// never became a node, the console says why. It only reads.
//
// AWS is asked in EC2's query protocol, signed by the SDK that kops' state store already links: the SDK's own EC2 package
// makes the program 31 MB larger. Google's compute package and OpenStack's client, which the state store links too, are used
// as they are.
package machines

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/report"
)

// Machine is an instance of a cloud.
type Machine struct {
	ID            string    // "i-0123456789abcdef0", the name on Google Cloud, the server's UUID on OpenStack
	InstanceGroup string    // "" when the cloud does not say
	Zone          string    // "eu-central-1a"
	State         string    // the cloud's word: "running", "pending", "stopped"
	Launched      time.Time // zero when the cloud does not say
	ProviderID    string    // as a Node's spec.providerID has it: "aws:///eu-central-1a/i-0123456789abcdef0"
}

// Cloud lists machines and reads consoles.
type Cloud interface {
	// Machines returns the machines of the cluster that exist, in no order.
	Machines(ctx context.Context, cluster string) ([]Machine, error)
	// Console returns what the machine wrote to its console, as far as the cloud keeps it; "" when there is nothing yet.
	Console(ctx context.Context, m Machine) ([]byte, error)
}

// Options of a cloud.
type Options struct {
	// Endpoint replaces the cloud's own address in tests; "" otherwise. Users have the variables that the clouds' own
	// programs look at: AWS_ENDPOINT_URL_EC2, AWS_ENDPOINT_URL, CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE.
	Endpoint string
	// Client sends the requests to AWS; nil is one with a time limit.
	Client *http.Client
	Getenv func(string) string
}

// Of returns the cloud that the cluster runs on.
func Of(ctx context.Context, cluster *kops.Cluster, o Options) (Cloud, error) {
	switch id := cluster.GetCloudProvider(); id {
	case kops.CloudProviderAWS:
		region, err := awsRegion(cluster)
		if err != nil {
			return nil, err
		}
		return newAWS(ctx, region, o)
	case kops.CloudProviderGCE:
		project := ""
		if gce := cluster.Spec.CloudProvider.GCE; gce != nil {
			project = gce.Project
		}
		if project == "" {
			return nil, errors.New("the cluster names no Google Cloud project (spec.cloudProvider.gce.project)")
		}
		return newGCE(ctx, project, o)
	case kops.CloudProviderOpenstack:
		return newOpenstack(ctx, cluster.Spec.CloudProvider.Openstack)
	default:
		if remedy := otherClouds[id]; remedy != "" {
			return nil, report.Hint(remedy, "%w", noConsoles("kopshook does not ask "+id+" for consoles"))
		}
		return nil, report.Hint("log in to the machine and run kopshook status there, or copy /var/lib/kopshook/status from it and name that folder",
			"%w", noConsoles("the API of "+id+" has no consoles"))
	}
}

// noConsoles is errors.ErrUnsupported in words of its own.
type noConsoles string

func (e noConsoles) Error() string      { return string(e) }
func (noConsoles) Is(target error) bool { return target == errors.ErrUnsupported }

// otherClouds have consoles in their APIs, and kopshook does not ask them itself. DigitalOcean, Hetzner, Linode and Scaleway
// show a console in a browser only.
var otherClouds = map[kops.CloudProviderID]string{
	kops.CloudProviderAzure: "switch boot diagnostics on, which kops leaves off, download the serial log, and run kopshook status --console FILE",
}

// zone splits the name of an AWS zone into its region and the rest, also of local and wavelength zones
// ("us-west-2-lax-1a").
var zone = regexp.MustCompile(`^[a-z]{2,}(?:-[a-z]+)+-\d+`)

// awsRegion is the region of the cluster's subnets: kops clusters have one (pkg/apis/kops/validation/legacy.go).
func awsRegion(cluster *kops.Cluster) (string, error) {
	var regions []string
	for _, s := range cluster.Spec.Networking.Subnets {
		region := s.Region
		if region == "" {
			region = zone.FindString(s.Zone)
		}
		if region != "" && !slices.Contains(regions, region) {
			regions = append(regions, region)
		}
	}
	if len(regions) != 1 {
		return "", fmt.Errorf("the subnets of the cluster name %d AWS regions, not one", len(regions))
	}
	return regions[0], nil
}
