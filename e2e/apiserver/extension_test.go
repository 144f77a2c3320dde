//go:build e2e

package apiserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kopshook.dev/kopshook/internal/kube/kubetest"
)

const extensionNamespace = "test-extension-system"

// An ExtensionConfig leads from a real API server to the server behind its Service: Service, Pods and Secret are asked of it, and the
// port-forward goes through it to the kubelet of the pod's node, which this test plays.
func TestExtensionConfigThroughTheAPIServer(t *testing.T) {
	var mu sync.Mutex
	var asked, forwarded []string
	cert, ca := certificateFor(t, "extension."+extensionNamespace+".svc")
	extension := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/hooks.runtime.cluster.x-k8s.io/v1alpha1/")
		mu.Lock()
		asked = append(asked, path)
		mu.Unlock()
		if path == "discovery" {
			io.WriteString(w, `{"status": "Success", "handlers": [{"name": "gate", "timeoutSeconds": 5, "failurePolicy": "Ignore",
				"requestHook": {"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "BeforeClusterDelete"}}]}`)
			return
		}
		io.WriteString(w, `{"status": "Success"}`)
	}))
	extension.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	extension.StartTLS()
	defer extension.Close()
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		forwarded = append(forwarded, r.URL.Path)
		mu.Unlock()
		kubetest.ServePortForward(w, r)
	}))
	defer kubelet.Close()
	putExtension(t, portOf(t, kubelet), portOf(t, extension), ca)

	a := newAround(t)
	spec := a.write(t, "extensionconfig.yaml", `apiVersion: runtime.cluster.x-k8s.io/v1alpha1
kind: ExtensionConfig
metadata:
  name: printer-extension
  annotations:
    runtime.cluster.x-k8s.io/inject-ca-from-secret: test-extension-system/extension-cert
spec:
  clientConfig:
    service:
      name: extension
      namespace: test-extension-system
`)
	code, done, _, stderr := a.exec(t, spec, nil, "delete", "cluster", clusterName, "--yes")
	if code != 0 || done != "kops delete cluster "+clusterName+" --yes\n" {
		t.Errorf("exit code %d, kops did %q\n%s", code, done, stderr)
	}
	if got := strings.Join(asked, " "); got != "discovery beforeclusterdelete/gate" {
		t.Errorf("the extension was asked for %s", got)
	}
	if got, want := strings.Join(forwarded, " "), "/portForward/"+extensionNamespace+"/ready"; !strings.HasPrefix(got, want) {
		t.Errorf("forwarded to %s, want %s", got, want)
	}
	code, done, stdout, stderr := a.exec(t, spec, []string{"--dry-run"}, "delete", "cluster", clusterName, "--yes")
	for _, want := range []string{"gate.printer-extension", "failurePolicy: Ignore", "timeoutSeconds: 5", "hook: BeforeClusterDelete"} {
		if code != 0 || done != "" || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, kops did %q, no %s in\n%s%s", code, done, want, stdout, stderr)
		}
	}
	t.Run("a user who may not", func(t *testing.T) {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: extensionNamespace, Name: "reader"}}
		must(t)(cluster.client.CoreV1().ServiceAccounts(extensionNamespace).Create(t.Context(), account, metav1.CreateOptions{}))
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: extensionNamespace, Name: "reader"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"services", "pods", "secrets"}, Verbs: []string{"get", "list"}}}}
		must(t)(cluster.client.RbacV1().Roles(extensionNamespace).Create(t.Context(), role, metav1.CreateOptions{}))
		must(t)(cluster.client.RbacV1().RoleBindings(extensionNamespace).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: extensionNamespace, Name: "reader"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: extensionNamespace, Name: "reader"}}}, metav1.CreateOptions{}))
		config := func(user string) {
			a.write(t, "kubeconfig", fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]\n"+
				"users: [{name: u, user: {token: admin-token, as: %q}}]\ncontexts: [{name: other, context: {cluster: c, user: u}}]\ncurrent-context: other\n", cluster.config.Host, user))
		}
		config("system:serviceaccount:" + extensionNamespace + ":reader")
		code, done, _, stderr := a.exec(t, spec, nil, "delete", "cluster", clusterName, "--yes")
		if want := "cannot create resource \"pods/portforward\""; code != 125 || done != "" || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, kops did %q, want %s in\n%s", code, done, want, stderr)
		}
		config("nobody")
		code, done, _, stderr = a.exec(t, spec, nil, "delete", "cluster", clusterName, "--yes")
		if want := "cannot get Secret test-extension-system/extension-cert from context \"other\": 403 Forbidden"; code != 125 || done != "" || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, kops did %q, want %s in\n%s", code, done, want, stderr)
		}
	})
}

// putExtension makes the objects that people have for an extension server, with a pod that is ready and one that is not.
func putExtension(t *testing.T, kubelet, extension int, ca []byte) {
	t.Helper()
	ctx, core := t.Context(), cluster.client.CoreV1()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "played"}}
	must(t)(core.Nodes().Create(ctx, node, metav1.CreateOptions{}))
	node, err := core.Nodes().Get(ctx, "played", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(kubelet)
	must(t)(core.Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}))
	must(t)(core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: extensionNamespace}}, metav1.CreateOptions{}))
	eventually(t, func() error {
		_, err := core.ServiceAccounts(extensionNamespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	must(t)(core.Secrets(extensionNamespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "extension-cert"}, Data: map[string][]byte{"ca.crt": ca}}, metav1.CreateOptions{}))
	must(t)(core.Services(extensionNamespace).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "extension"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "extension"}, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromString("webhook")}}}}, metav1.CreateOptions{}))
	for _, name := range []string{"not-ready", "ready"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "extension"}}, Spec: corev1.PodSpec{NodeName: "played",
			Containers: []corev1.Container{{Name: "server", Image: "extension", Ports: []corev1.ContainerPort{{Name: "webhook", ContainerPort: int32(extension)}}}}}}
		must(t)(core.Pods(extensionNamespace).Create(ctx, pod, metav1.CreateOptions{}))
		pod, err := core.Pods(extensionNamespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[name == "ready"]}}
		must(t)(core.Pods(extensionNamespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}))
	}
	t.Cleanup(func() { // other tests count nodes; the test's own context has ended
		if err := core.Nodes().Delete(context.Background(), "played", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// must fails the test for the error of a call that returns an object too.
func must(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func portOf(t *testing.T, s *httptest.Server) int {
	t.Helper()
	_, text, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// certificateFor makes a certificate for a name, which is its own CA.
func certificateFor(t *testing.T, name string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
