//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"

	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/fakecloud"
	"kopshook.dev/kopshook/internal/nodestatus"
)

type cloud = fakecloud.Cloud

// hosts are the names that a cloud answers to.
var hosts = []string{
	"kopshook-e2e.s3.eu-central-1.amazonaws.com", "kopshook-e2e.s3.us-gov-west-1.amazonaws.com", "s3.eu-central-1.amazonaws.com",
	"kopshook-e2e.s3.eu-central-1.amazonaws.com.cn", "storage.googleapis.com", "kopshooke2e.blob.core.windows.net", "files.example.com",
	"ssm.eu-central-1.amazonaws.com", "secretsmanager.eu-central-1.amazonaws.com", "secretsmanager.us-east-1.amazonaws.com", "secretmanager.googleapis.com", "kopshook-e2e.vault.azure.net",
}

// lives has the cloud around the node from its next boot on; environment is in /etc/environment.
func (n *node) lives(c *cloud, environment ...string) {
	n.t.Helper()
	program, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	c.Hosts = hosts
	if err := c.Surround(context.Background(), n.Machine, program); err != nil {
		n.t.Fatal(err)
	}
	if err := n.WriteFile(boot.File{Path: "/etc/environment", Content: []byte(strings.Join(environment, "\n") + "\n")}); err != nil {
		n.t.Fatal(err)
	}
}

// inCloud runs a shell script in the cloud: in a network that has nothing else, with its names and certificate.
func inCloud(t *testing.T, c *cloud, script string, environment ...string) string {
	t.Helper()
	dir := t.TempDir()
	c.Hosts = hosts
	if err := c.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hosts"), []byte("127.0.0.1 localhost "+strings.Join(hosts, " ")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-nmpf", "--kill-child", "sh", "-ec", `mount --bind hosts /etc/hosts
"$0" try-cloud . & until [ -e ready ]; do kill -0 $!; sleep .05; done
`+script, program)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + filepath.Join(dir, "cert.pem")}, environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// reader is the node's reader of the pieces, and then what it is to do.
func reader(t *testing.T, then string, pieces ...string) string {
	t.Helper()
	var b bytes.Buffer
	for _, piece := range append([]string{"common"}, pieces...) {
		text, err := os.ReadFile("../templates/v1/bucket/" + piece + ".py")
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return "/usr/bin/python3 -I - << 'END'\n" + b.String() + then + "END\n"
}

// What a node gets of each cloud's storage, in how many attempts, and how it says what is wrong.
func TestNodeReadsBuckets(t *testing.T) {
	data := bytes.Repeat([]byte("the archive, "), 9000)
	sum := sha256.Sum256(data)
	want := hex.EncodeToString(sum[:])
	pieces := map[string][]string{"s3": {"cloud", "aws", "s3"}, "gs": {"cloud", "gcp", "gs"}, "azureblob": {"cloud", "azure", "azureblob"}, "https": {"https"}}
	object := func(at string) map[string][]byte { return map[string][]byte{at + "/" + want: data} }
	for name, c := range map[string]struct {
		cloud
		url  string
		env  []string
		want []string // what each attempt comes to, the last again and again
	}{
		"S3":                      {cloud{Objects: object("kopshook-e2e/a b/é~+c")}, "s3://kopshook-e2e/a b/é~+c", nil, []string{"None"}},
		"S3, dots in the name":    {cloud{Objects: object("dots.in.it/x")}, "s3://dots.in.it/x", nil, []string{"None"}},
		"S3, another region":      {cloud{Region: "us-gov-west-1", Objects: object("kopshook-e2e/x")}, "s3://kopshook-e2e/x", nil, []string{"None"}},
		"S3, China":               {cloud{Domain: "amazonaws.com.cn", Objects: object("kopshook-e2e/x")}, "s3://kopshook-e2e/x", nil, []string{"None"}},
		"GCS":                     {cloud{Objects: object("b.example.com/a b/é")}, "gs://b.example.com/a b/é", nil, []string{"None"}},
		"Azure":                   {cloud{Objects: object("kopshooke2e/hooks/x")}, "azureblob://kopshooke2e/hooks/x", nil, []string{"None"}},
		"through a proxy":         {cloud{Objects: object("kopshook-e2e/x")}, "s3://kopshook-e2e/x", []string{"https_proxy=http://127.0.0.1:3128", "http_proxy=http://127.0.0.1:3128"}, []string{"None"}},
		"a proxy that is down":    {cloud{Objects: object("kopshook-e2e/x")}, "s3://kopshook-e2e/x", []string{"https_proxy=http://127.0.0.1:1", "http_proxy=http://127.0.0.1:1"}, []string{"<urlopen error [Errno 111] Connection refused>"}},
		"nobody's":                {cloud{}, "s3://kopshook-e2e/x", nil, []string{"NoSuchKey, asked as nodes.e2e.example.com"}},
		"no bucket":               {cloud{Fault: "no bucket"}, "s3://kopshook-e2e/x", nil, []string{"NoSuchBucket, asked as nodes.e2e.example.com"}},
		"no role":                 {cloud{Fault: "no role"}, "s3://kopshook-e2e/x", nil, []string{"metadata service, latest/meta-data/iam/security-credentials/: HTTP Error 404: Not Found"}},
		"no identity":             {cloud{Fault: "no role"}, "azureblob://kopshooke2e/hooks/x", nil, []string{"metadata service, metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com%2F: HTTP Error 400: Bad Request"}},
		"no service account":      {cloud{Fault: "no role"}, "gs://kopshook-e2e/x", nil, []string{"metadata service, computeMetadata/v1/instance/service-accounts/default/token: HTTP Error 403: Forbidden"}},
		"no metadata service":     {cloud{Fault: "no metadata"}, "s3://kopshook-e2e/x", nil, []string{"metadata service, latest/api/token: <urlopen error [Errno 111] Connection refused>"}},
		"a slow metadata service": {cloud{Fault: "slow metadata", Objects: object("kopshook-e2e/x")}, "s3://kopshook-e2e/x", nil, []string{"None"}},
		"no rights":               {cloud{Fault: "denied"}, "s3://kopshook-e2e/x", nil, []string{"AccessDenied, asked as nodes.e2e.example.com"}},
		"credentials that expire": {cloud{Fault: "expired", Objects: object("kopshook-e2e/x")}, "s3://kopshook-e2e/x", nil, []string{"ExpiredToken, asked as nodes.e2e.example.com", "ExpiredToken, asked as nodes.e2e.example.com", "None"}},
		"a clock that is late":    {cloud{Fault: "clock", Objects: object("kopshook-e2e/x")}, "s3://kopshook-e2e/x", nil, []string{"RequestTimeTooSkewed, asked as nodes.e2e.example.com", "None"}},
		"wrong bytes":             {cloud{Fault: "wrong bytes", Objects: object("kopshook-e2e/x")}, "s3://kopshook-e2e/x", nil, []string{"wrong sha256: "}},
		"half, then the rest":     {cloud{Fault: "half", Objects: object("kopshook-e2e/x")}, "s3://kopshook-e2e/x", nil, []string{"cut off after 58501 of 117000 bytes", "cut off after 87751 of 117000 bytes"}},
		"half, always anew":       {cloud{Fault: "half, always anew", Objects: object("kopshook-e2e/x")}, "s3://kopshook-e2e/x", nil, []string{"cut off after 58501 of 117000 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme, _, _ := strings.Cut(c.url, "://")
			out := inCloud(t, &c.cloud, reader(t, "\nfor i in range(3):\n    print(attempt(get, sys.argv[1] if sys.argv[1:] else '"+c.url+"/"+want+"', 'part', '"+want+"'))\n", append(pieces[scheme], "get", "attempt")...), c.env...)
			got := strings.Split(strings.TrimSpace(out), "\n")
			for i, line := range got {
				expected := c.want[min(i, len(c.want)-1)]
				if name == "half, then the rest" && i == 2 {
					continue
				}
				if !strings.HasPrefix(line, expected) {
					t.Errorf("attempt %d: %q, want %q", i+1, line, expected)
				}
			}
			if len(got) != 3 {
				t.Errorf("%d attempts:\n%s", len(got), out)
			}
		})
	}
}

const bucketSpec = `apiVersion: kopshook.dev/v1alpha1
kind: InstanceGroupHooks
metadata:
  name: many
spec:
  selector: {}
  archive: true
  archiveURL: s3://kopshook-e2e/hooks
  hooks:
`

// inBucket returns the user data of a spec, and the cloud that has its archive.
func inBucket(t *testing.T, spec string) ([]byte, *cloud) {
	t.Helper()
	g, err := planGroup(spec)
	if err != nil {
		t.Fatal(err)
	}
	object, err := g.Archive()
	if err != nil {
		t.Fatal(err)
	}
	place := strings.TrimPrefix(object.Address(), "s3://")
	return userData(t, mutate(t, g.PlannedUserData())...), &cloud{Objects: map[string][]byte{place: object.Content}}
}

// 40 hooks of 3 KB come through a bucket, in three quarters of what AWS takes; the next boots and an image need the bucket no more.
func TestFortyHooksComeThroughABucket(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	names, scripts := []string{}, map[string]string{}
	var hooks strings.Builder
	for i := range 40 {
		name := fmt.Sprintf("hook%02d", i)
		names, scripts[name] = append(names, name), scriptOf(name, 3000, r)
		fmt.Fprintf(&hooks, "  - name: %s\n    script: |\n", name)
		for line := range strings.Lines(scripts[name]) {
			hooks.WriteString("      " + line)
		}
	}
	hooks.WriteString("  - {name: before-kubelet, phase: pre-kubelet, before: [containerd.service], script: \"#!/bin/sh\\n/trial/bin/event before-kubelet\"}\n" +
		"  - {name: after, phase: post-nodeup, script: \"#!/bin/sh\\n/trial/bin/event after\"}\n")
	forty, _ := inBucket(t, bucketSpec+strings.Split(hooks.String(), "  - {name: before-kubelet")[0])
	data, c := inBucket(t, bucketSpec+hooks.String())
	// kops' script for a worker holds the certificate authority, which that of these tests lacks (internal/budget/limits.go)
	if n := len(forty) - len(userData(t)) + 5000 + 2*len("e2e.example.com"); n >= 12000 {
		t.Errorf("%d bytes of user data", n)
	} else {
		t.Logf("%d bytes of user data", n)
	}
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, data)
		n.lives(c)
		boot1 := n.boot(boot.Options{})
		boot1.joins().fails().ordered(append(slices.Clone(names), "before-kubelet", "kubelet-start")...)
		boot1.ordered("hook39", "nodeup-start", "after").contains("console", boot1.Console, `kopshook: {"hook": "archive", "phase": "pre-nodeup", "state": "succeeded"`)
		n.hasStatus("archive", nodestatus.Succeeded, "")
		for name, script := range scripts {
			n.hasFile("/opt/kopshook/hooks/"+name+"/script", []byte(script), 0o700, 0, 0)
		}
		gone := &cloud{Fault: "no bucket"}
		n.lives(gone)
		n.boot(boot.Options{}).joins().fails().never(names...)
		image := n.clone(data, "i-00000000000000042")
		image.lives(gone)
		image.boot(boot.Options{}).joins().fails().ordered(append(slices.Clone(names), "kubelet-start")...)
	})
}

const oneInBucket = bucketSpec + `  - {name: one, script: "#!/bin/sh\n/trial/bin/event one"}
`

// Rights that come late, a clock that is wrong and a proxy cost attempts and nothing else.
func TestBucketIsReadAfterAll(t *testing.T) {
	data, c := inBucket(t, oneInBucket)
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, data)
		c.Fault = "late rights"
		n.lives(c, "https_proxy=http://127.0.0.1:3128", "http_proxy=http://127.0.0.1:3128")
		r := n.boot(boot.Options{})
		r.joins().fails().ordered("one", "nodeup-start", "kubelet-start")
		r.contains("console", r.Console, "attempt 2 of 6: s3://kopshook-e2e/hooks/").contains("console", r.Console, "AccessDenied, asked as nodes.e2e.example.com")
	})
}

// What passes costs attempts and nothing else: credentials that have expired, a clock that is wrong, a metadata service that is slow
// or comes late.
func TestFaultsOfACloudThatPass(t *testing.T) {
	data, c := inBucket(t, oneInBucket)
	t.Parallel()
	for fault, why := range map[string]string{
		"expired": "ExpiredToken, asked as nodes.e2e.example.com", "clock": "RequestTimeTooSkewed, asked as nodes.e2e.example.com",
		"late metadata": "metadata service, latest/api/token: ", "slow metadata": "",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, boot.Suites[0].Name, data)
			n.lives(&cloud{Fault: fault, Objects: c.Objects})
			r := n.boot(boot.Options{Limit: 5 * time.Minute})
			r.joins().fails().ordered("one", "nodeup-start", "kubelet-start").contains("console", r.Console, why)
		})
	}
}

// What stays wrong keeps the node closed, with a reason of its own on the console and in the status; nothing of the archive is there.
// Six attempts take 155 s of pauses: the nodes sleep side by side.
func TestFaultsOfACloudThatStay(t *testing.T) {
	data, c := inBucket(t, oneInBucket)
	t.Parallel()
	for fault, why := range map[string]string{
		"wrong bytes": "wrong sha256: ", "half, always anew": "cut off after ", "denied": "AccessDenied, asked as nodes.e2e.example.com",
		"no metadata": "metadata service, latest/api/token: <urlopen error [Errno 111] Connection refused>",
		"gone":        "NoSuchKey, asked as nodes.e2e.example.com", "no bucket": "NoSuchBucket, asked as nodes.e2e.example.com",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, boot.Suites[0].Name, data)
			faulty := &cloud{Fault: fault, Objects: c.Objects}
			if fault == "gone" {
				faulty = &cloud{}
			}
			n.lives(faulty)
			r := n.boot(boot.Options{Limit: 5 * time.Minute})
			r.blocks().never("one", "nodeup-start").fails("kopshook-archive.service")
			failed := regexp.MustCompile(`kopshook: \{"hook": "archive".*"state": "failed", "reason": "attempt 6 of 6: s3://kopshook-e2e/hooks/[0-9a-f]{64}: ` + regexp.QuoteMeta(why))
			if !failed.MatchString(r.Console) {
				t.Errorf("the console has no line like %s", failed)
			}
			if s := n.status("archive"); s["state"] != "failed" || !strings.Contains(fmt.Sprint(s["reason"]), why) {
				t.Errorf("status %v", s)
			}
			if _, err := n.Stat("/opt/kopshook/hooks/one"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something of the archive is there: %v", err)
			}
		})
	}
}

// Without a role the node stays closed and says why; once it has one, the documented command goes on, and so does a reboot.
func TestBucketThatCannotBeReadFailsClosed(t *testing.T) {
	data, c := inBucket(t, oneInBucket)
	t.Parallel()
	n := newNode(t, boot.Suites[0].Name, data)
	c.Fault = "no role"
	n.lives(c)
	const why = "metadata service, latest/meta-data/iam/security-credentials/: HTTP Error 404: Not Found"
	r := n.boot(boot.Options{Limit: 5 * time.Minute})
	r.blocks().never("one", "nodeup-start").fails("kopshook-archive.service").contains("console", r.Console, `"state": "failed"`).contains("console", r.Console, why)
	if s := n.status("archive"); s["state"] != "failed" || !strings.Contains(fmt.Sprint(s["reason"]), why) {
		t.Errorf("status %v", s)
	}
	r = n.boot(boot.Options{Limit: 5 * time.Minute, Scenario: `sed -i s/no.role// /trial/cloud.json
systemctl restart trial-cloud
systemctl restart kops-configuration
until systemctl is-active kubelet; do sleep 1; done`})
	r.fails().ordered("one", "nodeup-start", "kubelet-start")
	n.boot(boot.Options{}).joins().never("one")
}
