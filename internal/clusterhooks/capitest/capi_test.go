package capitest

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/exp/runtime/server"
)

// TestLifecycle calls every lifecycle hook of a server that knows nothing of kopshook.
func TestLifecycle(t *testing.T) {
	settings := hooksv1.CommonRequest{Settings: map[string]string{"channel": "ops"}}
	cluster := wantCluster("v1.35.4")
	upgraded := wantCluster("v1.36.1")
	created := clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: "new.example.com", Namespace: "default"},
		Spec:       clusterv1.ClusterSpec{ClusterNetwork: &clusterv1.ClusterNetwork{}, Topology: &clusterv1.Topology{Class: "kops", Version: "v1.36.0"}},
	}
	for _, tc := range []struct {
		name    string
		command []string
		want    []any
	}{
		{"create calls BeforeClusterCreate", []string{"create", "cluster", "new.example.com", "--kubernetes-version=1.36.0", "--yes"},
			[]any{&hooksv1.BeforeClusterCreateRequest{TypeMeta: request("BeforeClusterCreateRequest"), CommonRequest: settings, Cluster: created}}},
		{"validate calls AfterControlPlaneInitialized", []string{"validate", "cluster", "main.example.com"},
			[]any{&hooksv1.AfterControlPlaneInitializedRequest{TypeMeta: request("AfterControlPlaneInitializedRequest"), CommonRequest: settings, Cluster: cluster}}},
		{"upgrade calls BeforeClusterUpgrade with both versions", []string{"upgrade", "cluster", "main.example.com", "--yes"},
			[]any{&hooksv1.BeforeClusterUpgradeRequest{TypeMeta: request("BeforeClusterUpgradeRequest"), CommonRequest: settings, Cluster: upgraded,
				FromKubernetesVersion: "v1.35.4", ToKubernetesVersion: "v1.36.1"}}},
		{"a rolling update of all calls AfterControlPlaneUpgrade and AfterClusterUpgrade", []string{"rolling-update", "cluster", "main.example.com", "--yes"},
			[]any{
				&hooksv1.AfterControlPlaneUpgradeRequest{TypeMeta: request("AfterControlPlaneUpgradeRequest"), CommonRequest: settings, Cluster: cluster, KubernetesVersion: "v1.35.4"},
				&hooksv1.AfterClusterUpgradeRequest{TypeMeta: request("AfterClusterUpgradeRequest"), CommonRequest: settings, Cluster: cluster, KubernetesVersion: "v1.35.4"},
			}},
		{"a rolling update of the control plane calls AfterControlPlaneUpgrade", []string{"rolling-update", "cluster", "main.example.com", "--instance-group-roles", "control-plane", "--yes"},
			[]any{&hooksv1.AfterControlPlaneUpgradeRequest{TypeMeta: request("AfterControlPlaneUpgradeRequest"), CommonRequest: settings, Cluster: cluster, KubernetesVersion: "v1.35.4"}}},
		{"delete calls BeforeClusterDelete", []string{"delete", "cluster", "--name", "main.example.com", "--yes"},
			[]any{&hooksv1.BeforeClusterDeleteRequest{TypeMeta: request("BeforeClusterDeleteRequest"), CommonRequest: settings, Cluster: cluster}}},
		{"without --yes nothing is called", []string{"delete", "cluster", "--name", "main.example.com"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := printer(t)
			o := e.run(t, "    settings: {channel: ops}\n", tc.command...)
			if o.exit != 0 {
				t.Fatalf("exit code %d\n%s", o.exit, o.stderr)
			}
			if diff := cmp.Diff(tc.want, e.seen); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			want := "kops " + strings.Join(tc.command, " ") + "\n"
			if len(tc.want) == 2 { // what comes between the control plane and the nodes has kops run in two parts
				want = "kops rolling-update cluster --instance-group-roles=control-plane,apiserver main.example.com --yes\n" +
					"kops rolling-update cluster --instance-group-roles=node,bastion main.example.com --yes\n"
			}
			if o.done != want {
				t.Errorf("kops did %q, want %q", o.done, want)
			}
		})
	}
}

// TestBlocking holds a deletion back until the extension lets it go.
func TestBlocking(t *testing.T) {
	e := newExtension(t, false)
	asked := 0
	e.handle(t, "gate", hooksv1.BeforeClusterDelete, func(_ context.Context, q *hooksv1.BeforeClusterDeleteRequest, r *hooksv1.BeforeClusterDeleteResponse) {
		asked++
		r.SetStatus(hooksv1.ResponseStatusSuccess)
		if asked < 3 {
			r.SetRetryAfterSeconds(1)
			r.SetMessage("backups are running")
		}
	})
	e.start(t)
	o := e.run(t, "", "delete", "cluster", "main.example.com", "--yes")
	if o.exit != 0 || o.done == "" {
		t.Fatalf("exit code %d, kops did %q\n%s", o.exit, o.done, o.stderr)
	}
	if got := o.report.Steps[0]; asked != 3 || got.Attempts != 3 || got.Name != "gate.printer" || got.Status != "succeeded" {
		t.Errorf("asked %d times, report %+v", asked, got)
	}
	if !strings.Contains(o.stderr, "blocks; asked once, again in 1s") || !strings.Contains(o.stderr, "backups are running") {
		t.Errorf("no progress line:\n%s", o.stderr)
	}
}

// TestBlockingBetweenControlPlaneAndNodes holds the nodes back, when the control plane is rolled.
func TestBlockingBetweenControlPlaneAndNodes(t *testing.T) {
	e := newExtension(t, false)
	asked := 0
	e.handle(t, "gate", hooksv1.AfterControlPlaneUpgrade, func(_ context.Context, q *hooksv1.AfterControlPlaneUpgradeRequest, r *hooksv1.AfterControlPlaneUpgradeResponse) {
		asked++
		r.SetStatus(hooksv1.ResponseStatusSuccess)
		if asked < 3 {
			r.SetRetryAfterSeconds(1)
		}
	})
	e.start(t)
	o := e.run(t, "", "rolling-update", "cluster", "main.example.com", "--yes")
	if o.exit != 0 || asked != 3 || strings.Count(o.done, "kops rolling-update") != 2 {
		t.Errorf("exit code %d, asked %d times, kops did %q\n%s", o.exit, asked, o.done, o.stderr)
	}

	asked = -100
	o = e.run(t, "", "rolling-update", "cluster", "main.example.com", "--yes")
	if o.exit != 125 || o.done != "kops rolling-update cluster --instance-group-roles=control-plane,apiserver main.example.com --yes\n" {
		t.Errorf("exit code %d, kops did %q\n%s", o.exit, o.done, o.stderr)
	}
}

// TestNonBlocking takes no delay from a hook that cannot block.
func TestNonBlocking(t *testing.T) {
	e := newExtension(t, false)
	e.handle(t, "done", hooksv1.AfterClusterUpgrade, func(_ context.Context, q *hooksv1.AfterClusterUpgradeRequest, r *hooksv1.AfterClusterUpgradeResponse) {
		e.note(q)
		r.SetStatus(hooksv1.ResponseStatusSuccess)
	})
	e.start(t)
	if o := e.run(t, "", "rolling-update", "cluster", "main.example.com", "--yes"); o.exit != 0 || len(e.seen) != 1 {
		t.Errorf("exit code %d, %d requests\n%s", o.exit, len(e.seen), o.stderr)
	}
}

// TestFailurePolicies tells an extension that refuses from one that does not answer in its time.
func TestFailurePolicies(t *testing.T) {
	second := int32(1)
	ignore := hooksv1.FailurePolicyIgnore
	for _, tc := range []struct {
		name    string
		slow    bool
		options []func(*server.ExtensionHandler)
		started bool
		says    string
	}{
		{"Failure keeps kops from starting", false, nil, false, "it answered Failure: not on a Friday"},
		{"Failure is not ignored", false, []func(*server.ExtensionHandler){func(h *server.ExtensionHandler) { h.FailurePolicy = &ignore }}, false, "not on a Friday"},
		{"no answer within timeoutSeconds keeps kops from starting", true,
			[]func(*server.ExtensionHandler){func(h *server.ExtensionHandler) { h.TimeoutSeconds = &second }}, false, "no answer within 1s"},
		{"no answer is ignored with failurePolicy Ignore", true,
			[]func(*server.ExtensionHandler){func(h *server.ExtensionHandler) { h.TimeoutSeconds, h.FailurePolicy = &second, &ignore }}, true, "no answer within 1s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newExtension(t, false)
			e.handle(t, "refuse", hooksv1.BeforeClusterDelete, func(ctx context.Context, q *hooksv1.BeforeClusterDeleteRequest, r *hooksv1.BeforeClusterDeleteResponse) {
				if tc.slow {
					<-ctx.Done()
				}
				r.SetStatus(hooksv1.ResponseStatusFailure)
				r.SetMessage("not on a Friday")
			}, tc.options...)
			e.start(t)
			o := e.run(t, "", "delete", "cluster", "main.example.com", "--yes")
			if started := o.done != ""; started != tc.started {
				t.Errorf("kops started: %v\n%s", started, o.stderr)
			}
			if want := map[bool]int{true: 0, false: 125}[tc.started]; o.exit != want {
				t.Errorf("exit code %d, want %d", o.exit, want)
			}
			if !strings.Contains(o.stderr, tc.says) {
				t.Errorf("standard error does not say %q:\n%s", tc.says, o.stderr)
			}
		})
	}
}

// TestCertificates trusts the server by its CA only, and shows a client certificate where one is wanted.
func TestCertificates(t *testing.T) {
	handle := func(e *extension) {
		e.handle(t, "ok", hooksv1.BeforeClusterDelete, func(_ context.Context, q *hooksv1.BeforeClusterDeleteRequest, r *hooksv1.BeforeClusterDeleteResponse) {
			e.note(q)
			r.SetStatus(hooksv1.ResponseStatusSuccess)
		})
		e.start(t)
	}
	command := []string{"delete", "cluster", "main.example.com", "--yes"}
	t.Run("a client certificate is shown", func(t *testing.T) {
		e := newExtension(t, true)
		handle(e)
		o := e.run(t, fmt.Sprintf("      certFile: %s\n      keyFile: %s\n", filepath.Join(e.dir, "client.crt"), filepath.Join(e.dir, "client.key")), command...)
		if o.exit != 0 || len(e.seen) != 1 {
			t.Errorf("exit code %d, %d requests\n%s", o.exit, len(e.seen), o.stderr)
		}
	})
	t.Run("without the client certificate that it wants, the server is not called", func(t *testing.T) {
		e := newExtension(t, true)
		handle(e)
		if o := e.run(t, "", command...); o.exit != 125 || o.done != "" || len(e.seen) != 0 {
			t.Errorf("exit code %d, kops did %q, %d requests\n%s", o.exit, o.done, len(e.seen), o.stderr)
		}
	})
	t.Run("a server of another CA is not trusted", func(t *testing.T) {
		e := newExtension(t, false)
		handle(e)
		e.ca = base64.StdEncoding.EncodeToString(certificates(t, t.TempDir()))
		o := e.run(t, "", command...)
		if o.exit != 125 || o.done != "" || !strings.Contains(o.stderr, "give the CA that signed its certificate") {
			t.Errorf("exit code %d, kops did %q\n%s", o.exit, o.done, o.stderr)
		}
	})
}

// TestOtherHooks leaves hooks of cluster classes alone: kops has nothing like them.
func TestOtherHooks(t *testing.T) {
	e := newExtension(t, false)
	e.handle(t, "patch", hooksv1.GeneratePatches, func(_ context.Context, q *hooksv1.GeneratePatchesRequest, r *hooksv1.GeneratePatchesResponse) {
		e.note(q)
	})
	e.handle(t, "gate", hooksv1.BeforeClusterDelete, func(_ context.Context, q *hooksv1.BeforeClusterDeleteRequest, r *hooksv1.BeforeClusterDeleteResponse) {
		r.SetStatus(hooksv1.ResponseStatusSuccess)
	})
	e.start(t)
	o := e.run(t, "", "delete", "cluster", "main.example.com", "--yes")
	if o.exit != 0 || len(e.seen) != 0 {
		t.Errorf("exit code %d, %d requests\n%s", o.exit, len(e.seen), o.stderr)
	}
	var names []string
	for _, s := range o.report.Steps {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"gate.printer"}) {
		t.Errorf("steps %q", names)
	}
}
