package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// evil is what somebody may call a file, an instance group, a cluster or a part, to have a CI system take it for a command.
const evil = "x\n::error::made up\r\u2028\x1b[31m##[error]made up"

// ciCommand is what GitHub and Azure take for one in a log: white space before it does not matter, nor what stands before "##".
var ciCommand = regexp.MustCompile(`(?m)^\s*::|##(vso)?\[`)

func evilYAML() string {
	return `"` + strings.NewReplacer("\n", `\n`, "\r", `\r`, "\u2028", `\L`, "\x1b", `\e`).Replace(evil) + `"`
}

func TestNoNameBreaksALineOfTextOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	manifest, spec, status := evil+".yaml", "spec "+evil+".yaml", "status "+evil+".json"
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(manifest, "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: "+evilYAML()+"\n  labels: {kops.k8s.io/cluster: "+evilYAML()+"}\n"+
		"spec:\n  role: Node\n  image: "+evilYAML()+"\n  additionalUserData:\n  - name: "+evilYAML()+"\n    type: text/x-shellscript\n    content: |\n      #!/bin/sh\n      echo\n"+
		"  - name: kopshook-"+evilYAML()[1:len(evilYAML())-1]+"\n    type: text/x-shellscript\n    content: x\n")
	write("plain.yaml", "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\n  labels: {kops.k8s.io/cluster: a.example.com}\nspec:\n  role: Node\n  minSize: 1\n"+
		"  additionalUserData:\n  - name: "+evilYAML()+"\n    type: text/x-shellscript\n    content: |\n      #!/bin/sh\n      echo\n")
	plain := "plain " + evil + ".yaml"
	if err := os.Symlink("plain.yaml", plain); err != nil {
		t.Fatal(err)
	}
	byHand := "by hand " + evil + ".yaml"
	write(byHand, "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\n  labels: {kops.k8s.io/cluster: a.example.com}\nspec:\n  role: Node\n"+
		"  additionalUserData:\n  - name: a.sh\n    type: text/x-shellscript\n    content: |\n      #!/bin/sh\n      echo\n")
	write(spec, gitFreeSpec)
	write("locked/"+spec, strings.Replace(gitFreeSpec, `script: "#!/bin/sh\n"`, `source: `+`"https://a.invalid/`+evilYAML()[1:], 1))
	write(status, `{"hook": "a\n::error::x", "phase": "pre-nodeup", "state": "failed", "attempts": 1, "reason": "\n::error::x"}`)
	write("user-data", "#!/bin/sh\n")
	tried := map[string]bool{}
	for _, args := range [][]string{
		{"merge", "-w", spec, manifest}, {"merge", "-f", evil, plain}, {"merge", "-f", spec, evil},
		{"check", spec, manifest}, {"check", spec, plain}, {"check", "--forecast", spec, plain}, {"check", "--user-data", evil, spec, plain},
		{"diff", spec, manifest}, {"diff", spec, plain}, {"diff", "--forecast", spec, plain},
		{"list", spec, manifest}, {"list", spec, plain}, {"fit", spec, plain}, {"fit", spec, manifest},
		{"lint", spec, manifest}, {"lint", spec, plain}, {"explain", spec, manifest}, {"explain", spec, plain}, {"explain", "-o", "mermaid", spec, plain},
		{"adopt", manifest}, {"adopt", plain}, {"adopt", "-o", "new " + evil, plain}, {"adopt", "-o", "newer " + evil, byHand},
		{"adopt", "-o", "newest " + evil, "-w", byHand}, {"render", "-g", evil, spec, plain},
		{"lock", "--offline", spec}, {"lock", "--check", "locked/" + spec}, {"lock", "--update", evil, spec}, {"vendor", "-f", spec, evil},
		{"status", status}, {"status", "--console", evil}, {"new", evil}, {"new", "-o", spec, "nvidia-driver"}, {"new", "-o", "fresh " + evil, "nvidia-driver"}, {"convert", "--from", evil, plain},
		{"convert", "--from", "kops", manifest}, {"exec", evil, "--", "kops", "update"}, {"exec", "--dry-run", spec, "--", "kops", evil}, {"addon", "-f", spec, evil},
		{evil}, {"merge", "--" + evil}, {"edit", "-f", spec, manifest}, {"external", evil}, {"schema", evil}, {"completion", evil}, {"fn", evil},
		{"push", "--dry-run", spec, plain}, {"push", "--dry-run", evil}, {"bake", "-g", evil, spec, plain}, {"bake", spec, plain}, {"try", "--suite", evil, spec, plain},
	} {
		tried[args[0]] = true
		var stdout, stderr bytes.Buffer
		Run(context.Background(), append([]string{"kopshook"}, args...), strings.NewReader(""), &stdout, &stderr)
		for name, out := range map[string]string{"standard output": stdout.String(), "standard error": stderr.String()} {
			if (args[0] == "adopt" || args[0] == "convert") && name == "standard output" {
				continue // a spec, for other programs
			}
			if ciCommand.MatchString(out) || strings.ContainsAny(out, "\r\u2028\x1b") {
				t.Errorf("kopshook %q: %s is\n%q", args, name, out)
			}
		}
	}
	for _, c := range newApp(strings.NewReader(""), io.Discard, io.Discard).VisibleCommands() {
		if !tried[c.Name] && !slices.Contains([]string{"help", "version", "completion"}, c.Name) {
			t.Errorf("kopshook %s is not tried with names that break lines: add it above", c.Name)
		}
	}
}
