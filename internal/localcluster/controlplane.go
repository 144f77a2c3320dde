package localcluster

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// update has kops make the cluster's state and its machines' user data of a manifest, as `kops update cluster` does for
// Terraform: nothing is asked of a cloud for that.
func (c *Cluster) update(ctx context.Context, manifest []byte, kopsVersion string) error {
	if err := os.WriteFile(c.path("manifest.yaml"), manifest, 0o644); err != nil {
		return err
	}
	cni, err := c.mirror.sum("/cni.tgz")
	if err != nil {
		return err
	}
	mirror := "http://" + mirrorAddress
	env := []string{
		"KOPS_STATE_STORE=s3://" + bucketName, "KOPS_CLUSTER_NAME=" + Name, "KOPS_BASE_URL=" + mirror + "/kops/" + kopsVersion + "/",
		"CNI_VERSION_URL=" + mirror + "/cni.tgz", "CNI_ASSET_HASH_STRING=" + cni,
	}
	if _, err := c.output(ctx, "kops", env, "create", "-f", c.path("manifest.yaml")); err != nil {
		return err
	}
	dir := c.path("terraform")
	if _, err := c.output(ctx, "kops", env, "update", "cluster", "--target=terraform", "--out="+dir, "--yes"); err != nil {
		return err
	}
	c.userData = func(group string) ([]byte, error) {
		return os.ReadFile(filepath.Join(dir, "data", "hcloud_server_"+group+"_user_data"))
	}
	return c.applyTerraform(dir)
}

// applyTerraform puts the objects of kops' Terraform configuration into the state store.
func (c *Cluster) applyTerraform(dir string) error {
	terraformObject := regexp.MustCompile(`(?s)resource "aws_s3_object" "[^"]*" \{(.*?)\n\}`)
	terraformKey := regexp.MustCompile(`\n\s*key\s*=\s*"([^"]*)"`)
	terraformFile := regexp.MustCompile(`content\s*=\s*file\("\$\{path.module\}/([^"]*)"\)`)
	text, err := os.ReadFile(filepath.Join(dir, "kubernetes.tf"))
	if err != nil {
		return err
	}
	objects := terraformObject.FindAllSubmatch(text, -1)
	if len(objects) == 0 {
		return errors.New("kops wrote no objects for the state store")
	}
	for _, o := range objects {
		key, file := terraformKey.FindSubmatch(o[1]), terraformFile.FindSubmatch(o[1])
		if key == nil || file == nil {
			return fmt.Errorf("an object that kops wrote has no key or no file: %s", o[0])
		}
		content, err := os.ReadFile(filepath.Join(dir, string(file[1])))
		if err != nil {
			return err
		}
		c.bucket.put(string(key[1]), content)
	}
	return nil
}

// stored reads an object of the cluster's in the state store.
func (c *Cluster) stored(key string) ([]byte, error) {
	data, ok := c.bucket.get(Name + "/" + key)
	if !ok {
		return nil, fmt.Errorf("the state store has no %s", key)
	}
	return data, nil
}

// keys lays out the key pairs as a control-plane node has them, in the folder pki.
func (c *Cluster) keys() error {
	if err := os.Mkdir(c.path("pki"), 0o700); err != nil {
		return err
	}
	ids := map[string]string{}
	write := func(name string, p *keyPair) error {
		return errors.Join(os.WriteFile(c.path("pki/"+name+".crt"), p.certPEM, 0o600), os.WriteFile(c.path("pki/"+name+".key"), p.keyPEM, 0o600))
	}
	for _, name := range []string{"kubernetes-ca", "service-account"} {
		data, err := c.stored("pki/private/" + name + "/keyset.yaml")
		if err != nil {
			return err
		}
		pair, err := keyset(data)
		if err != nil {
			return fmt.Errorf("key set %s: %w", name, err)
		}
		ids[name] = pair.id
		if err := write(name, pair); err != nil {
			return err
		}
		if name == "kubernetes-ca" {
			c.ca = pair
		}
	}
	text, err := yaml.Marshal(ids)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path("pki/keypair-ids.yaml"), text, 0o600); err != nil {
		return err
	}
	masters := []string{"system:masters"}
	for name, r := range map[string]request{
		"kops-controller": {name: "kops-controller", hosts: []string{controllerName}, usage: x509.ExtKeyUsageServerAuth},
		"server":          {name: "kubernetes-master", hosts: []string{apiName, "kubernetes.default", "127.0.0.1", address, serviceAddress}, usage: x509.ExtKeyUsageServerAuth},
		"kubelet-api":     {name: "kubelet-api", groups: masters, usage: x509.ExtKeyUsageClientAuth},
		"manager":         {name: "manager", groups: masters, usage: x509.ExtKeyUsageClientAuth},
	} {
		pair, err := c.ca.issue(r)
		if err != nil {
			return err
		}
		if err := write(name, pair); err != nil {
			return err
		}
	}
	return os.WriteFile(c.path("kubeconfig"), fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority: pki/kubernetes-ca.crt}}]
users: [{name: u, user: {client-certificate: pki/manager.crt, client-key: pki/manager.key}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: kube-system}}]
current-context: c
`, URL), 0o600)
}

// serviceAddress is the API server's in the cluster: the first of the service network.
const serviceAddress = "100.64.0.1"

// startControlPlane starts etcd, the API server, the controllers, the scheduler and kops-controller.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	if err := c.keys(); err != nil {
		return err
	}
	if err := c.newClient(); err != nil {
		return err
	}
	pki := func(name string) string { return c.path("pki/" + name) }
	if err := c.begin("etcd", nil, "--data-dir", c.path("etcd"), "--listen-client-urls", "http://"+etcdAddress, "--advertise-client-urls", "http://"+etcdAddress,
		"--listen-peer-urls", "http://"+etcdPeers, "--initial-advertise-peer-urls", "http://"+etcdPeers, "--initial-cluster", "default=http://"+etcdPeers, "--unsafe-no-fsync"); err != nil {
		return err
	}
	issuer := "https://" + apiName
	if err := c.begin("kube-apiserver", nil, "--etcd-servers", "http://"+etcdAddress, "--bind-address", address, "--advertise-address", address, "--secure-port", "443",
		"--tls-cert-file", pki("server.crt"), "--tls-private-key-file", pki("server.key"), "--client-ca-file", pki("kubernetes-ca.crt"),
		"--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction", "--allow-privileged",
		"--kubelet-client-certificate", pki("kubelet-api.crt"), "--kubelet-client-key", pki("kubelet-api.key"), "--kubelet-preferred-address-types", "InternalIP",
		"--service-account-issuer", issuer, "--service-account-key-file", pki("service-account.key"), "--service-account-signing-key-file", pki("service-account.key"),
		"--service-cluster-ip-range", "100.64.0.0/13", "--cert-dir", c.path("apiserver")); err != nil {
		return err
	}
	if err := c.answers(ctx, "kube-apiserver", URL+"/readyz", c.client); err != nil {
		return err
	}
	if err := c.begin("kube-controller-manager", nil, "--kubeconfig", c.path("kubeconfig"), "--leader-elect=false", "--secure-port", "0",
		"--controllers", "daemonset-controller,serviceaccount-controller,root-ca-certificate-publisher-controller,garbage-collector-controller,taint-eviction-controller,node-lifecycle-controller",
		"--root-ca-file", pki("kubernetes-ca.crt")); err != nil {
		return err
	}
	if err := c.begin("kube-scheduler", nil, "--kubeconfig", c.path("kubeconfig"), "--leader-elect=false", "--secure-port", "0"); err != nil {
		return err
	}
	return c.startController(ctx)
}

// startController starts kops-controller with the configuration that kops made for it; its files are in other places.
func (c *Cluster) startController(ctx context.Context) error {
	addon, err := c.stored("addons/kops-controller.addons.k8s.io/k8s-1.16.yaml")
	if err != nil {
		return err
	}
	var config string
	for doc := range bytes.SplitSeq(addon, []byte("\n---\n")) {
		var object struct {
			Kind string
			Data map[string]string
		}
		if err := yaml.Unmarshal(doc, &object); err != nil {
			return err
		}
		if object.Kind == "ConfigMap" && object.Data["config.yaml"] != "" {
			config = object.Data["config.yaml"]
		}
	}
	if config == "" {
		return errors.New("kops' addon of kops-controller has no configuration")
	}
	config = strings.ReplaceAll(config, "/etc/kubernetes/kops-controller/pki", c.path("pki"))
	if err := os.WriteFile(c.path("kops-controller.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	if err := c.begin("kops-controller", []string{"KUBECONFIG=" + c.path("kubeconfig")}, "--v=2", "--conf="+c.path("kops-controller.yaml")); err != nil {
		return err
	}
	return c.answers(ctx, "kops-controller", "https://"+address+":3988/healthz", &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: c.net.dial, TLSClientConfig: c.trusts(controllerName),
	}})
}

// answers waits until a program says that it is ready.
func (c *Cluster) answers(ctx context.Context, name, url string, client *http.Client) error {
	ctx, stop := context.WithTimeout(ctx, 3*time.Minute)
	defer stop()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err == nil {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(answer.Status)
		}
		select {
		case <-ctx.Done():
			log := c.Log(name)
			return fmt.Errorf("%s does not become ready: %w\n%s", name, err, log[max(0, len(log)-4000):])
		case <-time.After(200 * time.Millisecond):
		}
	}
}
