//go:build e2e

package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// others are metrics as kube-state-metrics and cluster-autoscaler have them.
const others = `kube_node_info{node="sick-0"} 1
kube_node_info{node="mute-0"} 1
kube_pod_info{namespace="kube-system",pod="kopshook-workers-x2x4x",node="sick-0"} 1
kube_pod_created{namespace="kube-system",pod="kopshook-workers-x2x4x"} 1.764e+09
kube_pod_status_ready_time{namespace="kube-system",pod="kopshook-workers-x2x4x"} 1.764000042e+09
kube_pod_info{namespace="kube-system",pod="kopshook-status-y3y5y",node="sick-0"} 1
kube_pod_created{namespace="kube-system",pod="kopshook-status-y3y5y"} 1.764e+09
kube_pod_status_ready_time{namespace="kube-system",pod="kopshook-status-y3y5y"} 1.764000001e+09
kube_daemonset_status_number_unavailable{namespace="kube-system",daemonset="kopshook-workers"} 3
kube_daemonset_status_updated_number_scheduled{namespace="kube-system",daemonset="kopshook-workers"} 5
kube_daemonset_status_desired_number_scheduled{namespace="kube-system",daemonset="kopshook-workers"} 10
cluster_autoscaler_nodes_count{state="ready"} 10
cluster_autoscaler_nodes_count{state="unregistered"} 2
cluster_autoscaler_nodes_count{state="longUnregistered"} 1
`

// dashboardShows runs the queries of the dashboard in a real Prometheus with the addon's rules, which scrapes a
// node-problem-detector that has seen the hook raid fail on the node sick-0, and no other.
func dashboardShows(t *testing.T, detector string) {
	t.Helper()
	rules, dashboard := monitoringFiles(t)
	var rule struct {
		Spec map[string]any `json:"spec"`
	}
	_, doc, _ := bytes.Cut(rules, []byte("\n---\n"))
	if err := yaml.Unmarshal(doc, &rule); err != nil {
		t.Fatal(err)
	}
	groups, err := yaml.Marshal(rule.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var there atomic.Bool
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if there.Load() {
			io.WriteString(w, others)
		}
	}))
	defer exporter.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{"rules.yaml": string(groups), "prometheus.yaml": fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: status
  static_configs: [{targets: ["127.0.0.1:%s"], labels: {node: sick-0}}]
- job_name: others
  static_configs: [{targets: ["%s"]}]
`, detector, strings.TrimPrefix(exporter.URL, "http://"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	port := freePort()
	prometheus, err := startProgram(t.Context(), "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:"+port.number())
	if err != nil {
		t.Fatal(err)
	}
	defer prometheus.stop()
	defer func() {
		if t.Failed() {
			t.Log(prometheus.tail())
		}
	}()

	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(dashboard, &board); err != nil {
		t.Fatal(err)
	}
	// shows is what each panel has: its series with their values, nothing where a panel says "no data"
	shows := func(change func(expr string) string) (map[string]string, error) {
		got := map[string]string{}
		for _, p := range board.Panels {
			for _, q := range p.Targets {
				text, err := query(port.url("http"), change(strings.ReplaceAll(q.Expr, "$addon", "kopshook")))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", p.Title, err)
				}
				got[p.Title] = text
			}
		}
		return got, nil
	}
	becomes := func(change func(string) string, want map[string]string) {
		t.Helper()
		eventually(t, func() error {
			got, err := shows(change)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("what panels show (-want +got)\n%s", diff)
			}
			return nil
		})
	}
	asIs := func(expr string) string { return expr }
	// without kube-state-metrics and cluster-autoscaler, panels that need them have no data, which is not zero
	want := map[string]string{
		"Nodes with a failed hook": "{} 1", "Hooks that failed somewhere": "{} 1", "Nodes that report": "{} 1",
		"Failed hooks by node, and for how long":    "{hook=raid node=sick-0} some seconds",
		"Nodes on which a hook has failed, by hook": "{hook=driver} 0, {hook=logs} 0, {hook=raid} 1",
		"Nodes that do not report":                  "", "Machines that are not nodes": "", "Pods of daemon hooks that are not ready": "",
		"Rollout of daemon hooks: nodes that have the newest": "", "How long daemon hooks took, by node": "",
	}
	becomes(asIs, want)
	there.Store(true)
	want["Nodes that do not report"] = "{} 1"
	want["Machines that are not nodes"] = "{} 3"
	want["Pods of daemon hooks that are not ready"] = "{} 3"
	want["How long daemon hooks took, by node"] = "{node=sick-0 pod=kopshook-workers-x2x4x} 42"
	want["Rollout of daemon hooks: nodes that have the newest"] = "{daemonset=kopshook-workers job=others namespace=kube-system} 0.5"
	becomes(asIs, want)
	// and without the addon's metrics
	for _, p := range []string{"Nodes with a failed hook", "Hooks that failed somewhere", "Nodes that report", "Nodes on which a hook has failed, by hook"} {
		want[p] = ""
	}
	want["Failed hooks by node, and for how long"] = ""
	want["Nodes that do not report"] = "{} 2"
	becomes(func(expr string) string {
		return strings.NewReplacer("kopshook:hook_failed", "nobody:has_this", "ALERTS_FOR_STATE", "NOBODY_HAS_THIS").Replace(expr)
	}, want)
}

// query asks Prometheus, and returns "{LABELS} VALUE, ..." in the order of labels, without the metric's name and the instance.
func query(base, expr string) (string, error) {
	resp, err := http.Get(base + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", err
	}
	if answer.Status != "success" {
		return "", fmt.Errorf("%s: %s", expr, answer.Error)
	}
	var all []string
	for _, r := range answer.Data.Result {
		delete(r.Metric, "__name__")
		delete(r.Metric, "instance")
		value := fmt.Sprint(r.Value[1])
		if n, err := strconv.ParseFloat(value, 64); err == nil && strings.Contains(expr, "time()") && n > 0 && n < 300 {
			value = "some seconds"
		}
		labels := strings.NewReplacer("map[", "{", "]", "}", ":", "=").Replace(fmt.Sprint(r.Metric))
		all = append(all, labels+" "+value)
	}
	slices.Sort(all)
	return strings.Join(all, ", "), nil
}
