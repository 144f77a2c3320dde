//go:build e2e

package kops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kopshook.dev/kopshook/internal/nodestatus"
)

// life is what becomes of the hook: when it is rolled out: a change of it fails, it goes back, runs again since somebody asks for
// it, and is disabled, which takes back what it did.
func life(ctx context.Context, n *node) error {
	const file = "/etc/tuned-runs"
	dir := n.t.TempDir()
	runs := func(want int) func() error {
		return func() error {
			text, err := n.ReadFile(file)
			if got := strings.Count(string(text), "ran"); got != want {
				return fmt.Errorf("the hook ran %d times, want %d: %v", got, want, err)
			}
			return onlyPodReady(ctx, n.name)
		}
	}
	status := func(want nodestatus.State) func() error {
		return func() error {
			var got nodestatus.State
			if text, err := n.ReadFile(nodestatus.Dir + "/tune.json"); err == nil {
				s, err := nodestatus.Parse(text)
				if err != nil {
					return err
				}
				got = s.State
			}
			if got != want {
				return fmt.Errorf("the hook is %q, want %q", got, want)
			}
			return nil
		}
	}
	for _, step := range []struct {
		what string
		do   func() error
		then []func() error
	}{
		{"rolled out", func() error { return nil }, []func() error{runs(1), status(nodestatus.Succeeded)}},
		{"a change that fails", func() error {
			return apply(ctx, dir, spec(strings.Replace(daemonHook, "set -eu", "exit 7", 1)+"  attempts: 1\n"))
		},
			[]func() error{status(nodestatus.Failed), func() error {
				if onlyPodReady(ctx, n.name) == nil {
					return errors.New("the pod is ready")
				}
				return nil
			}}},
		{"gone back", func() error { return apply(ctx, dir, spec(daemonHook)) }, []func() error{status(nodestatus.Succeeded), runs(1)}},
		{"run again", func() error {
			_, err := api.AppsV1().DaemonSets("kube-system").Patch(ctx, "kopshook-tune", types.StrategicMergePatchType,
				[]byte(`{"spec":{"template":{"metadata":{"annotations":{"kopshook.dev/again":"tune=1"}}}}}`), metav1.PatchOptions{})
			return err
		}, []func() error{runs(2), status(nodestatus.Succeeded)}},
		{"disabled", func() error { return apply(ctx, dir, spec(daemonHook+"  enabled: false\n")) }, []func() error{status(""), func() error {
			if _, err := n.ReadFile("/opt/kopshook/daemon/tune/script"); err == nil {
				return errors.New("its script is still there")
			}
			if text, err := n.ReadFile(file); err != nil || !strings.HasSuffix(string(text), "undone on "+n.name+"\n") {
				return fmt.Errorf("what it did is not taken back: %q, %v", text, err)
			}
			return onlyPodReady(ctx, n.name)
		}}},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		for _, then := range step.then {
			if err := eventually(ctx, then); err != nil {
				return fmt.Errorf("%s: %w", step.what, err)
			}
		}
	}
	return nil
}

// eventually tries once a second, for a minute and a half where machines are as quick as elsewhere.
func eventually(ctx context.Context, try func() error) error {
	for end := time.Now().Add(patient(90 * time.Second)); time.Now().Before(end); {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
	return try()
}

// onlyPodReady says whether the node's pod of the addon is Ready, and the only one: what it has to run ran there once.
func onlyPodReady(ctx context.Context, node string) error {
	pods, err := api.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node, LabelSelector: "kopshook.dev/spec"})
	if err != nil {
		return err
	}
	if len(pods.Items) != 1 {
		return fmt.Errorf("there are %d pods", len(pods.Items))
	}
	p := pods.Items[0]
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" && p.DeletionTimestamp == nil {
			return nil
		}
	}
	return fmt.Errorf("pod %s is %s: %v %v", p.Name, p.Status.Phase, p.Status.Conditions, p.Status.ContainerStatuses)
}
