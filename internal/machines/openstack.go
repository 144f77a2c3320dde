package machines

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/util/pkg/vfs"

	"kopshook.dev/kopshook/internal/report"
)

type openstackCloud struct {
	compute *gophercloud.ServiceClient
	wait    func(context.Context, time.Duration) error
}

// newOpenstack logs in as kops does: with the variables OS_*, or with ~/.openstack/config
// (upup/pkg/fi/cloudup/openstack/cloud.go:325).
func newOpenstack(ctx context.Context, spec *kops.OpenstackSpec) (*openstackCloud, error) {
	config := vfs.OpenstackConfig{}
	region, err := config.GetRegion()
	if err != nil {
		return nil, report.Hint("source your openrc file, or set OS_REGION_NAME", "OpenStack: %w", err)
	}
	if _, missing := openstack.AuthOptionsFromEnv(); missing != nil && !hasConfigFile() {
		return nil, report.Hint("source your openrc file", "OpenStack: %w", missing)
	}
	credential, err := config.GetCredential()
	if err != nil {
		return nil, report.Hint("source your openrc file", "OpenStack: %w", err)
	}
	provider, err := openstack.NewClient(credential.IdentityEndpoint)
	if err != nil {
		return nil, fmt.Errorf("OpenStack: %w", err)
	}
	provider.HTTPClient = http.Client{Timeout: time.Minute, Transport: bounded{transport(spec)}}
	c := &openstackCloud{wait: sleep}
	err = c.ask(ctx, func() error { return openstack.Authenticate(ctx, provider, credential) })
	if err != nil {
		return nil, err
	}
	c.compute, err = openstack.NewComputeV2(provider, gophercloud.EndpointOpts{Region: region})
	if err != nil {
		return nil, report.Hint("see whether OS_REGION_NAME is right", "OpenStack: region %s has no compute service: %w", region, err)
	}
	return c, nil
}

// hasConfigFile says whether there is the file that kops reads where the variables are not set (util/pkg/vfs/swiftfs.go).
func hasConfigFile() bool {
	name := os.Getenv("OPENSTACK_CREDENTIAL_FILE")
	if name == "" {
		home, _ := os.UserHomeDir()
		name = filepath.Join(home, ".openstack", "config")
	}
	_, err := os.Stat(name)
	return err == nil
}

// transport believes each certificate where the cluster says so, as kops then does.
func transport(spec *kops.OpenstackSpec) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if spec != nil && spec.InsecureSkipVerify != nil && *spec.InsecureSkipVerify {
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	}
	return t
}

// bounded ends answers that are larger than any should be.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// openstackStates are the words of other clouds for Nova's: what is running has a console to read.
var openstackStates = map[string]string{"ACTIVE": "running", "BUILD": "pending", "SHUTOFF": "stopped"}

// Machines finds servers by the metadata that kops gives them (upup/pkg/fi/cloudup/openstack/cloud.go:67-70). Nova cannot be
// asked for metadata, so all servers of the project are listed.
func (c *openstackCloud) Machines(ctx context.Context, cluster string) ([]Machine, error) {
	var found []Machine
	err := c.ask(ctx, func() error {
		found = nil
		seen := map[string]bool{}
		return servers.List(c.compute, servers.ListOpts{Limit: 500}).EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
			list, err := servers.ExtractServers(page)
			if err != nil {
				return false, err
			}
			for _, s := range list {
				if seen[s.ID] {
					return false, errors.New("the same servers are answered again and again")
				}
				seen[s.ID] = true
				if s.Metadata["KubernetesCluster"] != cluster {
					continue
				}
				state := openstackStates[s.Status]
				if state == "" {
					state = strings.ToLower(s.Status)
				}
				found = append(found, Machine{ID: s.ID, InstanceGroup: s.Metadata["KopsInstanceGroup"], Zone: s.AvailabilityZone,
					State: state, Launched: s.Created.UTC(), ProviderID: "openstack:///" + s.ID})
			}
			return true, nil
		})
	})
	return found, err
}

// Console reads all that Nova keeps of the console.
func (c *openstackCloud) Console(ctx context.Context, m Machine) ([]byte, error) {
	var text string
	err := c.ask(ctx, func() (err error) {
		text, err = servers.ShowConsoleOutput(ctx, c.compute, m.ID, servers.ShowConsoleOutputOpts{}).Extract()
		return err
	})
	return []byte(text), err
}

func (c *openstackCloud) ask(ctx context.Context, question func() error) error {
	return openstackExplained(again(ctx, c.wait, question, func(err error) bool {
		var refused gophercloud.ErrUnexpectedResponseCode
		return errors.As(err, &refused) && (refused.Actual >= 500 || refused.Actual == http.StatusTooManyRequests)
	}))
}

// openstackExplained says what was answered, in a line, and what to do.
func openstackExplained(err error) error {
	var refused gophercloud.ErrUnexpectedResponseCode
	var large *http.MaxBytesError
	var network *url.Error
	switch {
	case errors.As(err, &large):
		return fmt.Errorf("OpenStack: an answer is larger than %d bytes", maxAnswer)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("OpenStack: an answer was cut off")
	case errors.As(err, &network):
		return report.Hint("see whether OS_AUTH_URL is right and can be reached from here, through a VPN or a proxy if it needs one", "OpenStack: %w", err)
	case err != nil && !errors.As(err, &refused):
		return fmt.Errorf("OpenStack: %w", err)
	case err == nil:
		return nil
	}
	text := fmt.Sprintf("OpenStack: HTTP status %d: %s", refused.Actual, report.Cut(report.OneLine(string(refused.Body)), 300))
	switch refused.Actual {
	case http.StatusUnauthorized:
		return report.Hint("source your openrc file again: the password or the token is not valid", "%s", text)
	case http.StatusForbidden:
		return report.Hint("use a role that may list servers and read their console output (os_compute_api:os-console-output)", "%s", text)
	case http.StatusTooManyRequests:
		return report.Hint("OpenStack limits how often it may be asked: try again in a minute", "%s", text)
	}
	return errors.New(text)
}
