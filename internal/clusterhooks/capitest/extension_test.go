package capitest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/exp/runtime/catalog"
	"sigs.k8s.io/cluster-api/exp/runtime/server"
)

// The program under test, and a stand-in for an API server.
var kopshook, standin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "capitest")
	if err != nil {
		panic(err)
	}
	kopshook, standin = filepath.Join(dir, "kopshook"), filepath.Join(dir, "standin")
	for program, source := range map[string]string{kopshook: ".", standin: "./internal/kube/kubetest/standin"} {
		build := exec.Command("go", "build", "-o", program, source)
		build.Dir = filepath.Join("..", "..", "..")
		build.Env = append(os.Environ(), "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// kops is a stand-in that knows one cluster, and notes what it is asked to do.
const kops = `#!/bin/sh
case "$1 $2" in
"get cluster") cat "$CLUSTER_JSON" ;;
"upgrade cluster") case "$*" in
  *--yes*) echo "kops $*" >> "$DONE" ;;
  *) printf 'ITEM\tPROPERTY\tOLD\tNEW\nCluster\tKubernetesVersion\t1.35.4\t1.36.1\n' ;;
  esac ;;
*) echo "kops $*" >> "$DONE" ;;
esac
`

const clusterJSON = `{
  "apiVersion": "kops.k8s.io/v1alpha2",
  "kind": "Cluster",
  "metadata": {"name": "main.example.com", "labels": {"env": "prod"}, "annotations": {"team": "infra"}},
  "spec": {
    "kubernetesVersion": "1.35.4",
    "masterPublicName": "api.main.example.com",
    "nonMasqueradeCIDR": "100.64.0.0/10",
    "podCIDR": "100.96.0.0/11",
    "serviceClusterIPRange": "100.64.0.0/13",
    "clusterDNSDomain": "cluster.local"
  }
}
`

// extension is a server built with Cluster API's own runtime server. It notes every request that it gets.
type extension struct {
	*server.Server
	dir string
	url string
	ca  string // base64 of PEM

	mu   sync.Mutex
	seen []any
}

func (e *extension) note(request any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, request)
}

// newExtension makes a server that is not started yet. With client certificates it wants one of its own CA.
func newExtension(t *testing.T, clientCertificates bool) *extension {
	t.Helper()
	e := &extension{dir: t.TempDir()}
	e.ca = base64.StdEncoding.EncodeToString(certificates(t, e.dir))
	c := catalog.New()
	if err := hooksv1.AddToCatalog(c); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	e.url = fmt.Sprintf("https://127.0.0.1:%d", port)
	options := server.Options{Catalog: c, Host: "127.0.0.1", Port: port, CertDir: e.dir}
	if clientCertificates {
		options.ClientCAName = "ca.crt"
	}
	if e.Server, err = server.New(options); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *extension) handle(t *testing.T, name string, hook catalog.Hook, handler catalog.Hook, options ...func(*server.ExtensionHandler)) {
	t.Helper()
	h := server.ExtensionHandler{Hook: hook, Name: name, HandlerFunc: handler}
	for _, o := range options {
		o(&h)
	}
	if err := e.AddExtensionHandler(h); err != nil {
		t.Fatal(err)
	}
}

// start serves until the test ends.
func (e *extension) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(e.url, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			conn.Close()
			return
		}
		select {
		case err := <-done:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// certificates writes a CA (ca.crt), a server certificate (tls.crt, tls.key) and a client certificate (client.crt,
// client.key) to dir, and returns the CA.
func certificates(t *testing.T, dir string) []byte {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	write := func(name, kind string, der []byte) []byte {
		b := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		must(os.WriteFile(filepath.Join(dir, name), b, 0o600))
		return b
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	}
	ca := template(1, "ca")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	must(err)
	caPEM := write("ca.crt", "CERTIFICATE", der)
	for i, name := range []string{"tls", "client"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(err)
		leaf := template(int64(i+2), name)
		leaf.KeyUsage = x509.KeyUsageDigitalSignature
		leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		leaf.DNSNames = []string{serviceName + "." + serviceNamespace + ".svc"}
		der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
		must(err)
		write(name+".crt", "CERTIFICATE", der)
		der, err = x509.MarshalECPrivateKey(key)
		must(err)
		write(name+".key", "EC PRIVATE KEY", der)
	}
	return caPEM
}

// outcome is what a run of kopshook exec did.
type outcome struct {
	exit   int
	stdout string
	stderr string
	done   string // what kops was asked to do
	report struct {
		Steps []struct {
			Name, Event, Status, Message string
			Attempts                     int
		}
	}
}

// run runs kopshook exec with the extension around a kops command.
func (e *extension) run(t *testing.T, more string, args ...string) outcome {
	t.Helper()
	return runExec(t, fmt.Sprintf(`apiVersion: kopshook.dev/v1alpha1
kind: ClusterHooks
metadata:
  name: extensions
spec:
  selector: {}
  extensions:
  - name: printer
    clientConfig:
      url: %s
      caBundle: %s
%s`, e.url, e.ca, more), "", nil, args...)
}

// runExec runs kopshook exec with a spec, a kubeconfig and more options around a kops command.
func runExec(t *testing.T, spec, kubeconfig string, options []string, args ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	command := []string{"exec", "--work-dir", filepath.Join(dir, "work"), "--report", filepath.Join(dir, "report.json"), "--max-wait", "20s", "-f", write("spec.yaml", spec, 0o600)}
	command = append(append(command, options...), "--", write("kops", kops, 0o700))
	cmd := exec.Command(kopshook, append(command, args...)...)
	cmd.Env = append(os.Environ(), "CLUSTER_JSON="+write("cluster.json", clusterJSON, 0o600), "DONE="+filepath.Join(dir, "done"), "HOME="+dir, "KUBECONFIG="+kubeconfig)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	o := outcome{exit: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	if o.exit < 0 {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "done")); err == nil {
		o.done = string(b)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "report.json")); err == nil {
		if err := json.Unmarshal(b, &o.report); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// wantCluster is the Cluster object that the stand-in's cluster becomes.
func wantCluster(version string) clusterv1.Cluster {
	return clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: "main.example.com", Namespace: "default", Labels: map[string]string{"env": "prod"}, Annotations: map[string]string{"team": "infra"}},
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: &clusterv1.ClusterNetwork{
				Pods:          &clusterv1.NetworkRanges{CIDRBlocks: []string{"100.96.0.0/11"}},
				Services:      &clusterv1.NetworkRanges{CIDRBlocks: []string{"100.64.0.0/13"}},
				ServiceDomain: "cluster.local",
			},
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "api.main.example.com", Port: 443},
			Topology:             &clusterv1.Topology{Class: "kops", Version: version},
		},
	}
}

func request(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Kind: kind}
}

// printer handles all lifecycle hooks, as the extension of Cluster API's own guide does.
func printer(t *testing.T) *extension {
	e := newExtension(t, false)
	ok := func(r hooksv1.ResponseObject) { r.SetStatus(hooksv1.ResponseStatusSuccess) }
	e.handle(t, "before-cluster-create", hooksv1.BeforeClusterCreate, func(_ context.Context, q *hooksv1.BeforeClusterCreateRequest, r *hooksv1.BeforeClusterCreateResponse) {
		e.note(q)
		ok(r)
	})
	e.handle(t, "after-control-plane-initialized", hooksv1.AfterControlPlaneInitialized, func(_ context.Context, q *hooksv1.AfterControlPlaneInitializedRequest, r *hooksv1.AfterControlPlaneInitializedResponse) {
		e.note(q)
		ok(r)
	})
	e.handle(t, "before-cluster-upgrade", hooksv1.BeforeClusterUpgrade, func(_ context.Context, q *hooksv1.BeforeClusterUpgradeRequest, r *hooksv1.BeforeClusterUpgradeResponse) {
		e.note(q)
		ok(r)
	})
	e.handle(t, "after-control-plane-upgrade", hooksv1.AfterControlPlaneUpgrade, func(_ context.Context, q *hooksv1.AfterControlPlaneUpgradeRequest, r *hooksv1.AfterControlPlaneUpgradeResponse) {
		e.note(q)
		ok(r)
	})
	e.handle(t, "after-cluster-upgrade", hooksv1.AfterClusterUpgrade, func(_ context.Context, q *hooksv1.AfterClusterUpgradeRequest, r *hooksv1.AfterClusterUpgradeResponse) {
		e.note(q)
		ok(r)
	})
	e.handle(t, "before-cluster-delete", hooksv1.BeforeClusterDelete, func(_ context.Context, q *hooksv1.BeforeClusterDeleteRequest, r *hooksv1.BeforeClusterDeleteResponse) {
		e.note(q)
		ok(r)
	})
	e.start(t)
	return e
}
