//go:build e2e

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// kopshook try plays the cloud: the node reads its archive, a file of a bucket, and secrets, whole and by key.
func TestTryPlaysTheCloud(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := []byte("#!/bin/sh\ntest \"$(cat /etc/app/token /etc/app/password /etc/app/user)\" = tpu\n")
	sum := sha256.Sum256(tool)
	for name, data := range map[string]string{
		"ig.yaml": manifest,
		"token":   "t", "password": "p", "user": "u",
		"bucket/private-files/bin/tool": string(tool),
		"hooks.yaml": `apiVersion: kopshook.dev/v1alpha1
kind: InstanceGroupHooks
metadata: {name: private}
spec:
  selector: {}
  archive: true
  archiveURL: s3://example-kops-hooks/main
  hooks:
  - name: token
    run: every-boot
    attempts: 1
    files:
    - {path: /etc/app/token, secret: aws-ssm:/prod/token}
    - {path: /etc/app/password, secret: "aws-secretsmanager:db#password"}
    - {path: /etc/app/user, secret: "aws-secretsmanager:db#user"}
    - {path: /usr/local/bin/tool, mode: "0755", url: s3://private-files/bin/tool, sha256: "` + hex.EncodeToString(sum[:]) + `"}
    script: |
      #!/bin/sh
      exec tool
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	code, out, _ := kopshook(t, "try", "-f", in("hooks.yaml"), "--bucket", in("bucket"), "--secret", "aws-ssm:/prod/token="+in("token"),
		"--secret", "aws-secretsmanager:db#password="+in("password"), "--secret", "aws-secretsmanager:db#user="+in("user"), "-o", "json", in("ig.yaml"))
	var result struct {
		Joined bool `json:"joined"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || code != 0 || !result.Joined {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}
