//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/cli"
)

// A node of a group that Karpenter manages gets the user data of an EC2NodeClass as it is: kops' script with the hooks.
func TestNodeOfAnEC2NodeClassHasItsHooks(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		dir := t.TempDir()
		file := func(name, content string) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		class, err := yaml.Marshal(map[string]any{
			"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": map[string]any{"name": "nodes"},
			"spec": map[string]any{"amiFamily": "Custom", "userData": string(userData(t))}})
		if err != nil {
			t.Fatal(err)
		}
		var out, said bytes.Buffer
		code := cli.Run(t.Context(), []string{"kopshook", "render", "-o", "ec2nodeclass", "-f", file("hooks.yaml", spec("all", allPhases)),
			file("ig.yaml", manifest+"  manager: Karpenter\n"), file("class.yaml", string(class))}, strings.NewReader(""), &out, &said)
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, &said)
		}
		var made struct{ Spec struct{ UserData string } }
		if err := yaml.Unmarshal(out.Bytes(), &made); err != nil {
			t.Fatal(err)
		}
		newNode(t, suite, []byte(made.Spec.UserData)).boot(boot.Options{End: boot.Reboot}).joins().fails().
			happens("early", "driver", "tuning", "nodeup-start", "agent-done", "kubelet-start", "label", "settled", "drain", "kubelet-stop")
	})
}
