package machines

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"kopshook.dev/kopshook/internal/report"
)

// gcloudEndpoint is how gcloud is told of another address of the API, too.
const gcloudEndpoint = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"

// gceCloud holds functions and not the compute.Service: that would be reachable from an interface, and the linker would
// keep each of its thousands of methods for reflection, which makes the program 10 MB larger.
type gceCloud struct {
	project string
	list    func(ctx context.Context, each func(gceInstance)) error
	serial  func(ctx context.Context, zone, name string, start int64) (contents string, next int64, err error)
	wait    func(context.Context, time.Duration) error
}

// gceInstance is what matters of an instance.
type gceInstance struct {
	name, zone, status, created string
	metadata                    map[string]string
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
	return &gceCloud{project: project, wait: sleep,
		list: func(ctx context.Context, each func(gceInstance)) error {
			return service.Instances.AggregatedList(project).MaxResults(500).Pages(ctx, func(page *compute.InstanceAggregatedList) error {
				for _, scoped := range page.Items {
					for _, i := range scoped.Instances {
						each(newGCEInstance(i))
					}
				}
				return nil
			})
		},
		serial: func(ctx context.Context, zone, name string, start int64) (string, int64, error) {
			out, err := service.Instances.GetSerialPortOutput(project, zone, name).Port(1).Start(start).Context(ctx).Do()
			if err != nil {
				return "", 0, err
			}
			return out.Contents, out.Next, nil
		},
	}, nil
}

func newGCEInstance(i *compute.Instance) gceInstance {
	own := gceInstance{i.Name, path.Base(i.Zone), i.Status, i.CreationTimestamp, map[string]string{}}
	if i.Metadata != nil {
		for _, item := range i.Metadata.Items {
			if item.Value != nil {
				own.metadata[item.Key] = strings.TrimSpace(*item.Value)
			}
		}
	}
	return own
}

// Machines finds instances by the metadata that kops gives them (upup/pkg/fi/cloudup/gce/gcemetadata/metadata.go and
// pkg/nodeidentity/gce/identify.go:39): a filter of the API cannot name metadata, so all instances of the project are listed.
func (c *gceCloud) Machines(ctx context.Context, cluster string) ([]Machine, error) {
	var found []Machine
	err := again(ctx, c.wait, func() error {
		found = nil
		return c.list(ctx, func(i gceInstance) {
			if i.metadata["cluster-name"] != cluster {
				return
			}
			launched, _ := time.Parse(time.RFC3339, i.created)
			found = append(found, Machine{ID: i.name, InstanceGroup: i.metadata["kops-k8s-io-instance-group-name"], Zone: i.zone,
				State: strings.ToLower(i.status), Launched: launched.UTC(), ProviderID: "gce://" + c.project + "/" + i.zone + "/" + i.name})
		})
	}, gcePatience)
	return found, gceExplained(err)
}

// gcePatience says whether the same call may go well a little later.
func gcePatience(err error) bool {
	var refused *googleapi.Error
	if !errors.As(err, &refused) {
		return false
	}
	limited := func(e googleapi.ErrorItem) bool {
		return e.Reason == "rateLimitExceeded" || e.Reason == "userRateLimitExceeded"
	}
	return refused.Code >= 500 || refused.Code == http.StatusTooManyRequests || refused.Code == http.StatusForbidden && slices.ContainsFunc(refused.Errors, limited)
}

// Console reads the first serial port, page by page: an answer holds at most 1 MiB.
func (c *gceCloud) Console(ctx context.Context, m Machine) ([]byte, error) {
	var text []byte
	for start := int64(0); ; {
		var contents string
		var next int64
		err := again(ctx, c.wait, func() (err error) {
			contents, next, err = c.serial(ctx, m.Zone, m.ID, start)
			return err
		}, gcePatience)
		if err != nil {
			return nil, gceExplained(err)
		}
		text = append(text, contents...)
		if contents == "" || next <= start || len(text) > maxAnswer {
			return text, nil
		}
		start = next
	}
}

func gceExplained(err error) error {
	var refused *googleapi.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch {
	case gcePatience(err):
		return report.Hint("Google Cloud limits how often a project may ask: try again in a minute", "compute: %s", refused.Message)
	case refused.Code == http.StatusForbidden:
		return report.Hint("allow compute.instances.list and compute.instances.getSerialPortOutput (both are in roles/compute.viewer)",
			"compute: %s", refused.Message)
	case refused.Code == http.StatusUnauthorized:
		return report.Hint("run gcloud auth application-default login", "compute: %s", refused.Message)
	}
	return err
}
