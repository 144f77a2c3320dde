package localcluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"text/template"
	"time"

	"kopshook.dev/kopshook/internal/boot"
)

// Name is the cluster's.
const Name = "real.example.com"

// Addresses in the cluster's network namespace.
const (
	address       = "10.9.0.1"
	apiServer     = address + ":443"
	mirrorAddress = address + ":8080"
	proxyAddress  = address + ":3128"
	bucketAddress = address + ":9000"
	etcdAddress   = "127.0.0.1:2379"
	etcdPeers     = "127.0.0.1:2380"
	metadata      = "169.254.169.254"

	bucketName = "kops-state"
	region     = "us-east-1"
)

// Proxy is an egress proxy that nodes reach, and that leads to the cloud's API alone.
const Proxy = "http://" + proxyAddress

// apiName and controllerName are what nodes call the control plane.
const (
	apiName        = "api.internal." + Name
	controllerName = "kops-controller.internal." + Name
)

// Config says what a cluster is made of.
type Config struct {
	// Programs is a folder of kops, nodeup, kops-controller, kube-apiserver, kube-controller-manager, kube-scheduler,
	// kubelet, containerd, containerd-shim-runc-v2, ctr, runc, bridge, host-local, loopback, portmap, and etcd, which may
	// be in PATH instead.
	Programs string
	// Groups are manifests of instance groups, for the cluster called Name. One of the name control-plane is the control
	// plane's; without, it has one that no machine is booted of.
	Groups []byte
	// Progress gets a line for what takes a while; nil means nobody wants to know.
	Progress io.Writer
}

// Cluster is a control plane that nodes can join.
type Cluster struct {
	config   Config
	dir      string
	net      *netns
	bucket   *bucket
	mirror   *mirror
	servers  *servers
	ca       *keyPair // of the cluster
	cloudCA  *keyPair // of the proxy in front of the cloud's API
	running  []*program
	mu       sync.Mutex
	closers  []io.Closer
	client   *http.Client
	userData func(group string) ([]byte, error)
}

// Programs that a cluster runs, and that its nodes do. A node runs what its nodeup downloads.
var needed = []string{
	"kops", "nodeup", "kops-controller", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet",
	"containerd", "containerd-shim-runc-v2", "ctr", "runc", "bridge", "host-local", "loopback", "portmap",
}

// Missing says what this machine lacks for a control plane, one item a line, each with its remedy; empty means nothing.
func Missing(programs string) []string {
	var lacks, missing []string
	for _, name := range needed {
		if info, err := os.Stat(filepath.Join(programs, name)); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) > 0 {
		missing = append(missing, fmt.Sprintf("%s in %s: in a clone of kopshook, (cd e2e/programs && go run .) builds them and prints their folder", strings.Join(lacks, ", "), programs))
	}
	if _, err := findProgram(programs, "etcd"); err != nil {
		missing = append(missing, "etcd: install it with apt-get install etcd-server")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		missing = append(missing, "ip: install it with apt-get install iproute2")
	}
	return missing
}

// Start has kops make the cluster, and starts its control plane. It takes some twenty seconds. Close ends it.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	if config.Progress == nil {
		config.Progress = io.Discard
	}
	var err error
	if config.Programs, err = filepath.Abs(config.Programs); err != nil {
		return nil, err
	}
	if missing := Missing(config.Programs); len(missing) > 0 {
		return nil, errors.New(strings.Join(missing, "; "))
	}
	fmt.Fprintln(config.Progress, "starting the control plane of a kops cluster")
	c := &Cluster{config: config, bucket: &bucket{name: bucketName, objects: map[string][]byte{}}, servers: &servers{}}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	var err error
	if c.dir, err = os.MkdirTemp("", "kopshook-cluster-"); err != nil {
		return err
	}
	versions, err := c.versions(ctx)
	if err != nil {
		return err
	}
	if c.mirror, err = newMirror(c.config.Programs, versions["kops"]); err != nil {
		return err
	}
	if err := c.startNetwork(); err != nil {
		return err
	}
	if err := c.startCloud(); err != nil {
		return err
	}
	manifest, err := c.manifest(versions)
	if err != nil {
		return err
	}
	if err := c.update(ctx, manifest, versions["kops"]); err != nil {
		return err
	}
	return c.startControlPlane(ctx)
}

// versions asks the programs for theirs.
func (c *Cluster) versions(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	for name, question := range map[string]struct{ argument, before string }{
		"kops": {"version", "Client version: "}, "containerd": {"--version", "containerd "}, "runc": {"--version", "runc version "},
	} {
		out, err := c.output(ctx, name, nil, question.argument)
		if err != nil {
			return nil, err
		}
		_, text, ok := strings.Cut(string(out), question.before)
		fields := strings.Fields(text)
		if name == "containerd" { // containerd PACKAGE VERSION COMMIT
			_, text, _ = strings.Cut(string(out), " ")
			fields = strings.Fields(text)
			if ok = len(fields) > 1; ok {
				fields = fields[1:]
			}
		}
		if !ok || len(fields) == 0 {
			return nil, fmt.Errorf("%s %s does not say its version: %s", name, question.argument, out)
		}
		versions[name] = strings.TrimPrefix(fields[0], "v")
	}
	return versions, nil
}

// startNetwork makes the control plane's end of the cluster's network.
func (c *Cluster) startNetwork() error {
	var err error
	if c.net, err = newNetns(); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"addr", "add", metadata + "/32", "dev", "lo"},
		{"link", "add", "name", "nodes", "type", "bridge"},
		{"addr", "add", address + "/16", "dev", "nodes"},
		{"link", "set", "nodes", "up"},
		{"route", "add", "default", "dev", "nodes"},
	} {
		if err := c.net.ip(args...); err != nil {
			return err
		}
	}
	return nil
}

// startCloud starts what stands for a cloud.
func (c *Cluster) startCloud() error {
	var err error
	if c.cloudCA, err = newCA("cloud"); err != nil {
		return err
	}
	if err := os.WriteFile(c.path("cloud-ca.crt"), c.cloudCA.certPEM, 0o644); err != nil {
		return err
	}
	proxy, err := c.servers.proxy(c.cloudCA)
	if err != nil {
		return err
	}
	for at, handler := range map[string]http.Handler{
		mirrorAddress: c.mirror, bucketAddress: c.bucket, proxyAddress: proxy, metadata + ":80": http.HandlerFunc(c.servers.metadata),
	} {
		l, err := c.net.listen(at)
		if err != nil {
			return err
		}
		c.closers = append(c.closers, l)
		go http.Serve(l, handler)
	}
	return nil
}

var (
	//go:embed cluster.yaml
	clusterTemplate string
	//go:embed controlplane.yaml
	controlPlaneTemplate string
)

// ControlPlane is the name of the control plane's instance group.
const ControlPlane = "control-plane"

// manifest is what kops is given.
func (c *Cluster) manifest(versions map[string]string) ([]byte, error) {
	text := clusterTemplate
	if !bytes.Contains(c.config.Groups, []byte("\n  name: "+ControlPlane+"\n")) {
		text += "---\n" + controlPlaneTemplate
	}
	t, err := template.New("cluster.yaml").Funcs(template.FuncMap{"sum": c.mirror.sum}).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if err := t.Execute(&buf, map[string]any{
		"Name": Name, "Mirror": "http://" + mirrorAddress, "Bucket": bucketName, "Kubernetes": kubernetesVersion,
		"Containerd": versions["containerd"], "Runc": versions["runc"],
	}); err != nil {
		return nil, err
	}
	buf.WriteString("---\n")
	buf.Write(c.config.Groups)
	return buf.Bytes(), nil
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

// Client talks to the API server as an administrator, in the cluster's network.
func (c *Cluster) Client() *http.Client { return c.client }

// URL is the API server's, for Client.
const URL = "https://" + apiServer

func (c *Cluster) newClient() error {
	admin, err := c.ca.issue(request{name: "admin", groups: []string{"system:masters"}, usage: x509.ExtKeyUsageClientAuth})
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(admin.certPEM, admin.keyPEM)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.ca.cert)
	c.client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialContext: c.net.dial, TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: roots},
	}}
	return nil
}

// NewNode makes a machine of an instance group that has not booted yet. Of config, the user data, the instance id and
// the network are the cluster's. The name is the node's.
func (c *Cluster) NewNode(ctx context.Context, group string, config boot.Config) (m *boot.Machine, name string, err error) {
	data, err := c.userData(group)
	if err != nil {
		return nil, "", err
	}
	s := c.servers.add(group)
	n, err := c.connect(s)
	if err != nil {
		return nil, "", err
	}
	config.UserData, config.InstanceID = data, fmt.Sprint(s.ID)
	config.Join = &boot.Join{Name: s.Name, Network: n.path(), Hosts: fmt.Sprintf("127.0.0.1 localhost\n%s %s\n%s %s %s\n", s.Address, s.Name, address, apiName, controllerName)}
	m, err = boot.New(ctx, config)
	return m, s.Name, err
}

// connect makes the network namespace of a server.
func (c *Cluster) connect(s server) (*netns, error) {
	n, err := newNetns()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.closers = append(c.closers, closer(n.close))
	c.mu.Unlock()
	device := fmt.Sprintf("node%d", s.ID)
	if err := c.net.ip("link", "add", "name", device, "type", "veth", "peer", "name", "eth0", "netns", n.path()); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"link", "set", device, "master", "nodes"}, {"link", "set", device, "up"}} {
		if err := c.net.ip(args...); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{
		{"link", "set", "eth0", "up"}, {"addr", "add", s.Address + "/16", "dev", "eth0"}, {"route", "add", "default", "via", address},
	} {
		if err := n.ip(args...); err != nil {
			return nil, err
		}
	}
	return n, nil
}

type closer func()

func (f closer) Close() error {
	f()
	return nil
}

// Close ends everything that Start started and removes its files. Nodes must not run any more.
func (c *Cluster) Close() error {
	for i := len(c.running) - 1; i >= 0; i-- {
		c.running[i].stop()
	}
	for i := len(c.closers) - 1; i >= 0; i-- {
		c.closers[i].Close()
	}
	if c.net != nil {
		c.net.close()
	}
	if c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}

// UserData is what kops gives the machines of an instance group.
func (c *Cluster) UserData(group string) ([]byte, error) { return c.userData(group) }
