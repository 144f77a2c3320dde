package machines

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"crypto/sha256"
	"encoding/hex"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/report"
)

var account = aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "not-a-secret", SessionToken: "a-session"}

// isolated keeps the tests from files and metadata services of the machine that they run on.
func isolated(t *testing.T) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "GOOGLE_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", account.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", account.SecretAccessKey)
	t.Setenv("AWS_SESSION_TOKEN", account.SessionToken)
}

// ec2 plays EC2: it signs each request again with AWS's own signer and answers only when the signatures are equal.
func ec2(t *testing.T, region string, answer func(w http.ResponseWriter, r *http.Request)) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Error(err)
		}
		again, _ := http.NewRequest(r.Method, "http://"+r.Host+r.URL.RequestURI(), strings.NewReader(string(body)))
		again.Header.Set("Content-Type", r.Header.Get("Content-Type"))
		sum := sha256.Sum256(body)
		if err := v4.NewSigner().SignHTTP(context.Background(), account, again, hex.EncodeToString(sum[:]), "ec2", region, at); err != nil {
			t.Error(err)
		}
		if got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization"); got != want {
			t.Errorf("signature\n%s\nwant\n%s", got, want)
			refuse(w, 403, "SignatureDoesNotMatch", "no")
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		if v := r.Form.Get("Version"); v != ec2Version {
			t.Errorf("version %q", v)
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>x</RequestID></Response>`, code, message)
}

func page(next string, items ...string) string {
	return `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet>` +
		"<item><instancesSet>" + strings.Join(items, "") + "</instancesSet></item></reservationSet><nextToken>" + next + "</nextToken></DescribeInstancesResponse>"
}

func instance(id, group string) string {
	return `<item><instanceId>` + id + `</instanceId><instanceState><code>16</code><name>running</name></instanceState>` +
		`<launchTime>2026-11-22T03:00:00.000Z</launchTime><placement><availabilityZone>eu-central-1a</availabilityZone></placement>` +
		`<tagSet><item><key>KubernetesCluster</key><value>main.example.com</value></item><item><key>kops.k8s.io/instancegroup</key><value>` + group + `</value></item></tagSet></item>`
}

func awsCluster(zones ...string) *kops.Cluster {
	c := &kops.Cluster{}
	c.Spec.CloudProvider.AWS = &kops.AWSSpec{}
	for _, z := range zones {
		c.Spec.Networking.Subnets = append(c.Spec.Networking.Subnets, kops.ClusterSubnetSpec{Zone: z})
	}
	return c
}

// awsAt is AWS as the server at url plays it, and what it waited.
func awsAt(t *testing.T, url string) (Cloud, *[]time.Duration) {
	isolated(t)
	c, err := Of(context.Background(), awsCluster("eu-central-1a", "eu-central-1b"), Options{Endpoint: url})
	if err != nil {
		t.Fatal(err)
	}
	waited := &[]time.Duration{}
	c.(*awsCloud).wait = func(_ context.Context, d time.Duration) error { *waited = append(*waited, d); return nil }
	return c, waited
}

func TestMachinesOfAllPagesAreListed(t *testing.T) {
	url := ec2(t, "eu-central-1", func(w http.ResponseWriter, r *http.Request) {
		if got := r.Form.Get("Filter.1.Name") + "=" + r.Form.Get("Filter.1.Value.1"); got != "tag:KubernetesCluster=main.example.com" {
			t.Errorf("filter %s", got)
		}
		switch r.Form.Get("NextToken") {
		case "":
			io.WriteString(w, page("second", instance("i-1", "gpu-a")))
		case "second":
			io.WriteString(w, page("", instance("i-2", "nodes"), instance("i-3", "nodes")))
		}
	})
	c, _ := awsAt(t, url)
	got, err := c.Machines(context.Background(), "main.example.com")
	if err != nil {
		t.Fatal(err)
	}
	launched := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	var want []Machine
	for _, m := range [][2]string{{"i-1", "gpu-a"}, {"i-2", "nodes"}, {"i-3", "nodes"}} {
		want = append(want, Machine{ID: m[0], InstanceGroup: m[1], Zone: "eu-central-1a", State: "running", Launched: launched, ProviderID: "aws:///eu-central-1a/" + m[0]})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConsoleOfMachinesWithoutLatestOutput(t *testing.T) {
	url := ec2(t, "eu-central-1", func(w http.ResponseWriter, r *http.Request) {
		if r.Form.Get("Latest") == "true" {
			refuse(w, 400, "UnsupportedOperation", "This instance type does not support retrieving the latest console output")
			return
		}
		fmt.Fprintf(w, "<GetConsoleOutputResponse><instanceId>%s</instanceId><output>%s\n</output></GetConsoleOutputResponse>", r.Form.Get("InstanceId"),
			base64.StdEncoding.EncodeToString([]byte("kopshook: hello")))
	})
	c, _ := awsAt(t, url)
	got, err := c.Console(context.Background(), Machine{ID: "i-1"})
	if err != nil || string(got) != "kopshook: hello" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestConsoleThatIsStillEmpty(t *testing.T) {
	url := ec2(t, "eu-central-1", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "<GetConsoleOutputResponse><instanceId>i-1</instanceId></GetConsoleOutputResponse>")
	})
	c, _ := awsAt(t, url)
	if got, err := c.Console(context.Background(), Machine{ID: "i-1"}); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestThrottledRequestsAreTriedAgainAndGivenUp(t *testing.T) {
	refusals := 2
	url := ec2(t, "eu-central-1", func(w http.ResponseWriter, r *http.Request) {
		if refusals--; refusals >= 0 {
			refuse(w, 503, "RequestLimitExceeded", "Request limit exceeded.")
			return
		}
		io.WriteString(w, page("", instance("i-1", "nodes")))
	})
	c, waited := awsAt(t, url)
	got, err := c.Machines(context.Background(), "main.example.com")
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if diff := cmp.Diff([]time.Duration{firstDelay, 2 * firstDelay}, *waited); diff != "" {
		t.Error(diff)
	}
	refusals = 100
	if _, err := c.Machines(context.Background(), "main.example.com"); err == nil || !strings.Contains(err.Error(), "RequestLimitExceeded") {
		t.Errorf("got %v", err)
	}
	if refusals != 100-attempts {
		t.Errorf("%d requests, want %d", 100-refusals, attempts)
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	for code, remedy := range map[string]string{"UnauthorizedOperation": "ec2:GetConsoleOutput", "ExpiredToken": "log in again", "AuthFailure": "AWS_PROFILE"} {
		url := ec2(t, "eu-central-1", func(w http.ResponseWriter, r *http.Request) { refuse(w, 403, code, "You may not") })
		c, waited := awsAt(t, url)
		_, err := c.Machines(context.Background(), "main.example.com")
		if err == nil || !strings.Contains(report.Remedy(err), remedy) {
			t.Errorf("%s: %v", code, err)
		}
		if len(*waited) != 0 {
			t.Errorf("%s: asked again", code)
		}
	}
}

func TestAnswersThatAreNotEC2s(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"a page of a proxy":        func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html><body>login</html>") },
		"an error that is not XML": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "nope", http.StatusTeapot) },
		"the same page for ever":   func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page("again", instance("i-1", "a"))) },
		"a console not in base64":  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<x><output>%%%</output></x>") },
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := awsAt(t, ec2(t, "eu-central-1", answer))
			var err error
			if strings.Contains(name, "console") {
				_, err = c.Console(context.Background(), Machine{ID: "i-1"})
			} else {
				_, err = c.Machines(context.Background(), "main.example.com")
			}
			if err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestRegionOfACluster(t *testing.T) {
	for want, zones := range map[string][]string{
		"eu-central-1": {"eu-central-1a", "eu-central-1b"}, "us-gov-west-1": {"us-gov-west-1a"}, "cn-north-1": {"cn-north-1a"},
		"us-west-2": {"us-west-2-lax-1a", "us-west-2b"}, "": {"eu-central-1a", "eu-west-1a"},
	} {
		got, err := awsRegion(awsCluster(zones...))
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%v: %q, %v", zones, got, err)
		}
	}
	for region, want := range map[string]string{"eu-west-1": "amazonaws.com", "cn-north-1": "amazonaws.com.cn", "us-iso-east-1": "c2s.ic.gov", "us-isob-east-1": "sc2s.sgov.gov"} {
		if got := awsDomain(region); got != want {
			t.Errorf("%s: %s", region, got)
		}
	}
}

func TestCloudsWithoutConsoles(t *testing.T) {
	for remedy, cloud := range map[string]kops.CloudProviderSpec{
		"switch boot diagnostics on":            {Azure: &kops.AzureSpec{}},
		"copy /var/lib/kopshook/status from it": {Hetzner: &kops.HetznerSpec{}},
		"run kopshook status there":             {DO: &kops.DOSpec{}},
	} {
		c := &kops.Cluster{}
		c.Spec.CloudProvider = cloud
		_, err := Of(context.Background(), c, Options{})
		if !errors.Is(err, errors.ErrUnsupported) || strings.Contains(err.Error(), "unsupported operation") || !strings.Contains(err.Error(), string(c.GetCloudProvider())) || !strings.Contains(report.Remedy(err), remedy) {
			t.Errorf("%s: got %v, %s", c.GetCloudProvider(), err, report.Remedy(err))
		}
	}
}

// TestRequestsAreSignedForTheRegionOfTheCluster: whatever region the environment names.
func TestRequestsAreSignedForTheRegionOfTheCluster(t *testing.T) {
	for region, zone := range map[string]string{"us-gov-west-1": "us-gov-west-1a", "cn-north-1": "cn-north-1b"} {
		url := ec2(t, region, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, page("", instance("i-1", "nodes"))) })
		isolated(t)
		t.Setenv("AWS_REGION", "eu-central-1")
		c, err := Of(context.Background(), awsCluster(zone), Options{Endpoint: url})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Machines(context.Background(), "main.example.com"); err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", region, got, err)
		}
	}
}

func gceAt(t *testing.T, handler http.HandlerFunc) Cloud {
	isolated(t)
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	c := &kops.Cluster{}
	c.Spec.CloudProvider.GCE = &kops.GCESpec{Project: "my-project"}
	cloud, err := Of(context.Background(), c, Options{Endpoint: s.URL + "/compute/v1/"})
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

func TestMachinesOfGoogleCloud(t *testing.T) {
	machine := func(name, cluster string) map[string]any {
		return map[string]any{"name": name, "zone": "https://www.googleapis.com/compute/v1/projects/my-project/zones/us-east1-b",
			"status": "RUNNING", "creationTimestamp": "2026-11-21T19:00:00.000-08:00",
			"metadata": map[string]any{"items": []map[string]any{{"key": "cluster-name", "value": cluster}, {"key": "kops-k8s-io-instance-group-name", "value": "nodes"}, {"key": "empty"}}}}
	}
	c := gceAt(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/compute/v1/projects/my-project/aggregated/instances" {
			t.Errorf("path %s", r.URL.Path)
		}
		answer := map[string]any{"items": map[string]any{"zones/us-east1-b": map[string]any{"instances": []any{machine("nodes-x", "main.example.com"), machine("nodes-y", "other.example.com")}}}, "nextPageToken": "two"}
		if r.URL.Query().Get("pageToken") == "two" {
			answer = map[string]any{"items": map[string]any{"zones/us-east1-b": map[string]any{"instances": []any{machine("nodes-z", "main.example.com")}}}}
		}
		json.NewEncoder(w).Encode(answer)
	})
	got, err := c.Machines(context.Background(), "main.example.com")
	if err != nil {
		t.Fatal(err)
	}
	launched := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	want := []Machine{
		{ID: "nodes-x", InstanceGroup: "nodes", Zone: "us-east1-b", State: "running", Launched: launched, ProviderID: "gce://my-project/us-east1-b/nodes-x"},
		{ID: "nodes-z", InstanceGroup: "nodes", Zone: "us-east1-b", State: "running", Launched: launched, ProviderID: "gce://my-project/us-east1-b/nodes-z"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSerialPortIsReadToItsEnd(t *testing.T) {
	text := "first page second page"
	c := gceAt(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/compute/v1/projects/my-project/zones/us-east1-b/instances/nodes-x/serialPort" {
			t.Errorf("path %s", r.URL.Path)
		}
		var start int
		fmt.Sscan(r.URL.Query().Get("start"), &start)
		end := min(start+11, len(text))
		json.NewEncoder(w).Encode(map[string]any{"contents": text[start:end], "start": fmt.Sprint(start), "next": fmt.Sprint(end)})
	})
	got, err := c.Console(context.Background(), Machine{ID: "nodes-x", Zone: "us-east1-b"})
	if err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
}

func TestGoogleCloudRefusesWithARemedy(t *testing.T) {
	c := gceAt(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(403)
		io.WriteString(w, `{"error": {"code": 403, "message": "Required 'compute.instances.list' permission"}}`)
	})
	if _, err := c.Machines(context.Background(), "x"); err == nil || !strings.Contains(report.Remedy(err), "roles/compute.viewer") {
		t.Errorf("got %v", err)
	}
}

// TestGoogleCloudIsAskedAgainWhenItIsBusy: and a machine without output yet has an empty console.
func TestGoogleCloudIsAskedAgainWhenItIsBusy(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusForbidden} {
		refusals := 2
		c := gceAt(t, func(w http.ResponseWriter, r *http.Request) {
			if refusals--; refusals >= 0 {
				w.WriteHeader(status)
				io.WriteString(w, `{"error": {"code": `+fmt.Sprint(status)+`, "message": "Rate Limit Exceeded", "errors": [{"reason": "rateLimitExceeded"}]}}`)
				return
			}
			io.WriteString(w, `{"contents": "", "start": "0", "next": "0"}`)
		})
		c.(*gceCloud).wait = func(context.Context, time.Duration) error { return nil }
		text, err := c.Console(context.Background(), Machine{ID: "nodes-x", Zone: "us-east1-b"})
		if err != nil || len(text) > 0 {
			t.Errorf("%d: %q, %v", status, text, err)
		}
	}
}
