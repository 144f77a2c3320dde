package kopscheck

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/kopscodecs"
	"k8s.io/kops/pkg/kubemanifest"
	"k8s.io/kops/pkg/model/resources"
	"k8s.io/kops/util/pkg/text"
	"sigs.k8s.io/yaml"
)

// karpenterAddon is kops' addon for Karpenter as its templates make it of a cluster with two groups that Karpenter manages
// (tests/integration/update_cluster/karpenter in kops).
func karpenterAddon(t *testing.T) (cluster, addon string) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kops").Output()
	if err != nil {
		t.Fatal(err)
	}
	test := filepath.Join(string(bytes.TrimSpace(dir)), "tests/integration/update_cluster/karpenter")
	return filepath.Join(test, "in-v1alpha2.yaml"), filepath.Join(test, "data/aws_s3_object_minimal.example.com-addons-karpenter.sh-k8s-1.19_content")
}

// What kops made comes out as it was, but for its user data: the message that kops itself would make of its script and the
// hooks, with plain line ends.
func TestNodeClassesOfKopsGetTheHooks(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	cluster, addon := karpenterAddon(t)
	hooks := filepath.Join(t.TempDir(), "hooks.yaml")
	const spec = "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: all}\nspec:\n  selector: {names: ['karpenter-*']}\n" +
		"  hooks:\n  - {name: driver, timeout: 1m, script: \"#!/bin/sh\\ntrue\\n\"}\n"
	if err := os.WriteFile(hooks, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	classes := func(data []byte) (all []map[string]any) {
		objects, err := kubemanifest.LoadObjectsFrom(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.Kind() == "EC2NodeClass" {
				text, err := o.ToYAML()
				if err != nil {
					t.Fatal(err)
				}
				fields := map[string]any{}
				if err := yaml.Unmarshal(text, &fields); err != nil {
					t.Fatal(err)
				}
				all = append(all, fields)
			}
		}
		return all
	}
	made, err := os.ReadFile(addon)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{}
	for _, c := range classes(made) {
		name := c["metadata"].(map[string]any)["name"].(string)
		c["metadata"] = map[string]any{"name": name}
		spec := c["spec"].(map[string]any)
		// the parts as render makes them, in kops' own framing
		ig := &kops.InstanceGroup{Spec: kops.InstanceGroupSpec{Role: kops.InstanceGroupRoleNode, AdditionalUserData: partsFor(t, name, hooks, cluster)}}
		message, err := resources.AWSMultipartMIME(spec["userData"].(string), ig)
		if err != nil {
			t.Fatal(err)
		}
		spec["userData"] = strings.ReplaceAll(message, "\r\n", "\n")
		want[name] = c
	}
	if len(want) != 2 {
		t.Fatalf("kops makes %d classes", len(want))
	}
	got := map[string]map[string]any{}
	for _, c := range classes([]byte(kopshook(t, "render", "-o", "ec2nodeclass", "-f", hooks, cluster, addon))) {
		spec := c["spec"].(map[string]any)
		spec["userData"] = strings.TrimSuffix(spec["userData"].(string), "\n") + "\n" // kops' reader trims the last object
		got[c["metadata"].(map[string]any)["name"].(string)] = c
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-kops +kopshook)\n%s", diff)
	}
}

// partsFor are the parts of the hooks for a group: those that it would get if it were managed by kops.
func partsFor(t *testing.T, group, hooks, cluster string) []kops.UserData {
	t.Helper()
	data, err := os.ReadFile(cluster)
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(plain, bytes.ReplaceAll(data, []byte("  manager: Karpenter\n"), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, section := range text.SplitContentToSections([]byte(kopshook(t, "merge", "-f", hooks, plain))) {
		obj, _, err := kopscodecs.Decode(section, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ig, ok := obj.(*kops.InstanceGroup); ok && ig.Name == group {
			return ig.Spec.AdditionalUserData
		}
	}
	t.Fatalf("no instance group %q", group)
	return nil
}
