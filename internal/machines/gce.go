package machines

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"kopshook.dev/kopshook/internal/report"
)

// gcloudEndpoint is how gcloud is told of another address of the API, too.
const gcloudEndpoint = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"

type gceCloud struct {
	project string
	service *compute.Service
}

func newGCE(ctx context.Context, project string, o Options) (*gceCloud, error) {
	options := []option.ClientOption{option.WithScopes(compute.ComputeReadonlyScope)}
	switch {
	case o.Endpoint != "":
		options = append(options, option.WithEndpoint(o.Endpoint), option.WithoutAuthentication())
	case o.Getenv != nil && o.Getenv(gcloudEndpoint) != "":
		options = append(options, option.WithEndpoint(o.Getenv(gcloudEndpoint)))
	}
	service, err := compute.NewService(ctx, options...)
	if err != nil {
		return nil, report.Hint("run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS", "%s", err)
	}
	return &gceCloud{project, service}, nil
}

// Machines finds instances by the metadata that kops gives them (upup/pkg/fi/cloudup/gce/gcemetadata/metadata.go and
// pkg/nodeidentity/gce/identify.go:39): a filter of the API cannot name metadata, so all instances of the project are listed.
func (c *gceCloud) Machines(ctx context.Context, cluster string) ([]Machine, error) {
	var found []Machine
	err := c.service.Instances.AggregatedList(c.project).ReturnPartialSuccess(false).MaxResults(500).
		Pages(ctx, func(page *compute.InstanceAggregatedList) error {
			for _, scoped := range page.Items {
				for _, i := range scoped.Instances {
					metadata := map[string]string{}
					if i.Metadata != nil {
						for _, item := range i.Metadata.Items {
							if item.Value != nil {
								metadata[item.Key] = strings.TrimSpace(*item.Value)
							}
						}
					}
					if metadata["cluster-name"] != cluster {
						continue
					}
					zone := path.Base(i.Zone)
					launched, _ := time.Parse(time.RFC3339, i.CreationTimestamp)
					found = append(found, Machine{ID: i.Name, InstanceGroup: metadata["kops-k8s-io-instance-group-name"], Zone: zone,
						State: strings.ToLower(i.Status), Launched: launched.UTC(), ProviderID: "gce://" + c.project + "/" + zone + "/" + i.Name})
				}
			}
			return nil
		})
	return found, gceExplained(err)
}

// Console reads the first serial port, page by page: an answer holds at most 1 MiB.
func (c *gceCloud) Console(ctx context.Context, m Machine) ([]byte, error) {
	var text []byte
	for start := int64(0); ; {
		out, err := c.service.Instances.GetSerialPortOutput(c.project, m.Zone, m.ID).Port(1).Start(start).Context(ctx).Do()
		if err != nil {
			return nil, gceExplained(err)
		}
		text = append(text, out.Contents...)
		if out.Contents == "" || out.Next <= start || len(text) > maxAnswer {
			return text, nil
		}
		start = out.Next
	}
}

func gceExplained(err error) error {
	var refused *googleapi.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case http.StatusForbidden:
		return report.Hint("allow compute.instances.list and compute.instances.getSerialPortOutput (both are in roles/compute.viewer)",
			"compute: %s", refused.Message)
	case http.StatusUnauthorized:
		return report.Hint("run gcloud auth application-default login", "compute: %s", refused.Message)
	}
	return err
}
