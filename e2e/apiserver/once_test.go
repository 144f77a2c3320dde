//go:build e2e

package apiserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// The script of docs/once-per-cluster.md, on three control plane nodes at once: one does the work. When it fails, that node
// alone tries again; when the node is lost, one other takes over after an hour; when it is done, nobody does it any more.
func TestOneNodeDoesTheWork(t *testing.T) {
	ctx := t.Context()
	page, err := os.ReadFile("../../docs/once-per-cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```\n")
	var r report.Report
	docs := hookspec.Decode("page", []byte(text), &r)
	if r.HasErrors() || len(docs) != 1 {
		t.Fatal(r.Findings)
	}
	hook := docs[0].Resolve(hookspec.Group{Role: "ControlPlane"})[0]
	script := string(hook.Scripts[0].Content)
	const work = "kubectl label namespace default --overwrite pod-security.kubernetes.io/warn=baseline\n"
	if !strings.Contains(script, work) || hook.Env["KUBECONFIG"] != "/var/lib/kubectl/kubeconfig" {
		t.Fatal("the page has another script")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "script")
	script = strings.Replace(script, work, work+"echo \"$KOPSHOOK_NODE_NAME\" >> "+dir+"/did\n[ ! -e "+dir+"/fail ]\n", 1)
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := writeKubeconfig("first-steps", "admin-token")
	if err != nil {
		t.Fatal(err)
	}
	run := func(node string) error {
		cmd := exec.CommandContext(ctx, "sh", file)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KOPSHOOK_HOOK="+hook.Name, "KOPSHOOK_NODE_NAME="+node,
			"PATH="+os.Getenv("KOPSHOOK_PROGRAMS")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: %w\n%s", node, err, out)
		}
		t.Logf("%s: %v\n%s", node, err, out)
		return err
	}
	all := func() (failed []error) {
		var wait sync.WaitGroup
		var lock sync.Mutex
		for _, node := range []string{"control-plane-a", "control-plane-b", "control-plane-c"} {
			wait.Go(func() {
				if err := run(node); err != nil {
					lock.Lock()
					defer lock.Unlock()
					failed = append(failed, err)
				}
			})
		}
		wait.Wait()
		return failed
	}
	did := func() []string {
		data, err := os.ReadFile(filepath.Join(dir, "did"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Fields(string(data))
	}
	leases := cluster.client.CoordinationV1().Leases("kube-system")

	// the work fails on the node that has the lease
	if err := os.WriteFile(filepath.Join(dir, "fail"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if failed := all(); len(failed) != 1 || len(did()) != 1 {
		t.Fatalf("%d failed: %v; %q did the work", len(failed), failed, did())
	}
	first := did()[0]
	if failed := all(); len(failed) != 1 || len(did()) != 2 || did()[1] != first {
		t.Fatalf("%d failed: %v; %q did the work, want %s again", len(failed), failed, did(), first)
	}
	// it is lost, an hour ago
	patch := `{"spec":{"holderIdentity":"lost","acquireTime":"2026-01-01T00:00:00.000000Z"}}`
	if _, err := leases.Patch(ctx, "kopshook-first-steps", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "fail")); err != nil {
		t.Fatal(err)
	}
	if failed := all(); len(failed) != 0 || len(did()) != 3 {
		t.Fatalf("failed: %v; %q did the work, want one more", failed, did())
	}
	// done
	if failed := all(); len(failed) != 0 || len(did()) != 3 {
		t.Fatalf("failed: %v; %q did the work again", failed, did())
	}
	ns, err := cluster.client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ns.Labels["pod-security.kubernetes.io/warn"] != "baseline" {
		t.Errorf("the work was not done: %v", ns.Labels)
	}
}
