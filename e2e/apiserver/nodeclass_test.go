//go:build e2e

package apiserver

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kops/pkg/kubemanifest"

	"kopshook.dev/kopshook/internal/cli"
)

// Karpenter's own definition of EC2NodeClass, as kops ships it, takes the objects with hooks. Who owns them is what
// docs/karpenter.md says: kops' next change of its addon takes its own class back, and leaves one of another name alone.
func TestServerTakesNodeClassesWithHooks(t *testing.T) {
	ctx := t.Context()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kops").Output()
	if err != nil {
		t.Fatal(err)
	}
	kops := filepath.Join(string(bytes.TrimSpace(dir)), "tests/integration/update_cluster/karpenter")
	addon := filepath.Join(kops, "data/aws_s3_object_minimal.example.com-addons-karpenter.sh-k8s-1.19_content")
	manifest, err := os.ReadFile(addon)
	if err != nil {
		t.Fatal(err)
	}

	// what is of Karpenter's node classes in kops' addon, as a plain manifest that kops applies
	work := t.TempDir()
	apply := func(comment string, kinds ...string) {
		t.Helper()
		objects, err := kubemanifest.LoadObjectsFrom(manifest)
		if err != nil {
			t.Fatal(err)
		}
		var kept kubemanifest.ObjectList
		for _, o := range objects {
			for _, kind := range kinds {
				if o.Kind() == kind && (kind != "CustomResourceDefinition" || strings.HasPrefix(o.GetName(), "ec2nodeclasses.")) {
					kept = append(kept, o)
				}
			}
		}
		data, err := kept.ToYAML()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(work, "karpenter.yaml")
		if err := os.WriteFile(path, append([]byte("# "+comment+"\n"), data...), 0o600); err != nil {
			t.Fatal(err)
		}
		if !applyFrom(t, &url.URL{Scheme: "file", Path: path}) {
			t.Fatal("kops did nothing")
		}
	}
	apply("the definition", "CustomResourceDefinition")
	classes := cluster.dynamic.Resource(schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"})
	eventually(t, func() error {
		_, err := classes.List(ctx, metav1.ListOptions{})
		return err
	})
	apply("first", "CustomResourceDefinition", "EC2NodeClass")

	const name = "karpenter-nodes-default"
	live, err := classes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, content []byte) string {
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	given, err := live.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	hooks := "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: all}\nspec:\n  selector: {names: [" + name + "]}\n" +
		"  hooks: [{name: driver, timeout: 1m, script: \"#!/bin/sh\\ntrue\\n\"}]\n"
	var out, said bytes.Buffer
	if code := cli.Run(ctx, []string{"kopshook", "render", "-o", "ec2nodeclass", "-f", file("hooks.yaml", []byte(hooks)),
		filepath.Join(kops, "in-v1alpha2.yaml"), file("live.json", given)}, strings.NewReader(""), &out, &said); code != 0 {
		t.Fatalf("exit code %d\n%s", code, &said)
	}
	made, err := kubemanifest.LoadObjectsFrom(out.Bytes())
	if err != nil || len(made) != 1 {
		t.Fatalf("%d objects, %v", len(made), err)
	}
	object := made[0].ToUnstructured()

	// over kops' own, as the page says it
	kubeconfig, err := writeKubeconfig("karpenter", "admin-token")
	if err != nil {
		t.Fatal(err)
	}
	printed := file("made.yaml", out.Bytes())
	kubectl := func(word string) (exitCode int) {
		t.Helper()
		cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv("KOPSHOOK_PROGRAMS"), "kubectl"), "--kubeconfig", kubeconfig, word, "-f", printed)
		output, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		t.Logf("kubectl %s: %v\n%.2000s", word, err, output)
		return cmd.ProcessState.ExitCode()
	}
	if code := kubectl("diff"); code != 1 {
		t.Errorf("before: kubectl diff ends with %d", code)
	}
	if code := kubectl("apply"); code != 0 {
		t.Fatalf("kubectl apply ends with %d", code)
	}
	if code := kubectl("diff"); code != 0 {
		t.Errorf("after: kubectl diff ends with %d", code)
	}
	has := func(name string) error {
		o, err := classes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		text, _, err := unstructured.NestedString(o.Object, "spec", "userData")
		if err == nil && !strings.Contains(text, "kopshook-driver.service") {
			err = fmt.Errorf("%s: no hook in its user data", name)
		}
		return err
	}
	if err := has(name); err != nil {
		t.Error(err)
	}
	// one of the user's own
	own := object.DeepCopy()
	own.SetName("own")
	if _, err := classes.Create(ctx, own, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	apply("second", "CustomResourceDefinition", "EC2NodeClass")
	if err := has(name); err == nil {
		t.Error("kops left its own class as it was: the page says that it does not")
	}
	if err := has("own"); err != nil {
		t.Error(err)
	}
	if code := kubectl("diff"); code != 1 {
		t.Errorf("when kops has taken its class back: kubectl diff ends with %d", code)
	}
}
