//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"kopshook.dev/kopshook/internal/boot"
)

// cloud is a metadata service and the buckets of a cloud, under their real addresses: the test program plays it, in a
// network of its own. It takes nothing that the vendor's own signer would have made in another way.
type cloud struct {
	Provider string // aws, gce, azure
	Region   string // of the bucket; the machine is in eu-central-1
	Domain   string // of AWS; "" is amazonaws.com
	Fault    string // see serve
	Objects  map[string][]byte
	Secrets  map[string]string // as a spec names them, without #KEY
}

const machineRegion = "eu-central-1"

// cloudFile, in the environment, makes the test program a cloud.
const cloudFile = "KOPSHOOK_E2E_CLOUD"

// playCloud serves until it is killed.
func playCloud(dir string) {
	data, err := os.ReadFile(filepath.Join(dir, "cloud.json"))
	c := &cloud{}
	if err == nil {
		err = json.Unmarshal(data, c)
	}
	if err == nil {
		err = c.serve(dir)
	}
	fmt.Fprintln(os.Stderr, "cloud:", err)
	os.Exit(1)
}

func (c *cloud) serve(dir string) error {
	for _, args := range [][]string{{"link", "set", "lo", "up"}, {"addr", "replace", "169.254.169.254/32", "dev", "lo"}} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		return err
	}
	ended := make(chan error, 3)
	if c.Fault != "no metadata" {
		metadata, err := net.Listen("tcp", "169.254.169.254:80")
		if err != nil {
			return err
		}
		go func() { ended <- http.Serve(metadata, http.HandlerFunc(c.metadata)) }()
	}
	storage, err := tls.Listen("tcp", "127.0.0.1:443", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(c.storage)}
	go func() { ended <- server.Serve(storage) }()
	proxy, err := net.Listen("tcp", "127.0.0.1:3128")
	if err != nil {
		return err
	}
	go func() { ended <- http.Serve(proxy, http.HandlerFunc(tunnel)) }()
	if err := os.WriteFile(filepath.Join(dir, "ready"), nil, 0o644); err != nil {
		return err
	}
	return <-ended
}

// tunnel is a proxy that the storage, and nothing else, is behind.
func tunnel(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "this proxy takes CONNECT only: "+r.URL.String(), http.StatusTeapot)
		return
	}
	there, err := net.Dial("tcp", "127.0.0.1:443")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	fmt.Fprint(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { buffered.WriteTo(there); there.Close() }()
	buf := make([]byte, 1<<16)
	for {
		n, err := there.Read(buf)
		here.Write(buf[:n])
		if err != nil {
			here.Close()
			return
		}
	}
}

var (
	seen   = map[string]int{} // requests, by what they are
	seenMu sync.Mutex
)

func count(what string) int {
	seenMu.Lock()
	defer seenMu.Unlock()
	seen[what]++
	return seen[what]
}

var role = aws.Credentials{AccessKeyID: "ASIAXEXAMPLE", SecretAccessKey: "sec/ret+x", SessionToken: "tok//en=="}

func (c *cloud) metadata(w http.ResponseWriter, r *http.Request) {
	if c.Fault == "slow metadata" {
		time.Sleep(2 * time.Second)
	}
	if c.Fault == "late metadata" && count("metadata") < 3 {
		panic(http.ErrAbortHandler)
	}
	switch p := r.URL.Path; {
	case r.Host != "169.254.169.254":
		w.WriteHeader(http.StatusBadRequest)
	case c.Provider == "gce" && p == "/computeMetadata/v1/instance/service-accounts/default/token":
		if r.Header.Get("Metadata-Flavor") != "Google" || c.Fault == "no role" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `{"access_token":"ya29.google","expires_in":3000,"token_type":"Bearer"}`)
	case c.Provider == "gce" && p == "/computeMetadata/v1/project/project-id" && r.Header.Get("Metadata-Flavor") == "Google":
		fmt.Fprint(w, "e2e-project")
	case c.Provider == "azure" && p == "/metadata/identity/oauth2/token":
		if r.Header.Get("Metadata") != "true" || r.URL.Query().Get("api-version") != "2018-02-01" || c.Fault == "no role" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"access_token":"azure:%s"}`, r.URL.Query().Get("resource"))
	case c.Provider == "aws" && p == "/latest/api/token" && r.Method == http.MethodPut && r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") != "":
		fmt.Fprint(w, "T")
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "T":
		w.WriteHeader(http.StatusUnauthorized) // IMDSv1 is off
	case p == "/latest/meta-data/placement/region":
		fmt.Fprint(w, machineRegion)
	case p == "/latest/meta-data/services/domain":
		fmt.Fprint(w, c.domain())
	case c.Fault == "no role":
		w.WriteHeader(http.StatusNotFound)
	case p == "/latest/meta-data/iam/security-credentials/":
		fmt.Fprint(w, "nodes.e2e.example.com")
	case p == "/latest/meta-data/iam/security-credentials/nodes.e2e.example.com":
		json.NewEncoder(w).Encode(map[string]string{"Code": "Success", "AccessKeyId": role.AccessKeyID, "SecretAccessKey": role.SecretAccessKey, "Token": role.SessionToken})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (c *cloud) domain() string {
	if c.Domain == "" {
		return "amazonaws.com"
	}
	return c.Domain
}

// storage serves objects to whoever may have them.
func (c *cloud) storage(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>no</Message></Error>", code)
	}
	now := time.Now()
	if c.Fault == "clock" || c.Fault == "clock for ever" {
		now = now.Add(10 * time.Minute)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	}
	if c.isSecretStore(r.Host) {
		c.secrets(w, r, now)
		return
	}
	var key, problem string
	switch c.Provider {
	case "aws":
		var region string
		key, region, problem = c.signed(r, now)
		if problem == "" && c.Region != "" && region != c.Region {
			w.Header().Set("x-amz-bucket-region", c.Region)
			w.Header().Set("Location", "https://elsewhere.example.com/")
			refuse(http.StatusMovedPermanently, "PermanentRedirect")
			return
		}
	case "gce":
		key, problem = gcsObject(r)
	case "azure":
		account, _, _ := strings.Cut(r.Host, ".")
		key = account + r.URL.Path
		if r.Header.Get("Authorization") != "Bearer azure:https://storage.azure.com/" || r.Header.Get("X-Ms-Version") == "" || !strings.HasSuffix(r.Host, ".blob.core.windows.net") {
			problem = "AuthenticationFailed"
		}
	}
	if problem == "" && (c.Fault == "denied" || c.Fault == "late rights" && count("storage") < 3) {
		problem = "AccessDenied"
	}
	if problem == "" && c.Fault == "expired" && count("storage") < 3 {
		problem = "ExpiredToken"
	}
	if problem != "" {
		refuse(http.StatusForbidden, problem)
		return
	}
	if c.Fault == "no bucket" {
		refuse(http.StatusNotFound, "NoSuchBucket")
		return
	}
	data, ok := c.Objects[key]
	if !ok {
		refuse(http.StatusNotFound, "NoSuchKey")
		return
	}
	c.send(w, r, data)
}

func (c *cloud) send(w http.ResponseWriter, r *http.Request, data []byte) {
	size := len(data)
	if c.Fault == "wrong bytes" {
		data = append([]byte("x"), data[1:]...)
	}
	from, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-"))
	status := http.StatusOK
	if r.Header.Get("Range") != "" && c.Fault != "half, always anew" {
		status, data = http.StatusPartialContent, data[from:]
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-1, size))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	if strings.HasPrefix(c.Fault, "half") {
		data = data[:len(data)/2+1]
		if len(data) > 1 {
			w.Write(data)
			panic(http.ErrAbortHandler)
		}
	}
	w.Write(data)
}

// signed signs the request again with AWS's own signer and compares. It returns the object, BUCKET/KEY.
func (c *cloud) signed(r *http.Request, now time.Time) (key, region, problem string) {
	host, service := strings.TrimSuffix(r.Host, "."+c.domain()), "s3"
	if host == r.Host || !strings.HasPrefix(r.Host, strings.Split(host, ".")[0]) {
		return "", "", "WrongDomain"
	}
	bucket, region, dotted := strings.Cut(host, ".s3.")
	if key = bucket + r.URL.Path; !dotted {
		region, key = strings.TrimPrefix(host, "s3."), strings.TrimPrefix(r.URL.Path, "/")
	}
	return key, region, signedFor(r, service, region, now)
}

// signedFor says what is wrong with the request's signature.
func signedFor(r *http.Request, service, region string, now time.Time) (problem string) {
	date, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return "MissingDate"
	}
	if now.Sub(date).Abs() > 5*time.Minute {
		return "RequestTimeTooSkewed"
	}
	again, _ := http.NewRequest(r.Method, "https://"+r.Host+r.URL.EscapedPath(), nil)
	for _, h := range strings.Split(between(r.Header.Get("Authorization"), "SignedHeaders=", ","), ";") {
		if h != "host" && h != "x-amz-date" && h != "x-amz-security-token" {
			again.Header.Set(h, r.Header.Get(h))
		}
	}
	v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
		SignHTTP(context.Background(), role, again, r.Header.Get("X-Amz-Content-Sha256"), service, region, date)
	if a := r.Header.Get("Authorization"); a == "" || a != again.Header.Get("Authorization") || r.Header.Get("X-Amz-Security-Token") != role.SessionToken {
		fmt.Fprintln(os.Stderr, "cloud: got", a, "want", again.Header.Get("Authorization"))
		return "SignatureDoesNotMatch"
	}
	return ""
}

func between(s, start, end string) string {
	_, s, _ = strings.Cut(s, start)
	s, _, _ = strings.Cut(s, end)
	return s
}

// gcsObject is the object that a request of the JSON API is for: GET /storage/v1/b/BUCKET/o/OBJECT?alt=media, where
// OBJECT is one segment of the path.
func gcsObject(r *http.Request) (key, problem string) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/storage/v1/b/"), "/")
	if r.Host != "storage.googleapis.com" || len(parts) != 3 || parts[1] != "o" || r.URL.Query().Get("alt") != "media" {
		return "", "NotTheJSONAPI"
	}
	if r.Header.Get("Authorization") != "Bearer ya29.google" {
		return "", "Unauthorized"
	}
	object, _ := url.PathUnescape(parts[2])
	return parts[0] + "/" + object, ""
}

// hosts are the names that a cloud answers to.
var hosts = []string{
	"kopshook-e2e.s3.eu-central-1.amazonaws.com", "kopshook-e2e.s3.us-gov-west-1.amazonaws.com", "s3.eu-central-1.amazonaws.com",
	"kopshook-e2e.s3.eu-central-1.amazonaws.com.cn", "storage.googleapis.com", "kopshooke2e.blob.core.windows.net", "files.example.com",
	"ssm.eu-central-1.amazonaws.com", "secretsmanager.eu-central-1.amazonaws.com", "secretsmanager.us-east-1.amazonaws.com", "secretmanager.googleapis.com", "kopshook-e2e.vault.azure.net",
}

// prepare writes what the cloud needs into dir: its certificate and its settings.
func (c *cloud) prepare(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "e2e"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), DNSNames: hosts, IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"cert.pem":   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		"key.pem":    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		"cloud.json": settings,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// lives has the cloud around the node from its next boot on; environment is added to /etc/environment.
func (n *node) lives(c *cloud, environment ...string) {
	n.t.Helper()
	dir := filepath.Join(n.Dir(), "trial")
	c.prepare(n.t, dir)
	program, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "ready")); err != nil {
		n.t.Fatal(err)
	}
	// with its loader and libraries: the node's may be older
	copyProgram := `cp --reflink=auto "$1" "$2/cloud"; ldd "$1" | sed -n 's/^[^/]*\(\/[^ ]*\) .*/\1/p' | while read -r f; do cp "$f" "$2"; done; ls "$2"/ld-*`
	out, err := exec.Command("sh", "-ec", copyProgram, "-", program, dir).Output()
	if err != nil {
		n.t.Fatal(err)
	}
	start := "/trial/" + filepath.Base(strings.TrimSpace(string(out))) + " --library-path /trial /trial/cloud"
	for _, f := range []boot.File{
		{Path: "/etc/hosts", Content: []byte("127.0.0.1 localhost " + strings.Join(hosts, " ") + "\n")},
		{Path: "/etc/environment", Content: []byte("SSL_CERT_FILE=/trial/cert.pem\n" + strings.Join(environment, "\n") + "\n")},
		{Path: "/etc/systemd/system/trial-cloud.service", Content: []byte("[Unit]\nDefaultDependencies=no\nBefore=network-online.target\n" +
			"[Service]\nEnvironment=" + cloudFile + "=/trial\nExecStart=" + start + "\n")},
		{Path: "/etc/systemd/system/network-online.target.d/trial-cloud.conf", Content: []byte("[Unit]\nWants=trial-cloud.service\n")},
	} {
		if err := n.WriteFile(f); err != nil {
			n.t.Fatal(err)
		}
	}
}
