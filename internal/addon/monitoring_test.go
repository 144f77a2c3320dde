package addon

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMonitoringFiles(t *testing.T) {
	files, err := build(t, Input{Options: Options{Status: true, Name: "night-shift"}}, spec("s", "{}", one("a"))).Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.Replace(f.Name, sum(files[0].Content)[:12], "HASH", 1))
		if bytes.Contains(f.Content, []byte("@addon@")) {
			t.Errorf("%s: a placeholder is left", f.Name)
		}
		if strings.HasSuffix(f.Name, ".json") && !json.Valid(f.Content) {
			t.Errorf("%s is no JSON", f.Name)
		}
	}
	want := []string{"night-shift-HASH.yaml", "night-shift-dashboard.json", "night-shift-prometheus.yaml", "addon.yaml"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
}

// board is what Grafana needs of a dashboard, as far as a mistake there would show as an empty panel.
type board struct {
	ID            *int // of one Grafana's database: an imported dashboard has none
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type, Query string
			Current           struct{ Value string }
		}
	}
	Panels []struct {
		ID          int
		Type, Title string
		GridPos     struct{ X, Y, W, H int }
		Datasource  struct{ Type, UID string }
		FieldConfig struct {
			Defaults struct {
				NoValue  string
				Mappings []any
			}
		}
		Targets []struct {
			Datasource  struct{ Type, UID string }
			Expr, RefID string
		}
	}
}

// The dashboard's panels have a place of their own, ask the data source that is chosen, and ask for metrics that the
// rules, node-problem-detector or kube-state-metrics have.
func TestDashboard(t *testing.T) {
	a := &Addon{Name: "night-shift"}
	var text, rules string
	for _, f := range a.monitoring() {
		if strings.HasSuffix(f.Name, ".json") {
			text = string(f.Content)
		} else {
			rules = string(f.Content)
		}
	}
	var b board
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	if b.ID != nil || b.UID == "" || len(b.UID) > 40 || b.Title == "" || b.SchemaVersion == 0 {
		t.Errorf("id %v, uid %q, title %q, schema version %d", b.ID, b.UID, b.Title, b.SchemaVersion)
	}
	variables := map[string]bool{"datasource": false, "addon": false}
	for _, v := range b.Templating.List {
		if used, ok := variables[v.Name]; !ok || used {
			t.Errorf("the variable %s is there twice, or nobody asks for it", v.Name)
		}
		variables[v.Name] = true
		if v.Name == "addon" && (v.Query != a.Name || v.Current.Value != a.Name) {
			t.Errorf("the dashboard opens with the addon %q, %q", v.Query, v.Current.Value)
		}
	}
	metrics := map[string]bool{"kube_daemonset_status_number_unavailable": true, "kube_daemonset_status_updated_number_scheduled": true,
		"kube_daemonset_status_desired_number_scheduled": true, "kube_node_info": true, "kube_pod_info": true, "kube_pod_created": true, "kube_pod_status_ready_time": true, "cluster_autoscaler_nodes_count": true, "group_left": true} // the last is a word of the language
	for _, m := range regexp.MustCompile(`(?m)record: (\S+)$`).FindAllStringSubmatch(rules, -1) {
		metrics[m[1]] = true
	}
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range b.Panels {
		if ids[p.ID] || p.Title == "" || p.Type == "" || (len(p.Targets) == 0) != (p.Type == "text") {
			t.Errorf("panel %d, %q: its number is another's, or it lacks a title, a type or a query", p.ID, p.Title)
		}
		ids[p.ID] = true
		if g := p.GridPos; g.W == 0 || g.H == 0 || g.X+g.W > 24 {
			t.Errorf("panel %q is beyond the 24 columns, or without a size: %+v", p.Title, g)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("panels %q and %q overlap", other, p.Title)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if d := p.FieldConfig.Defaults; p.Type == "stat" && (d.NoValue != "no data" || len(d.Mappings) == 0) {
			t.Errorf("panel %q shows what is missing as %q", p.Title, d.NoValue)
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if p.Datasource.UID != "${datasource}" || q.Datasource.UID != "${datasource}" || q.RefID == "" || refs[q.RefID] {
				t.Errorf("panel %q: data sources %q, %q; query %q", p.Title, p.Datasource.UID, q.Datasource.UID, q.RefID)
			}
			refs[q.RefID] = true
			for _, v := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(q.Expr, -1) {
				if !variables[v[1]] {
					t.Errorf("panel %q asks with a variable that is not there: %s", p.Title, q.Expr)
				}
			}
			bare := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(q.Expr, "")
			for _, m := range regexp.MustCompile(`[a-z]+[_:][a-z_:]+`).FindAllString(bare, -1) {
				if !metrics[m] {
					t.Errorf("panel %q asks for the metric %s, which nobody has", p.Title, m)
				}
			}
		}
	}
	if len(b.Panels) < 5 {
		t.Errorf("%d panels", len(b.Panels))
	}
}
