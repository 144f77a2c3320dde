package machines

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"kopshook.dev/kopshook/internal/report"
)

const (
	ec2Version = "2016-11-15"
	// maxAnswer bounds an answer of EC2: a page of 1,000 instances takes about 6 MB.
	maxAnswer = 64 << 20
	// attempts and firstDelay are for answers that ask for patience, and for a network that fails: 0.5, 1, 2, 4 s.
	attempts   = 5
	firstDelay = 500 * time.Millisecond
)

type awsCloud struct {
	endpoint, region string
	credentials      aws.CredentialsProvider
	client           *http.Client
	wait             func(context.Context, time.Duration) error
}

func newAWS(ctx context.Context, region string, o Options) (*awsCloud, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(region))
	if err != nil {
		return nil, err
	}
	c := &awsCloud{endpoint: o.Endpoint, region: region, credentials: cfg.Credentials, client: o.Client, wait: sleep}
	for _, name := range []string{"AWS_ENDPOINT_URL_EC2", "AWS_ENDPOINT_URL"} {
		if c.endpoint == "" && o.Getenv != nil {
			c.endpoint = o.Getenv(name)
		}
	}
	if c.endpoint == "" {
		c.endpoint = "https://ec2." + region + "." + awsDomain(region)
	}
	if c.client == nil {
		c.client = &http.Client{Timeout: time.Minute}
	}
	return c, nil
}

// awsDomain is the domain of a region's partition.
func awsDomain(region string) string {
	for _, p := range []struct{ prefix, domain string }{
		{"cn-", "amazonaws.com.cn"}, {"us-isob-", "sc2s.sgov.gov"}, {"us-iso-", "c2s.ic.gov"}, {"us-isof-", "csp.hci.ic.gov"},
		{"eu-isoe-", "cloud.adc-e.uk"}, {"eusc-", "amazonaws.eu"},
	} {
		if strings.HasPrefix(region, p.prefix) {
			return p.domain
		}
	}
	return "amazonaws.com"
}

// instances is EC2's DescribeInstancesResponse, as far as it matters.
type instances struct {
	Instances []struct {
		ID        string    `xml:"instanceId"`
		State     string    `xml:"instanceState>name"`
		Launched  time.Time `xml:"launchTime"`
		Zone      string    `xml:"placement>availabilityZone"`
		Lifecycle string    `xml:"instanceLifecycle"`
		Tags      []struct {
			Key   string `xml:"key"`
			Value string `xml:"value"`
		} `xml:"tagSet>item"`
	} `xml:"reservationSet>item>instancesSet>item"`
	NextToken string `xml:"nextToken"`
}

// Machines finds instances by the tag that kops puts on them (upup/pkg/fi/cloudup/awsup/aws_cloud.go:91); their instance
// group is another tag (pkg/nodeidentity/aws/identify.go:41).
func (c *awsCloud) Machines(ctx context.Context, cluster string) ([]Machine, error) {
	var found []Machine
	form := url.Values{
		"Filter.1.Name": {"tag:KubernetesCluster"}, "Filter.1.Value.1": {cluster},
		"Filter.2.Name": {"instance-state-name"}, "Filter.2.Value.1": {"pending"}, "Filter.2.Value.2": {"running"},
		"Filter.2.Value.3": {"stopping"}, "Filter.2.Value.4": {"stopped"},
		"MaxResults": {"1000"},
	}
	for {
		var page instances
		if err := c.call(ctx, "DescribeInstances", form, &page); err != nil {
			return nil, err
		}
		for _, i := range page.Instances {
			m := Machine{ID: i.ID, Zone: i.Zone, State: i.State, Launched: i.Launched, ProviderID: "aws:///" + i.Zone + "/" + i.ID}
			for _, t := range i.Tags {
				if t.Key == "kops.k8s.io/instancegroup" {
					m.InstanceGroup = t.Value
				}
			}
			found = append(found, m)
		}
		if page.NextToken == "" {
			return found, nil
		}
		if form.Get("NextToken") == page.NextToken {
			return nil, errors.New("EC2 answers the same page of instances again and again")
		}
		form.Set("NextToken", page.NextToken)
	}
}

// Console asks for the newest output, which EC2 gives of instances on Nitro; of others it has what it saw last at their start.
func (c *awsCloud) Console(ctx context.Context, m Machine) ([]byte, error) {
	var answer struct {
		Output string `xml:"output"`
	}
	form := url.Values{"InstanceId": {m.ID}, "Latest": {"true"}}
	err := c.call(ctx, "GetConsoleOutput", form, &answer)
	var failed *ec2Error
	if errors.As(err, &failed) && (failed.Code == "UnsupportedOperation" || failed.Code == "InvalidParameterCombination") {
		form.Del("Latest")
		err = c.call(ctx, "GetConsoleOutput", form, &answer)
	}
	if err != nil {
		return nil, err
	}
	text, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(answer.Output), ""))
	if err != nil {
		return nil, fmt.Errorf("the console of %s is not in base64: %w", m.ID, err)
	}
	return text, nil
}

// ec2Error is EC2's answer to what it does not do.
type ec2Error struct {
	Action  string `xml:"-"`
	Status  int    `xml:"-"`
	Code    string `xml:"Errors>Error>Code"`
	Message string `xml:"Errors>Error>Message"`
}

func (e *ec2Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("ec2:%s: HTTP status %d", e.Action, e.Status)
	}
	return fmt.Sprintf("ec2:%s: %s: %s", e.Action, e.Code, e.Message)
}

// patience says whether the same call may go well a little later.
func (e *ec2Error) patience() bool {
	switch e.Code {
	case "RequestLimitExceeded", "Throttling", "ThrottlingException", "InternalError", "Unavailable", "ServiceUnavailable":
		return true
	}
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests
}

func (c *awsCloud) call(ctx context.Context, action string, form url.Values, answer any) error {
	err := again(ctx, c.wait, func() error { return c.once(ctx, action, form, answer) }, func(err error) bool {
		var refused *ec2Error
		return errors.As(err, &refused) && refused.patience()
	})
	return explained(err, action)
}

// again asks until the answer is there, or is one that patience does not change. A network that fails may work later.
func again(ctx context.Context, wait func(context.Context, time.Duration) error, ask func() error, patience func(error) bool) error {
	delay := firstDelay
	for attempt := 1; ; attempt++ {
		err := ask()
		var network *url.Error
		retry := err != nil && (patience(err) || errors.As(err, &network)) && ctx.Err() == nil
		if !retry || attempt == attempts {
			return err
		}
		if err := wait(ctx, delay); err != nil {
			return err
		}
		delay *= 2
	}
}

func (c *awsCloud) once(ctx context.Context, action string, form url.Values, answer any) error {
	body := url.Values{"Action": {action}, "Version": {ec2Version}}
	for k, v := range form {
		body[k] = v
	}
	text := body.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.endpoint, "/")+"/", strings.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	credentials, err := c.credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("AWS credentials: %w", err)
	}
	sum := sha256.Sum256([]byte(text))
	if err := v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), "ec2", c.region, time.Now()); err != nil {
		return err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return &url.Error{Op: "Post", URL: c.endpoint, Err: err}
	}
	if len(data) > maxAnswer {
		return fmt.Errorf("ec2:%s: the answer is larger than %s bytes", action, strconv.Itoa(maxAnswer))
	}
	if resp.StatusCode != http.StatusOK {
		refused := &ec2Error{Action: action, Status: resp.StatusCode}
		if xml.Unmarshal(data, refused) != nil {
			refused.Code = ""
		}
		return refused
	}
	if err := xml.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("ec2:%s: the answer cannot be read: %w", action, err)
	}
	return nil
}

// explained adds what to do about a refusal.
func explained(err error, action string) error {
	var refused *ec2Error
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case "UnauthorizedOperation", "AccessDenied":
		return report.Hint("allow the actions ec2:DescribeInstances and ec2:GetConsoleOutput, or choose other credentials with AWS_PROFILE", "%s", refused)
	case "AuthFailure", "InvalidClientTokenId", "ExpiredToken", "RequestExpired", "SignatureDoesNotMatch":
		return report.Hint("log in again, or choose other credentials with AWS_PROFILE; a clock that is wrong looks the same", "%s", refused)
	case "RequestLimitExceeded", "Throttling", "ThrottlingException":
		return report.Hint("AWS limits how often an account may ask: try again in a minute", "%s", refused)
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
