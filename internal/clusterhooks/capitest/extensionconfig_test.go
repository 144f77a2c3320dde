package capitest

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/yaml"
)

const (
	serviceNamespace = "test-extension-system"
	serviceName      = "test-extension-webhook-service"
)

// TestExtensionConfig calls Cluster API's own server by ExtensionConfigs that are made of Cluster API's own types.
func TestExtensionConfig(t *testing.T) {
	e := printer(t)
	kubeconfig := e.behindService(t)
	ca, err := base64.StdEncoding.DecodeString(e.ca)
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Name: "printer-extension", UID: "1", ResourceVersion: "2", Generation: 3, CreationTimestamp: metav1.Now(),
		Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}
	injected := *meta.DeepCopy()
	injected.Annotations = map[string]string{runtimev1.InjectCAFromSecretAnnotation: serviceNamespace + "/test-extension-webhook-service-cert"}
	all := &metav1.LabelSelector{}
	prod := &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}, MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "env", Operator: metav1.LabelSelectorOpIn, Values: []string{"test", "prod"}}, {Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist},
		{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"kube-system"}}}}
	elsewhere := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: []string{"ns-lifecycle-hooks"}}}}
	beta := metav1.TypeMeta{APIVersion: runtimev1.GroupVersion.String(), Kind: "ExtensionConfig"}
	alpha := metav1.TypeMeta{APIVersion: runtimev1alpha1.GroupVersion.String(), Kind: "ExtensionConfig"}
	port := int32(443)
	status := runtimev1.ExtensionConfigStatus{Conditions: []metav1.Condition{{Type: "Discovered", Status: metav1.ConditionTrue}},
		Handlers: []runtimev1.ExtensionHandler{{Name: "old.printer-extension"}}}
	for _, tc := range []struct {
		name   string
		object any
		called bool
	}{
		{"a URL and a CA, v1beta2", runtimev1.ExtensionConfig{TypeMeta: beta, ObjectMeta: meta, Status: status,
			Spec: runtimev1.ExtensionConfigSpec{ClientConfig: runtimev1.ClientConfig{URL: e.url, CABundle: ca}, NamespaceSelector: all, Settings: map[string]string{"channel": "ops"}}}, true},
		{"a URL and a CA, v1alpha1", runtimev1alpha1.ExtensionConfig{TypeMeta: alpha, ObjectMeta: meta,
			Spec: runtimev1alpha1.ExtensionConfigSpec{ClientConfig: runtimev1alpha1.ClientConfig{URL: &e.url, CABundle: ca}, NamespaceSelector: all, Settings: map[string]string{"channel": "ops"}}}, true},
		{"a Service and an injected CA, v1beta2", runtimev1.ExtensionConfig{TypeMeta: beta, ObjectMeta: injected,
			Spec: runtimev1.ExtensionConfigSpec{ClientConfig: runtimev1.ClientConfig{Service: runtimev1.ServiceReference{Namespace: serviceNamespace, Name: serviceName, Port: &port},
				CABundle: []byte("-----BEGIN CERTIFICATE-----\nof an earlier day\n")}, NamespaceSelector: prod, Settings: map[string]string{"channel": "ops"}}}, true},
		{"a Service and an injected CA, v1alpha1", runtimev1alpha1.ExtensionConfig{TypeMeta: alpha, ObjectMeta: injected,
			Spec: runtimev1alpha1.ExtensionConfigSpec{ClientConfig: runtimev1alpha1.ClientConfig{Service: &runtimev1alpha1.ServiceReference{Namespace: serviceNamespace, Name: serviceName}},
				NamespaceSelector: prod, Settings: map[string]string{"channel": "ops"}}}, true},
		{"another namespace", runtimev1.ExtensionConfig{TypeMeta: beta, ObjectMeta: injected,
			Spec: runtimev1.ExtensionConfigSpec{ClientConfig: runtimev1.ClientConfig{Service: runtimev1.ServiceReference{Namespace: serviceNamespace, Name: serviceName}}, NamespaceSelector: elsewhere}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, err := yaml.Marshal(tc.object)
			if err != nil {
				t.Fatal(err)
			}
			e.seen = nil
			o := runExec(t, string(text), kubeconfig, nil, "delete", "cluster", "main.example.com", "--yes")
			if o.exit != 0 || o.done == "" {
				t.Fatalf("exit code %d, kops did %q\n%s\n%s", o.exit, o.done, o.stderr, text)
			}
			var want []any
			if tc.called {
				want = []any{&hooksv1.BeforeClusterDeleteRequest{TypeMeta: request("BeforeClusterDeleteRequest"),
					CommonRequest: hooksv1.CommonRequest{Settings: map[string]string{"channel": "ops"}}, Cluster: wantCluster("v1.35.4")}}
			}
			if diff := cmp.Diff(want, e.seen); diff != "" {
				t.Errorf("requests (-want +got):\n%s\n%s", diff, o.stderr)
			}
		})
	}
	t.Run("--dry-run prints .status.handlers", func(t *testing.T) {
		text, err := yaml.Marshal(runtimev1.ExtensionConfig{TypeMeta: beta, ObjectMeta: injected,
			Spec: runtimev1.ExtensionConfigSpec{ClientConfig: runtimev1.ClientConfig{Service: runtimev1.ServiceReference{Namespace: serviceNamespace, Name: serviceName}}}})
		if err != nil {
			t.Fatal(err)
		}
		e.seen = nil
		o := runExec(t, string(text), kubeconfig, []string{"--dry-run"}, "delete", "cluster", "main.example.com", "--yes")
		if o.exit != 0 || o.done != "" || len(e.seen) > 0 {
			t.Fatalf("exit code %d, kops did %q, %d requests\n%s", o.exit, o.done, len(e.seen), o.stderr)
		}
		_, printed, _ := strings.Cut(o.stdout, "# extension printer-extension\n")
		var got runtimev1.ExtensionConfigStatus
		if err := yaml.UnmarshalStrict([]byte(printed), &got); err != nil {
			t.Fatalf("%v\n%s", err, o.stdout)
		}
		var want runtimev1.ExtensionConfigStatus
		for _, h := range [][2]string{{"after-cluster-upgrade", "AfterClusterUpgrade"}, {"after-control-plane-initialized", "AfterControlPlaneInitialized"},
			{"after-control-plane-upgrade", "AfterControlPlaneUpgrade"}, {"before-cluster-create", "BeforeClusterCreate"},
			{"before-cluster-delete", "BeforeClusterDelete"}, {"before-cluster-upgrade", "BeforeClusterUpgrade"}} {
			want.Handlers = append(want.Handlers, runtimev1.ExtensionHandler{Name: h[0] + ".printer-extension", TimeoutSeconds: 10, FailurePolicy: runtimev1.FailurePolicyFail,
				RequestHook: runtimev1.GroupVersionHook{APIVersion: hooksv1.GroupVersion.String(), Hook: h[1]}})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// behindService puts the server behind a Service of a stand-in for an API server, and returns the kubeconfig for that.
func (e *extension) behindService(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(e.url)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	objects, kubeconfig := filepath.Join(dir, "objects"), filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`
kind: Service
metadata: {namespace: %[1]s, name: %[2]s}
spec: {selector: {app: test-extension}, ports: [{port: 443, targetPort: webhook}]}
---
kind: Pod
metadata: {namespace: %[1]s, name: test-extension-manager-1, labels: {app: test-extension}}
spec: {containers: [{name: manager, ports: [{name: webhook, containerPort: %[3]s}]}]}
status: {conditions: [{type: Ready, status: "True"}]}
---
kind: Secret
metadata: {namespace: %[1]s, name: test-extension-webhook-service-cert}
data: {ca.crt: %[4]s}
`, serviceNamespace, serviceName, u.Port(), e.ca)
	if err := os.WriteFile(objects, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(standin, objects, kubeconfig)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(kubeconfig); err == nil && info.Size() > 0 {
			return kubeconfig
		}
		if time.Now().After(deadline) {
			t.Fatal("the stand-in does not start")
		}
	}
}
