//go:build e2e

package kops

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/nodestatus"
)

// suites are the releases that real nodes are booted of.
var suites = func() (list []boot.Suite) {
	for _, name := range []string{"trixie", "bookworm", "testing"} {
		s, err := boot.FindSuite(name)
		if err != nil {
			panic(err)
		}
		list = append(list, s)
	}
	return list
}()

// node is a machine of the cluster under test.
type node struct {
	*boot.Machine
	name  string
	t     *testing.T
	began time.Time // its last boot, to the second
}

func newNode(t *testing.T, group, suite string) *node {
	t.Helper()
	m, name, err := theCluster.NewNode(context.Background(), group, boot.Config{Suite: suite, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	if suite == "testing" { // it has no version, and nodeup boots on no system without one (util/pkg/distributions/identify.go)
		text, err := m.ReadFile("/usr/lib/os-release")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.WriteFile(boot.File{Path: "/etc/os-release", Content: append(text, "VERSION_ID=\"13\"\n"...)}); err != nil {
			t.Fatal(err)
		}
	}
	return &node{Machine: m, name: name, t: t}
}

// boot boots the node once; its journal is shown when the test fails.
func (n *node) boot(o boot.Options) *boot.Result {
	n.t.Helper()
	o.Limit = patient(cmp.Or(o.Limit, 3*time.Minute))
	start := time.Now()
	n.began = start.Truncate(time.Second)
	r, err := n.Boot(context.Background(), o)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Logf("boot %d of %s: %s, %.0f s", r.Number, n.name, r.Outcome, time.Since(start).Seconds())
	n.t.Cleanup(func() {
		if n.t.Failed() || os.Getenv("KOPSHOOK_E2E_SHOW") != "" {
			n.t.Logf("boot %d: failed units %v; jobs left %v\n%s", r.Number, r.Failed, r.Jobs, r.Timeline)
			n.t.Logf("boot %d: scenario\n%s", r.Number, r.Scenario)
			for _, unit := range []string{"kops-configuration.service", "containerd.service", "kubelet.service"} {
				log := r.Journal(unit)
				n.t.Logf("boot %d: %s\n%s", r.Number, unit, log[max(0, len(log)-6000):])
			}
		}
	})
	return r
}

// ready waits until the kubelet of this boot has told the API that the node is Ready. It is nil when that does not happen.
func (n *node) ready(ctx context.Context) *corev1.Node {
	ctx, stop := context.WithTimeout(ctx, patient(2*time.Minute))
	defer stop()
	for {
		v, err := api.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err == nil && isReady(v, n.began) {
			return v
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// isReady says whether a node is Ready, by what its kubelet said since then.
func isReady(n *corev1.Node, since time.Time) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue && !c.LastHeartbeatTime.Time.Before(since)
		}
	}
	return false
}

// known says whether the API has the node.
func (n *node) known() bool {
	_, err := api.CoreV1().Nodes().Get(context.Background(), n.name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		n.t.Error(err)
	}
	return err == nil
}

// state is the state that a hook's status file tells.
func (n *node) state(hook string) nodestatus.State {
	n.t.Helper()
	data, err := n.ReadFile(nodestatus.Dir + "/" + hook + ".json")
	if err != nil {
		n.t.Errorf("hook %s has no status: %v", hook, err)
		return ""
	}
	var s nodestatus.Status
	if s, err = nodestatus.Parse(data); err != nil {
		n.t.Errorf("status of hook %s: %v", hook, err)
	}
	return s.State
}

// inOrder lists what is wrong with the order of events: each must be there, and none before the one in front of it.
func inOrder(r *boot.Result, names ...string) []string {
	var wrong []string
	for i, name := range names {
		if _, ok := r.Timeline.First(name); !ok {
			wrong = append(wrong, fmt.Sprintf("boot %d: %s did not happen", r.Number, name))
		} else if i > 0 && !r.Timeline.Before(names[i-1], name) {
			wrong = append(wrong, fmt.Sprintf("boot %d: %s did not come before %s", r.Number, names[i-1], name))
		}
	}
	return wrong
}

// settles says what is wrong with a boot that ought to go well.
func settles(r *boot.Result) []string {
	var wrong []string
	if r.Outcome != boot.Settled {
		wrong = append(wrong, fmt.Sprintf("boot %d: %s, want settled; jobs left: %v", r.Number, r.Outcome, r.Jobs))
	}
	if len(r.Failed) > 0 {
		wrong = append(wrong, fmt.Sprintf("boot %d: units failed: %v", r.Number, r.Failed))
	}
	if n := r.Timeline.Count("started kubelet.service"); n != 1 {
		wrong = append(wrong, fmt.Sprintf("boot %d: the kubelet started %d times, want once", r.Number, n))
	}
	return wrong
}

func report(t *testing.T, wrong ...[]string) {
	t.Helper()
	for _, list := range wrong {
		for _, text := range list {
			t.Error(text)
		}
	}
}

func replace(text, old, new string) string { return strings.ReplaceAll(text, old, new) }
