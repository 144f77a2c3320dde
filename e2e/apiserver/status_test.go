//go:build e2e

package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kops/pkg/apis/kops"
	"sigs.k8s.io/yaml"

	"kopshook.dev/kopshook/internal/addon"
)

// node-problem-detector, built from its source, with the rights and the configuration of the addon, shows in the
// cluster what status files of a node say.
func TestNodeProblemDetectorShowsFailedHooks(t *testing.T) {
	addNodes(t, 1, "sick", kops.InstanceGroupRoleNode, nil)
	in := addon.Input{Options: addon.Options{Name: "watch", Status: true}}
	a := build(t, in, spec("s", "{}", hook("raid", "")+hook("logs", "")+"  - {name: driver, script: \"#!/bin/sh\"}\n"))
	apply(t, t.TempDir(), a)
	defer cleanUp(t, "watch")

	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "status"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(hook, state, reason string) {
		t.Helper()
		text := fmt.Sprintf(`{"hook":"%s","phase":"daemon","state":"%s","reason":"%s","attempts":3}`+"\n", hook, state, reason)
		if err := os.WriteFile(filepath.Join(dir, "status", hook+".json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("raid", "failed", "timed out after 1200 s")
	write("logs", "succeeded", "")

	detector, metrics := startDetector(t, "watch", "sick-0", dir)

	condition := func(hook string) *corev1.NodeCondition {
		node, err := cluster.client.CoreV1().Nodes().Get(t.Context(), "sick-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return string(c.Type) == "KopshookHookFailed-"+hook })
		if i < 0 {
			return &corev1.NodeCondition{}
		}
		return &node.Status.Conditions[i]
	}
	becomes := func(hook string, status corev1.ConditionStatus, reason, message string) {
		t.Helper()
		eventually(t, func() error {
			c := condition(hook)
			if c.Status != status || c.Reason != reason || c.Message != message {
				return fmt.Errorf("condition of %s is %+v, want %s, %s, %s", hook, c, status, reason, message)
			}
			return nil
		})
	}
	const fine = "the hook succeeded, runs, or is not of this node"
	becomes("raid", corev1.ConditionTrue, "raid", "timed out after 1200 s")
	becomes("logs", corev1.ConditionFalse, "HookHasNotFailed", fine)
	becomes("driver", corev1.ConditionFalse, "HookHasNotFailed", fine)

	eventually(t, func() error {
		events, err := cluster.client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=sick-0,reason=raid"})
		if err != nil || len(events.Items) == 0 || !strings.Contains(events.Items[0].Message, "KopshookHookFailed-raid") || events.Items[0].Type != "Warning" {
			return fmt.Errorf("no event with the hook as its reason: %v, %v", events, err)
		}
		return nil
	})
	eventually(t, func() error {
		r, err := http.Get(metrics.url("http") + "/metrics")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		for _, want := range []string{`problem_gauge{reason="raid",type="KopshookHookFailed-raid"} 1`, `problem_counter{reason="raid"} 1`,
			`problem_gauge{reason="logs",type="KopshookHookFailed-logs"} 0`} {
			if !strings.Contains(string(text), want) {
				return fmt.Errorf("metrics lack %s:\n%s", want, text)
			}
		}
		return nil
	})

	dashboardShows(t, metrics.number())

	// fixed, and the other one breaks: one condition does not clear another
	write("raid", "succeeded", "")
	write("logs", "failed", "verify: exit status 3")
	becomes("raid", corev1.ConditionFalse, "HookHasNotFailed", fine)
	becomes("logs", corev1.ConditionTrue, "logs", "verify: exit status 3")

	// what docs/addon.md says about conditions of hooks that are gone
	detector.stop()
	patch := []byte(`{"status":{"conditions":[{"type":"KopshookHookFailed-logs","$patch":"delete"}]}}`)
	if _, err := cluster.client.CoreV1().Nodes().Patch(t.Context(), "sick-0", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	if c := condition("logs"); c.Type != "" {
		t.Errorf("the condition is still there: %+v", c)
	}
}

// startDetector runs node-problem-detector for a node as the addon's DaemonSet does, with its rights. dir has what its pod has at
// /kopshook, /status and /verified; a second is there in place of its intervals.
func startDetector(t *testing.T, name, node, dir string) (detector *program, metrics port) {
	t.Helper()
	local := strings.NewReplacer("/kopshook/", dir+"/", "/status", dir+"/status", "/verified}", dir+"/verified}", `"60s"`, `"1s"`, `"10s"`, `"1s"`, "0.0.0.0", "127.0.0.1")
	config, err := cluster.client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), name+".status", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range config.Data {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(local.Replace(text)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	account := name + "-status"
	var token *authenticationv1.TokenRequest
	eventually(t, func() (err error) {
		token, err = cluster.client.CoreV1().ServiceAccounts("kube-system").CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	})
	kubeconfig, err := writeKubeconfig(account, token.Status.Token)
	if err != nil {
		t.Fatal(err)
	}
	set, err := cluster.client.AppsV1().DaemonSets("kube-system").Get(t.Context(), account, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	metrics = freePort()
	args := slices.Clone(set.Spec.Template.Spec.Containers[0].Command[1:])
	for i := range args {
		args[i] = local.Replace(args[i])
	}
	args = append(args, "--prometheus-port="+metrics.number(), "--hostname-override="+node,
		"--apiserver-override="+cluster.config.Host+"?inClusterConfig=false&auth="+kubeconfig)
	detector, err = startProgram(t.Context(), "nodeproblemdetector", args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		detector.stop()
		if t.Failed() {
			t.Log(detector.tail())
		}
	})
	return detector, metrics
}

// monitoringFiles are those for Prometheus and Grafana, by the end of their names.
func monitoringFiles(t *testing.T) (prometheus, dashboard []byte) {
	t.Helper()
	files, err := build(t, addon.Input{Options: addon.Options{Status: true}}, spec("s", "{}", hook("h", ""))).Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		switch {
		case strings.HasSuffix(f.Name, "-prometheus.yaml"):
			prometheus = f.Content
		case strings.HasSuffix(f.Name, "-dashboard.json"):
			dashboard = f.Content
		}
	}
	return prometheus, dashboard
}

// prometheusOperator has the custom resource definitions that the objects are checked against.
const prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.90.1"

// The Prometheus operator's kinds, with its own definitions in the server, take the objects in the strictest mode.
func TestPrometheusOperatorTakesTheObjects(t *testing.T) {
	out, err := exec.Command("go", "mod", "download", "-json", prometheusOperator).Output()
	if err != nil {
		t.Fatal(err, string(out))
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	create := func(text []byte) {
		t.Helper()
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &u.Object); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			m, err := mapper().RESTMapping(u.GroupVersionKind().GroupKind())
			if err != nil {
				return err // the server takes a moment to serve a new kind
			}
			client := cluster.dynamic.Resource(m.Resource)
			create := client.Create
			if ns := u.GetNamespace(); ns != "" {
				create = client.Namespace(ns).Create
			}
			_, err = create(t.Context(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
			return err
		})
	}
	for _, kind := range []string{"podmonitors", "prometheusrules"} {
		text, err := os.ReadFile(filepath.Join(module.Dir, "example/prometheus-operator-crd/monitoring.coreos.com_"+kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		create(text)
	}
	prometheus, _ := monitoringFiles(t)
	docs := bytes.Split(prometheus, []byte("\n---\n"))
	if len(docs) != 2 {
		t.Fatalf("%d objects, want 2", len(docs))
	}
	for _, doc := range docs {
		create(doc)
	}
}

// promtool checks the rules and runs them on series as node-problem-detector gives them.
func TestAlerts(t *testing.T) {
	prometheus, dashboard := monitoringFiles(t)
	dir := t.TempDir()
	var rule struct {
		Spec struct {
			Groups []map[string]any `json:"groups"`
		} `json:"spec"`
	}
	_, doc, _ := bytes.Cut(prometheus, []byte("\n---\n"))
	if err := yaml.Unmarshal(doc, &rule); err != nil {
		t.Fatal(err)
	}
	// the dashboard's expressions, as if they were rules
	group := map[string]any{"name": "dashboard"}
	var rules []map[string]any
	for i, m := range regexp.MustCompile(`"expr": (".*")`).FindAllSubmatch(dashboard, -1) {
		var expr string
		if err := json.Unmarshal(m[1], &expr); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, map[string]any{"record": fmt.Sprintf("dashboard:%d", i), "expr": strings.ReplaceAll(expr, "$addon", "kopshook")})
	}
	if len(rules) < 6 {
		t.Fatalf("the dashboard has %d expressions", len(rules))
	}
	group["rules"] = rules
	for name, groups := range map[string]any{"rules.yaml": rule.Spec.Groups, "dashboard.yaml": []any{group}} {
		text, err := yaml.Marshal(map[string]any{"groups": groups})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tests := `
rule_files: [rules.yaml]
evaluation_interval: 1m
tests:
- interval: 1m
  input_series:
  - {series: 'problem_gauge{type="KopshookHookFailed-raid", reason="raid", node="a", pod="x"}', values: '0 0 1x20'}
  - {series: 'problem_gauge{type="KopshookHookFailed-logs", reason="logs", node="a", pod="x"}', values: '0x22'}
  - {series: 'problem_gauge{type="KopshookHookFailed-logs", reason="logs", node="b", pod="y"}', values: '1 1 0x20'}
  - {series: 'problem_gauge{type="ReadonlyFilesystem", reason="x", node="b", pod="y"}', values: '1x22'}
  - {series: 'kube_daemonset_status_number_unavailable{namespace="kube-system", daemonset="kopshook-workers"}', values: '2x70'}
  - {series: 'kube_daemonset_status_number_unavailable{namespace="kube-system", daemonset="cilium"}', values: '2x70'}
  - {series: 'cluster_autoscaler_nodes_count{state="unregistered"}', values: '2x20 0x70'}
  - {series: 'cluster_autoscaler_nodes_count{state="ready"}', values: '20x70'}
  alert_rule_test:
  - {eval_time: 6m, alertname: KopshookHookFailed}
  - eval_time: 8m
    alertname: KopshookHookFailed
    exp_alerts:
    - exp_labels: {severity: warning, hook: raid, node: a}
      exp_annotations:
        summary: Hook raid failed on node a
        description: "The node condition KopshookHookFailed-raid says why. On the node, see journalctl -u 'kopshook-*raid*' and /var/lib/kopshook/status/raid.json."
  - {eval_time: 8m, alertname: KopshookHookFailsOnManyNodes}
  - {eval_time: 14m, alertname: KopshookMachinesAreNotNodes}
  - {eval_time: 40m, alertname: KopshookMachinesAreNotNodes}
  - eval_time: 16m
    alertname: KopshookMachinesAreNotNodes
    exp_alerts:
    - exp_labels: {severity: warning}
      exp_annotations:
        summary: 2 machines have not become nodes for a quarter of an hour
        description: Mostly a hook fails or still runs. kopshook status --cluster says which, and why.
  - {eval_time: 50m, alertname: KopshookRolloutStuck}
  - eval_time: 65m
    alertname: KopshookRolloutStuck
    exp_alerts:
    - exp_labels: {severity: warning, namespace: kube-system, daemonset: kopshook-workers}
      exp_annotations:
        summary: 2 pods of kopshook-workers have not been ready for an hour
        description: A hook of phase daemon fails, runs very long, or its verify fails. The rollout waits.
- interval: 1m
  input_series:
  - {series: 'problem_gauge{type="KopshookHookFailed-raid", node="a"}', values: '1x20'}
  - {series: 'problem_gauge{type="KopshookHookFailed-raid", node="b"}', values: '1x20'}
  - {series: 'problem_gauge{type="KopshookHookFailed-raid", node="c"}', values: '1x20'}
  - {series: 'problem_gauge{type="KopshookHookFailed-raid", node="d"}', values: '0x20'}
  alert_rule_test:
  - eval_time: 8m
    alertname: KopshookHookFailsOnManyNodes
    exp_alerts:
    - exp_labels: {severity: critical, hook: raid}
      exp_annotations:
        summary: Hook raid failed on 3 nodes
        description: More than a tenth of the nodes are concerned; look at the last change of the hook before the nodes.
`
	if err := os.WriteFile(filepath.Join(dir, "tests.yaml"), []byte(tests), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", "rules.yaml", "dashboard.yaml"}, {"test", "rules", "tests.yaml"}} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
