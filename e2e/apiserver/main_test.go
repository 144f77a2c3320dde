//go:build e2e

package apiserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// The cluster of all tests, which have an addon each.
var cluster struct {
	config  *rest.Config
	client  kubernetes.Interface
	dynamic dynamic.Interface
	dir     string
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/apiserver:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if cluster.dir, err = os.MkdirTemp("", "kopshook-apiserver-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(cluster.dir)
	ctx, stop := context.WithTimeout(context.Background(), 15*time.Minute)
	defer stop()
	end, err := startCluster(ctx)
	defer end()
	if err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// mapper learns the server's kinds anew, as kops-channels does for each run.
func mapper() *restmapper.DeferredDiscoveryRESTMapper {
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(cluster.client.Discovery()))
}

// startCluster starts etcd, the API server and the controllers. end stops what was started.
func startCluster(ctx context.Context) (end func(), err error) {
	var running []*program
	end = func() {
		for i := len(running) - 1; i >= 0; i-- {
			running[i].stop()
		}
	}
	start := func(name string, args ...string) error {
		p, err := startProgram(ctx, name, args...)
		if err == nil {
			running = append(running, p)
		}
		return err
	}
	path := func(name string) string { return filepath.Join(cluster.dir, name) }
	etcd, peers, api := freePort(), freePort(), freePort()
	if err := start("etcd", "--data-dir", path("etcd"), "--listen-client-urls", etcd.url("http"), "--advertise-client-urls", etcd.url("http"),
		"--listen-peer-urls", peers.url("http"), "--initial-advertise-peer-urls", peers.url("http"), "--initial-cluster", "default="+peers.url("http"), "--unsafe-no-fsync"); err != nil {
		return end, err
	}
	if err := writeKey(path("key")); err != nil {
		return end, err
	}
	if err := os.WriteFile(path("tokens"), []byte("admin-token,admin,1,system:masters\n"), 0o600); err != nil {
		return end, err
	}
	if err := start("kube-apiserver", "--etcd-servers", etcd.url("http"), "--bind-address", "127.0.0.1", "--secure-port", api.number(),
		"--cert-dir", path("certs"), "--token-auth-file", path("tokens"), "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", path("key"),
		"--service-account-signing-key-file", path("key"), "--service-cluster-ip-range", "10.0.0.0/24"); err != nil {
		return end, err
	}
	cluster.config = &rest.Config{Host: api.url("https"), BearerToken: "admin-token", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 100, Burst: 200}
	if cluster.client, err = kubernetes.NewForConfig(cluster.config); err != nil {
		return end, err
	}
	if cluster.dynamic, err = dynamic.NewForConfig(cluster.config); err != nil {
		return end, err
	}
	if err := waitFor(ctx, 2*time.Minute, func() error {
		_, err := cluster.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	}); err != nil {
		return end, fmt.Errorf("kube-apiserver does not become ready: %w\n%s", err, running[1].tail())
	}
	kubeconfig, err := writeKubeconfig("admin", "admin-token")
	if err != nil {
		return end, err
	}
	return end, start("kube-controller-manager", "--kubeconfig", kubeconfig, "--leader-elect=false", "--use-service-account-credentials=false",
		"--bind-address", "127.0.0.1", "--secure-port", "0",
		"--kube-api-qps", "500", "--kube-api-burst", "1000", // of many tests at once
		"--controllers", "daemonset-controller,job-controller,serviceaccount-controller,garbage-collector-controller")
}

// program is a process that runs beside the tests.
type program struct {
	cmd *exec.Cmd
	log string
}

// startProgram starts a program of the folder that make names, or of PATH.
func startProgram(ctx context.Context, name string, args ...string) (*program, error) {
	path := filepath.Join(os.Getenv("KOPSHOOK_PROGRAMS"), name)
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(name); err != nil {
			return nil, fmt.Errorf("%w: run make e2e-apiserver", err)
		}
	}
	log, err := os.CreateTemp(cluster.dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, cluster.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &program{cmd, log.Name()}, nil
}

func (p *program) stop() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// tail is the end of what the program printed.
func (p *program) tail() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-4000):])
}

type port int

// freePort is a port of the loopback device that nobody listens on.
func freePort() port {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return port(l.Addr().(*net.TCPAddr).Port)
}

func (p port) number() string           { return fmt.Sprint(int(p)) }
func (p port) url(scheme string) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, int(p)) }

func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// writeKubeconfig is for programs that are told by a file who they are.
func writeKubeconfig(name, token string) (string, error) {
	path := filepath.Join(cluster.dir, name+".kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %q}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
`, cluster.config.Host, token)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// waitFor tries until it succeeds.
func waitFor(ctx context.Context, limit time.Duration, try func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func eventually(t *testing.T, try func() error) {
	t.Helper()
	if err := waitFor(t.Context(), time.Minute, try); err != nil {
		t.Fatal(err)
	}
}
