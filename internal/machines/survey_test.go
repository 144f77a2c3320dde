package machines

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// played is a cloud with the consoles of its machines.
type played map[string]string

func (p played) Machines(context.Context, string) ([]Machine, error) {
	var list []Machine
	for id := range p {
		m := Machine{ID: id, InstanceGroup: "nodes", State: "running", ProviderID: "aws:///a/" + id}
		if id == "i-warm" {
			m.State = "stopped"
		}
		list = append(list, m)
	}
	return list, nil
}

func (p played) Console(_ context.Context, m Machine) ([]byte, error) {
	if p[m.ID] == "refused" {
		return nil, errors.New("you may not")
	}
	if p[m.ID] == "must not be read" {
		panic("the console of a node, or of a machine that is stopped, is read")
	}
	return []byte(p[m.ID]), nil
}

func wrote(hook, state, reason string) string {
	return `kopshook: {"hook":"` + hook + `","phase":"pre-nodeup","state":"` + state + `","reason":"` + reason +
		`","attempts":3,"exitCode":1,"startedAt":"2026-11-22T03:00:00Z","updatedAt":"2026-11-22T03:10:00Z","instanceID":"i-1","hash":"x"}` + "\r\n"
}

func TestSurveySaysWhyMachinesAreNotNodes(t *testing.T) {
	cloud := played{
		"i-node": "must not be read", "i-warm": "must not be read",
		"i-failed": wrote("agent", "succeeded", "") + wrote("driver", "failed", "script: exit status 7"),
		"i-runs":   wrote("driver", "running", ""), "i-done": wrote("agent", "succeeded", ""),
		"i-silent": "login:", "i-gate": `kopshook: {"part":"gate","state":"failed","reason":"no space left"}`, "i-refused": "refused",
	}
	now := time.Date(2026, 11, 22, 3, 30, 0, 0, time.UTC)
	findings, err := Survey(context.Background(), cloud, "main.example.com", []Node{{Name: "n1", ProviderID: "aws:///a/i-node", Ready: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range findings {
		got[f.ID] = string(f.Verdict) + " | " + f.Says(now)
	}
	want := map[string]string{
		"i-node": "node | ", "i-warm": "stopped | a machine that is stopped",
		"i-failed":  "failed | failed after 3 attempts, 20m ago: script: exit status 7",
		"i-runs":    "running | running, attempt 3, for 30m",
		"i-done":    "done | 1 hook done; look at nodeup and the kubelet",
		"i-silent":  "unknown | the console says nothing of hooks, or is still empty",
		"i-gate":    "failed | gate failed: no space left",
		"i-refused": "unknown | you may not",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNodesOfAllPagesAreListed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes" || r.Header.Get("Authorization") != "Bearer a-token" {
			t.Errorf("%s with %q", r.URL, r.Header.Get("Authorization"))
		}
		item := func(name, ready string) map[string]any {
			return map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"providerID": "aws:///a/" + name},
				"status": map[string]any{"conditions": []any{map[string]any{"type": "MemoryPressure", "status": "False"}, map[string]any{"type": "Ready", "status": ready}}}}
		}
		answer := map[string]any{"metadata": map[string]any{"continue": "more"}, "items": []any{item("one", "True")}}
		if r.URL.Query().Get("continue") == "more" {
			answer = map[string]any{"items": []any{item("two", "Unknown")}}
		}
		json.NewEncoder(w).Encode(answer)
	}))
	defer s.Close()
	got, err := listNodes(context.Background(), &rest.Config{Host: s.URL, BearerToken: "a-token"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Node{{"one", "aws:///a/one", true}, {"two", "aws:///a/two", false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	if _, err := listNodes(context.Background(), &rest.Config{Host: s.URL}); err == nil {
		t.Error("a refusal is no error")
	}
}

func TestAge(t *testing.T) {
	for want, d := range map[string]time.Duration{"0s": -time.Second, "119s": 119 * time.Second, "2m": 2 * time.Minute, "3h20m": 200 * time.Minute, "2d4h": 52 * time.Hour} {
		if got := Age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
