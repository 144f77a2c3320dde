// Package fakecloud plays the cloud that a machine runs in: its metadata service, buckets and stores of secrets, under their real
// names, on the machine's own loopback. Tests and `kopshook try` use it. It takes no request of AWS' that AWS' own signer
// would have signed in another way.
package fakecloud

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Cloud is what a machine finds around it. What is asked of the metadata service tells whose cloud it is.
type Cloud struct {
	Region  string            // of the buckets; the machine is in MachineRegion
	Domain  string            // of AWS; "" is amazonaws.com
	Fault   string            // what goes wrong, in tests
	Objects map[string][]byte // by BUCKET/KEY, ACCOUNT/CONTAINER/KEY or HOST/PATH
	Secrets map[string]string // as a spec names them, without #KEY
	Hosts   []string          // the names that it answers to: HostsOf
}

// MachineRegion is where machines are.
const MachineRegion = "eu-central-1"

// HostsOf returns the names of the servers that nodes ask for an address of a bucket or for a secret, as a spec has it.
func HostsOf(address string) []string {
	scheme, name, _ := strings.Cut(address, ":")
	first, _, _ := strings.Cut(strings.TrimPrefix(name, "//"), "/")
	aws := MachineRegion + ".amazonaws.com"
	switch scheme {
	case "s3":
		if strings.Contains(first, ".") {
			return []string{"s3." + aws}
		}
		return []string{first + ".s3." + aws}
	case "gs":
		return []string{"storage.googleapis.com"}
	case "azureblob":
		return []string{first + ".blob.core.windows.net"}
	case "aws-ssm", "aws-secretsmanager":
		if arn := strings.Split(name, ":"); arn[0] == "arn" {
			aws = arn[3] + ".amazonaws.com"
		}
		return []string{strings.TrimPrefix(scheme, "aws-") + "." + aws}
	case "gcp-secretmanager":
		return []string{"secretmanager.googleapis.com"}
	case "azure-keyvault":
		return []string{first + ".vault.azure.net"}
	}
	return nil
}

// Play serves what Prepare has written into dir, until something fails. It needs root, and a network of its own.
func Play(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, settings))
	if err != nil {
		return err
	}
	c := &Cloud{}
	if err := json.Unmarshal(data, c); err != nil {
		return err
	}
	return c.serve(dir)
}

func (c *Cloud) serve(dir string) error {
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

func (c *Cloud) metadata(w http.ResponseWriter, r *http.Request) {
	if c.Fault == "slow metadata" {
		time.Sleep(2 * time.Second)
	}
	if c.Fault == "late metadata" && count("metadata") < 3 {
		panic(http.ErrAbortHandler)
	}
	switch p := r.URL.Path; {
	case r.Host != "169.254.169.254":
		w.WriteHeader(http.StatusBadRequest)
	case p == "/computeMetadata/v1/instance/service-accounts/default/token":
		if r.Header.Get("Metadata-Flavor") != "Google" || c.Fault == "no role" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `{"access_token":"ya29.google","expires_in":3000,"token_type":"Bearer"}`)
	case p == "/computeMetadata/v1/project/project-id" && r.Header.Get("Metadata-Flavor") == "Google":
		fmt.Fprint(w, "e2e-project")
	case p == "/metadata/identity/oauth2/token":
		if r.Header.Get("Metadata") != "true" || r.URL.Query().Get("api-version") != "2018-02-01" || c.Fault == "no role" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"access_token":"azure:%s"}`, r.URL.Query().Get("resource"))
	case p == "/latest/api/token" && r.Method == http.MethodPut && r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") != "":
		fmt.Fprint(w, "T")
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "T":
		w.WriteHeader(http.StatusUnauthorized) // IMDSv1 is off
	case p == "/latest/meta-data/placement/region":
		fmt.Fprint(w, MachineRegion)
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

func (c *Cloud) domain() string {
	if c.Domain == "" {
		return "amazonaws.com"
	}
	return c.Domain
}
