//go:build e2e

package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kops/pkg/apis/kops"
	"sigs.k8s.io/yaml"

	"kopshook.dev/kopshook/internal/addon"
)

// readinessController is Kubernetes' node readiness controller: its API, and the program.
const readinessController = "sigs.k8s.io/node-readiness-controller@v0.5.0"

// readinessSource is the folder with its source: KOPSHOOK_NODE_READINESS, or the module; "" where there is none.
func readinessSource(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("KOPSHOOK_NODE_READINESS"); dir != "" {
		return dir
	}
	out, err := exec.Command("go", "mod", "download", "-json", readinessController).Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(out, &module) != nil || module.Dir == "" {
		t.Logf("NOT TESTED HERE: taints. %s cannot be had as a Go module. Set KOPSHOOK_NODE_READINESS to a folder with its source. %s", readinessController, out)
		return ""
	}
	return module.Dir
}

// createAll creates the objects of YAML documents in the server's strictest mode.
func createAll(t *testing.T, text []byte) {
	t.Helper()
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &u.Object); err != nil {
			t.Fatal(err)
		}
		if u.Object == nil {
			continue
		}
		eventually(t, func() error {
			m, err := mapper().RESTMapping(u.GroupVersionKind().GroupKind())
			if err != nil {
				return err // the server takes a moment to serve a new kind
			}
			_, err = cluster.dynamic.Resource(m.Resource).Create(t.Context(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
			return err
		})
	}
}

// startReadiness has the server know the rules' kind, creates those of an addon, and runs the controller.
func startReadiness(t *testing.T, source string, a *addon.Addon) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "node-readiness-controller")
	if out, err := exec.Command("go", "build", "-C", source, "-o", program, "./cmd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	crd, err := os.ReadFile(filepath.Join(source, "config/crd/bases/readiness.node.x-k8s.io_nodereadinessrules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	createAll(t, crd)
	rules, err := a.Readiness()
	if err != nil {
		t.Fatal(err)
	}
	createAll(t, rules.Content)

	kubeconfig, err := writeKubeconfig("readiness", "admin-token")
	if err != nil {
		t.Fatal(err)
	}
	controller := exec.Command(program, "--kubeconfig", kubeconfig, "--health-probe-bind-address", "127.0.0.1:"+freePort().number())
	var log bytes.Buffer
	controller.Stdout, controller.Stderr = &log, &log
	if err := controller.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		controller.Process.Kill()
		controller.Wait()
		if t.Failed() {
			t.Log(log.String()[max(0, log.Len()-4000):])
		}
	})
}

// A node joins with the taint, has a pod of the addon all the same, and takes others when the pod says that its hooks are
// verified: by node-problem-detector's condition and the real controller. What breaks later takes no node out of use.
func TestNodesTakePodsWhenTheirHooksAreVerified(t *testing.T) {
	t.Parallel()
	source := readinessSource(t)
	taint := addon.TaintOf("readiness.k8s.io/wait-s=:NoSchedule", "spec.kubelet.taints")
	group := addNodes(t, 2, "wait", kops.InstanceGroupRoleNode, nil, taint.Taint)
	group.Taints = []addon.Taint{taint}
	in := addon.Input{Cluster: "a.example.com", Groups: []addon.Group{group}, Options: addon.Options{Name: "wait", Status: true}}
	a := build(t, in, spec("s", "{names: [wait]}", hook("h", "echo")))
	apply(t, t.TempDir(), a)
	t.Cleanup(func() { cleanUp(t, "wait") })
	if source != "" {
		startReadiness(t, source, a)
	}

	dir := t.TempDir()
	for _, folder := range []string{"status", "verified"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	startDetector(t, "wait", "wait-0", dir)
	look := func(name string) (tainted bool, condition corev1.ConditionStatus) {
		node, err := cluster.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range node.Status.Conditions {
			if c.Type == "KopshookNotVerified-wait-s" {
				condition = c.Status
			}
		}
		return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taint.Key }), condition
	}
	becomes := func(tainted bool, condition corev1.ConditionStatus) {
		t.Helper()
		eventually(t, func() error {
			if got, is := look("wait-0"); got != (tainted || source == "") || is != condition {
				return fmt.Errorf("the node is tainted: %v, and not verified: %s; want %v, %s", got, is, tainted, condition)
			}
			return nil
		})
		if source == "" {
			return
		}
		time.Sleep(3 * time.Second) // for the controller to do more, if that is what happens
		if got, _ := look("wait-0"); got != tainted {
			t.Errorf("the node is tainted: %v, want %v", got, tainted)
		}
	}
	file := filepath.Join(dir, "verified", "wait.s") // what the pod leaves in /run/kopshook-daemon
	becomes(true, corev1.ConditionTrue)
	eventually(t, func() error {
		if n := len(pods(t, "wait-s")); n != 2 {
			return fmt.Errorf("%d pods of the addon, want one on each node", n)
		}
		return nil
	})
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	becomes(false, corev1.ConditionFalse)
	if tainted, _ := look("wait-1"); !tainted {
		t.Error("a node of which nobody knows anything takes pods")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	becomes(false, corev1.ConditionTrue)
}
