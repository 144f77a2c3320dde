//go:build e2e

package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/templates"
)

// What a node gets of each store, and what it says where it gets nothing.
func TestNodeReadsStoresOfSecrets(t *testing.T) {
	runtime, err := templates.Get("v1")
	if err != nil {
		t.Fatal(err)
	}
	const arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:far-AbCdEf"
	for name, c := range map[string]struct {
		cloud
		secret, want, why string
	}{
		"a parameter":               {cloud{Secrets: map[string]string{"aws-ssm:/prod/token": "s3cr3t é\n"}}, "aws-ssm:/prod/token", "s3cr3t é\n", ""},
		"a secret of AWS":           {cloud{Secrets: map[string]string{"aws-secretsmanager:prod/x": "s3cr3t"}}, "aws-secretsmanager:prod/x", "s3cr3t", ""},
		"in another region":         {cloud{Secrets: map[string]string{"aws-secretsmanager:" + arn: "s3cr3t"}}, "aws-secretsmanager:" + arn, "s3cr3t", ""},
		"a binary one":              {cloud{Secrets: map[string]string{"aws-secretsmanager:x": "binary \x00\x01"}}, "aws-secretsmanager:x", "\x00\x01", ""},
		"one value of a secret":     {cloud{Secrets: map[string]string{"aws-secretsmanager:x": `{"user":"u","password":"p\u00e9"}`}}, "aws-secretsmanager:x#password", "pé", ""},
		"one value, a number":       {cloud{Secrets: map[string]string{"aws-ssm:x": `{"port":5432}`}}, "aws-ssm:x#port", "5432", ""},
		"a value that is not there": {cloud{Secrets: map[string]string{"aws-ssm:x": `{"port":5432}`}}, "aws-ssm:x#host", "", "aws-ssm:x#host: its JSON does not have this key"},
		"a value of what is text":   {cloud{Secrets: map[string]string{"aws-ssm:x": "s3cr3t"}}, "aws-ssm:x#host", "", "aws-ssm:x#host: Expecting value: line 1 column 1  char 0 "},
		"of Google":                 {cloud{Secrets: map[string]string{"gcp-secretmanager:projects/e2e-project/secrets/x/versions/latest": "s3cr3t"}}, "gcp-secretmanager:x", "s3cr3t", ""},
		"of Google, a version":      {cloud{Secrets: map[string]string{"gcp-secretmanager:projects/p/secrets/x/versions/3": "s3cr3t"}}, "gcp-secretmanager:projects/p/secrets/x/versions/3", "s3cr3t", ""},
		"of Azure":                  {cloud{Secrets: map[string]string{"azure-keyvault:kopshook-e2e/x": "s3cr3t"}}, "azure-keyvault:kopshook-e2e/x", "s3cr3t", ""},
		"rights that come late":     {cloud{Fault: "late rights", Secrets: map[string]string{"aws-ssm:x": "s3cr3t"}}, "aws-ssm:x", "s3cr3t", ""},
		"a clock that is late":      {cloud{Fault: "clock", Secrets: map[string]string{"aws-ssm:x": "s3cr3t"}}, "aws-ssm:x", "s3cr3t", ""},
		"not there":                 {cloud{}, "aws-ssm:x", "", "aws-ssm:x: NotFound, asked as nodes.e2e.example.com"},
		"no rights":                 {cloud{Fault: "denied"}, "aws-secretsmanager:x", "", "aws-secretsmanager:x: AccessDenied, asked as nodes.e2e.example.com"},
		"no rights at Google":       {cloud{Fault: "denied"}, "gcp-secretmanager:x", "", "gcp-secretmanager:x: AccessDenied, asked as the service account"},
		"no rights at Azure":        {cloud{Fault: "denied"}, "azure-keyvault:kopshook-e2e/x", "", "azure-keyvault:kopshook-e2e/x: AccessDenied, asked as the managed identity"},
		"no role":                   {cloud{Fault: "no role"}, "aws-ssm:x", "", "aws-ssm:x: metadata service, latest/meta-data/iam/security-credentials/: HTTP Error 404: Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme, _, _ := strings.Cut(c.secret, ":")
			text, err := runtime.Reader([]string{scheme})
			if err != nil {
				t.Fatal(err)
			}
			text = strings.ReplaceAll(text, "time.sleep(1<<n)", "time.sleep(0)")
			out := inCloud(t, &c.cloud, "mkdir -p /run/kopshook\nmount -t tmpfs none /run/kopshook\numask 22\ncat > r.py << 'END'\n"+text+"END\n"+
				"/usr/bin/python3 -I r.py label \"$PWD/etc/link\" /run/kopshook/secrets/h/0 0600 root:root - '"+c.secret+"' > out 2>&1 || rc=$?\n"+
				"echo \"${rc-0} $(readlink etc/link) $(stat -c %a%U etc/link/. /run/kopshook/secrets/h/0 2>&1 | tail -n1)\"; cat label 2>/dev/null || base64 < etc/link; ls /run/kopshook/secret.* 2>/dev/null || :")
			got := strings.SplitN(out, "\n", 2)
			if c.why != "" {
				if want := "files: " + c.why + ":\n"; !strings.HasPrefix(got[0], "1 ") || got[1] != want {
					t.Errorf("%s, want %q", out, want)
				}
				return
			}
			value, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(got[1], "\n", ""))
			if got[0] != "0 /run/kopshook/secrets/h/0 600root" || err != nil || string(value) != c.want {
				t.Errorf("%s, %q, want %q", out, value, c.want)
			}
		})
	}
}

const secretSpec = `apiVersion: kopshook.dev/v1alpha1
kind: InstanceGroupHooks
metadata:
  name: secrets
spec:
  selector: {}
  hooks:
  - name: every
    run: every-boot
    attempts: 1
    files:
    - {path: /etc/app/token, secret: aws-ssm:/prod/token}
    - {path: /run/app/password, secret: "aws-secretsmanager:prod/db#password", owner: daemon:adm, mode: "0440"}
    script: |
      #!/bin/sh
      /trial/bin/event "every-$(cut -c 1-3 /etc/app/token)"
  - name: once
    attempts: 2
    files:
    - {path: /etc/app/key, secret: aws-ssm:/prod/key, mode: "0400"}
    - path: /usr/local/bin/tool
      mode: "0755"
      url: [https://files.example.com/nobody, s3://kopshook-e2e/bin/nobody, s3://kopshook-e2e/bin/tool v1]
      sha256: SUM
    script: |
      #!/bin/sh
      /usr/local/bin/tool
`

// Secrets are where they belong and nowhere else: neither on the disk nor in the journal, on the console or in a process's
// arguments. A hook of every boot asks for them again. Private files come from a bucket. Without rights the node stays
// closed, and the console says what is missing.
func TestSecretsAreWhereTheyBelong(t *testing.T) {
	tool := []byte("#!/bin/sh\n/trial/bin/event tool\n")
	sum := sha256.Sum256(tool)
	spec := strings.NewReplacer("SUM", hex.EncodeToString(sum[:]), "tool v1", "tool%20v1").Replace(secretSpec)
	secrets := map[string]string{"aws-ssm:/prod/token": "one-Quoh8aer", "aws-secretsmanager:prod/db": `{"password":"Ieh2soop"}`, "aws-ssm:/prod/key": "Ohgh4eil"}
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec)...))
		c := &cloud{Secrets: maps.Clone(secrets), Objects: map[string][]byte{"kopshook-e2e/bin/tool%20v1": tool}}
		n.lives(c)
		// the folder of the trial holds the cloud itself
		r := n.boot(boot.Options{Scenario: `until systemctl -q is-active kubelet; do sleep 1; done
journalctl --sync
journalctl -o export > /dev/shm/journal
grep -rlE '[Q]uoh8aer|[I]eh2soop|[O]hgh4eil' / --exclude-dir=proc --exclude-dir=sys --exclude-dir=trial 2>/dev/null | sort
stat -c '%N %a %U:%G' /etc/app/token /run/kopshook/secrets/every/0 /run/app/password /etc/app/key /usr/local/bin/tool
ls -d /run/kopshook/secret.* 2>/dev/null
cat /run/app/password`})
		r.joins().fails().ordered("every-one", "tool", "nodeup-start", "kubelet-start")
		if regexp.MustCompile("Quoh8aer|Ieh2soop|Ohgh4eil").MatchString(r.Console) {
			t.Error("the console shows a secret")
		}
		want := `/etc/app/key
/run/app/password
/run/kopshook/secrets/every/0
'/etc/app/token' -> '/run/kopshook/secrets/every/0' 777 root:root
'/run/kopshook/secrets/every/0' 600 root:root
'/run/app/password' 440 daemon:adm
'/etc/app/key' 400 root:root
'/usr/local/bin/tool' 755 root:root
Ieh2soop`
		if diff := cmp.Diff(want, strings.TrimSpace(r.Scenario)); diff != "" {
			t.Error(diff)
		}
		out, _ := exec.Command("grep", "-rlE", "--exclude-dir=trial", "Quoh8aer|Ieh2soop|Ohgh4eil", filepath.Join(n.Dir(), "disk")).Output()
		if files := strings.Fields(string(out)); len(files) != 1 || !strings.HasSuffix(files[0], "/etc/app/key") {
			t.Errorf("on the disk of a node that is down: %s", files)
		}
		// a secret that changed comes with the next boot
		c.Secrets["aws-ssm:/prod/token"] = "two"
		n.lives(c)
		n.boot(boot.Options{}).joins().fails().ordered("every-two", "kubelet-start").never("tool", "every-one")
		c.Fault = "denied"
		n.lives(c)
		r = n.boot(boot.Options{Limit: 5 * time.Minute})
		r.blocks().fails("kopshook-every.service").contains("console", r.Console, `"reason":"files: aws-ssm:/prod/token: AccessDenied, asked as nodes.e2e.example.com: exit status 1"`)
	})
}
