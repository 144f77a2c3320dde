package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/option"
	storage "google.golang.org/api/storage/v1"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/util/pkg/vfs"
	"sigs.k8s.io/yaml"

	"kopshook.dev/kopshook/generator"
)

// server is S3 at /BUCKET/KEY, Google Cloud Storage at /b/BUCKET/o/KEY, and any server.
type server struct {
	mu      sync.Mutex
	objects map[string][]byte // by BUCKET/KEY
	puts    int
	refuse  string        // a code of S3's for what is written
	hang    chan struct{} // what is written waits for it
}

func start(t *testing.T) (*server, *Buckets) {
	t.Helper()
	s := &server{objects: map[string][]byte{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	for name, value := range map[string]string{"S3_ENDPOINT": srv.URL, "S3_REGION": "us-east-1", "S3_ACCESS_KEY_ID": "id", "S3_SECRET_ACCESS_KEY": "secret"} {
		t.Setenv(name, value)
	}
	client, err := storage.NewService(t.Context(), option.WithEndpoint(srv.URL), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	return s, &Buckets{VFS: vfs.NewVFSContext().WithGCSClient(client)}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	gcs := strings.HasPrefix(r.URL.Path, "/b/") || strings.Contains(r.URL.Path, "storage/v1/b/")
	key := strings.TrimPrefix(r.URL.Path, "/")
	if gcs {
		_, key, _ = strings.Cut(r.URL.Path, "/b/")
		key = strings.Replace(key, "/o/", "/", 1)
	}
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodGet && s.hang != nil {
		<-s.hang
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodPut && s.refuse != "":
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", s.refuse)
	case r.Method == http.MethodPut:
		s.puts++
		if strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") { // SIZE LF BYTES LF, and a checksum behind
			_, rest, _ := strings.Cut(string(body), "\r\n")
			rest, _, _ = strings.Cut(rest, "\r\n0\r\n")
			body = []byte(rest)
		}
		s.objects[key] = body
	case r.Method == http.MethodPost: // multipart: a name in JSON, then the bytes
		s.puts++
		parts := strings.Split(string(body), "\r\n\r\n")
		_, name, _ := strings.Cut(parts[1], `"name":"`)
		name, _, _ = strings.Cut(name, `"`)
		bucket, _, _ := strings.Cut(key, "/")
		data, _, _ := strings.Cut(parts[2], "\r\n--")
		s.objects[bucket+"/"+name] = []byte(data)
		fmt.Fprint(w, "{}")
	default:
		data, ok := s.objects[key]
		if !ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			if gcs {
				fmt.Fprint(w, `{"error": {"code": 404, "message": "gone"}}`)
			} else {
				fmt.Fprint(w, "<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>")
			}
			return
		}
		w.Write(data)
	}
}

func object(url, content string) *generator.Object {
	sum := sha256.Sum256([]byte(content))
	return &generator.Object{URL: url, SHA256: hex.EncodeToString(sum[:]), Content: []byte(content)}
}

func TestPushWritesWhatIsNotThereOnce(t *testing.T) {
	for _, url := range []string{"s3://bucket", "s3://bucket/a/b", "gs://bucket/a"} {
		t.Run(url, func(t *testing.T) {
			s, b := start(t)
			o := object(url, "the archive")
			if err := b.Check(t.Context(), o.URL, o.SHA256); !errors.Is(err, ErrMissing) {
				t.Fatalf("before: %v", err)
			}
			for i, want := range []bool{true, false} {
				if pushed, err := b.Push(t.Context(), o); err != nil || pushed != want {
					t.Errorf("push %d: %v, %v", i+1, pushed, err)
				}
			}
			_, place, _ := strings.Cut(o.Address(), "://")
			if got := string(s.objects[place]); got != "the archive" || s.puts != 1 {
				t.Errorf("%q in %d writes; objects %v", got, s.puts, s.objects)
			}
		})
	}
}

func TestPushKeepsItsHandsOffOtherBytes(t *testing.T) {
	s, b := start(t)
	o := object("s3://bucket/a", "the archive")
	s.objects["bucket/a/"+o.SHA256] = []byte("something else")
	if _, err := b.Push(t.Context(), o); err == nil || !strings.Contains(err.Error(), "its sha256 is") || s.puts != 0 {
		t.Errorf("%v, %d writes", err, s.puts)
	}
}

func TestPushWithoutRightsSaysWhatItTakes(t *testing.T) {
	s, b := start(t)
	s.refuse = "AccessDenied"
	_, err := b.Push(t.Context(), object("s3://bucket/a", "the archive"))
	if err == nil || !strings.Contains(err.Error(), "AccessDenied") || !strings.Contains(err.Error(), "s3://bucket/a/") {
		t.Error(err)
	}
	if len(s.objects) > 0 {
		t.Errorf("objects %v", s.objects)
	}
}

func TestPushThatIsInterruptedEndsAtOnce(t *testing.T) {
	s, b := start(t)
	s.hang = make(chan struct{})
	defer close(s.hang)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if pushed, err := b.Push(ctx, object("s3://bucket/a", "the archive")); pushed || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", pushed, err)
	}
}

func TestServersAreReadAndNotWritten(t *testing.T) {
	o := object("https://files.example.com/hooks", "the archive")
	found := ""
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if found == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, found)
	}))
	defer srv.Close()
	o.URL = srv.URL + "/hooks"
	b := &Buckets{Client: srv.Client()}
	if _, err := b.Push(t.Context(), o); err == nil || !strings.Contains(err.Error(), "cannot write to a server") {
		t.Error(err)
	}
	found = "the archive"
	if pushed, err := b.Push(t.Context(), o); pushed || err != nil {
		t.Error(pushed, err)
	}
	found = "the arch"
	if err := b.Check(t.Context(), o.URL, o.SHA256); err == nil || errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}

// kops takes the statements, and they are for the right machines and partitions.
func TestRightsToSecretsOfAWS(t *testing.T) {
	const arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:far-AbCdEf"
	for address, want := range map[string]string{
		"aws-secretsmanager:prod/db#password": "secretsmanager:GetSecretValue arn:aws:secretsmanager:*:*:secret:prod/db-??????",
		"aws-secretsmanager:" + arn:           "secretsmanager:GetSecretValue " + arn,
		"s3://bucket/a*$b":                    "s3:GetObject arn:aws:s3:::bucket/a${*}${$}b",
		"aws-ssm:name":                        "ssm:GetParameter arn:aws:ssm:*:*:parameter/name",
		"aws-ssm:arn:aws:ssm:us-east-1:123456789012:parameter/a/b": "ssm:GetParameter arn:aws:ssm:us-east-1:123456789012:parameter/a/b",
		"gcp-secretmanager:x": " ",
	} {
		if action, resource := onAWS(Need{Address: address}); action+" "+resource != want {
			t.Errorf("%s: %s %s", address, action, resource)
		}
	}
}

func TestRights(t *testing.T) {
	text := Rights([]Need{
		{"s3://b/hooks/", "node", "eu-central-1a"}, {"s3://b/hooks/", "node", ""}, {"s3://c/", "control-plane", "cn-north-1a"}, {"s3://d/x/y", "apiserver", "us-gov-west-1b"},
		{"gs://g/x/", "node", ""}, {"azureblob://account/container/x", "node", ""}, {"https://h/x", "node", ""}, {"", "node", ""},
		{"aws-ssm:/prod/token#a", "bastion", ""}, {"gcp-secretmanager:near", "node", ""}, {"gcp-secretmanager:projects/p/secrets/far/versions/2", "node", ""}, {"azure-keyvault:vault/x", "node", ""},
	})
	head, rest, _ := strings.Cut(text, "The ")
	var c kops.Cluster
	if err := yaml.UnmarshalStrict([]byte(head), &c); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for role, arn := range map[string]string{"node": "arn:aws:s3:::b/hooks/*", "control-plane": "arn:aws-cn:s3:::c/*", "apiserver": "arn:aws-us-gov:s3:::d/x/y", "bastion": "arn:aws:ssm:*:*:parameter/prod/token"} {
		if p := c.Spec.AdditionalPolicies[role]; strings.Count(p, "arn:") != 1 || !strings.Contains(p, `"`+arn+`"`) || strings.Contains(p, `"s3:GetObject"`) != (role != "bastion") {
			t.Errorf("%s: %s", role, p)
		}
	}
	for _, want := range []string{"gs://g --role=roles/storage.objectViewer", "Storage Blob Data Reader", "--name account", "/containers/container", "binding near --role", "binding far --project=p", "keyvault show --name vault"} {
		if !strings.Contains(rest, want) {
			t.Errorf("%q is missing in\n%s", want, rest)
		}
	}
}
