package budget

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/golden"
	"kopshook.dev/kopshook/internal/report"
)

// workerScript is the size of kops' bootstrap script on a worker, of a cluster called k.example.com.
const workerScript = 5021

// way is one way to bring hooks to a node.
type way struct {
	name string
	size func(t *testing.T, hooks []generator.Hook) int // bytes of user data
}

// TestTwentyHooks holds the table of docs/performance.md: what twenty hooks as people write them take.
func TestTwentyHooks(t *testing.T) {
	hooks := twenty(t)
	sum := 0
	for _, h := range hooks {
		sum += len(h.Scripts[0].Content)
	}
	ways := []way{
		{"cloud-config as people write it: `write_files` and `runcmd`", func(t *testing.T, hooks []generator.Hook) int {
			return message(cloudConfig(hooks))
		}},
		{"the same in base64, as Terraform's `cloudinit_config` makes it", func(t *testing.T, hooks []generator.Hook) int {
			m := message(cloudConfig(hooks)) - workerScript
			return workerScript + base64.StdEncoding.EncodedLen(m)
		}},
		{"kopshook, plain text", func(t *testing.T, hooks []generator.Hook) int { return generated(t, hooks) }},
		{"kopshook, `compress: true`", func(t *testing.T, hooks []generator.Hook) int { return generated(t, compressed(hooks, nil)) }},
		{"kopshook, `archive: true`", func(t *testing.T, hooks []generator.Hook) int { return generated(t, archived(hooks)) }},
		{"kopshook, `archiveURL: s3://...`", func(t *testing.T, hooks []generator.Hook) int { return generated(t, inBucket(hooks)) }},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| way | bytes for all twenty | how many fit into 16,384 |\n| --- | ---: | ---: |\n")
	for _, w := range ways {
		fits := 0
		for n := range len(hooks) + 1 {
			if n > 0 && w.size(t, hooks[:n]) <= limits[kops.CloudProviderAWS].Bytes {
				fits = n
			}
		}
		how := fmt.Sprint(fits)
		if fits == len(hooks) {
			how = "all"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", w.name, report.Thousands(w.size(t, hooks)), how)
	}
	fmt.Fprintf(&b, "\nThe scripts alone are %s bytes; kops' own script, %s bytes, is in all numbers.\n", report.Thousands(sum), report.Thousands(workerScript))

	page := filepath.Join("..", "..", "docs", "performance.md")
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- twenty hooks -->\n", "<!-- end -->\n"
	head, rest, ok := strings.Cut(string(data), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table between %q and %q", page, begin, end)
	}
	if golden.Update() {
		if err := os.WriteFile(page, []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, b.String()); diff != "" {
		t.Errorf("%s is not what is measured; make golden writes it\n%s", page, diff)
	}
}

func twenty(t *testing.T) []generator.Hook {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "twenty", "*"))
	if err != nil || len(files) != 20 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	var hooks []generator.Hook
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		hooks = append(hooks, generator.Hook{
			Name: filepath.Base(f)[3:], Phase: generator.PreNodeup, Attempts: 3, Timeout: 20 * time.Minute, RetryDelay: 10 * time.Second,
			Scripts: []generator.Script{{Name: "script", Content: content}},
		})
	}
	return hooks
}

func message(parts ...cloudinit.Part) int {
	return len(cloudinit.Message(bytes.Repeat([]byte("x"), workerScript), "Node", parts))
}

// cloudConfig is how people bring scripts to nodes: files, and commands that run them. Nothing waits for them.
func cloudConfig(hooks []generator.Hook) cloudinit.Part {
	var b strings.Builder
	b.WriteString("#cloud-config\nwrite_files:\n")
	for _, h := range hooks {
		fmt.Fprintf(&b, "- path: /opt/hooks/%s\n  permissions: '0755'\n  content: |\n", h.Name)
		for line := range strings.Lines(string(h.Scripts[0].Content)) {
			if line != "\n" {
				b.WriteString("    ")
			}
			b.WriteString(line)
		}
	}
	b.WriteString("runcmd:\n")
	for _, h := range hooks {
		fmt.Fprintf(&b, "- /opt/hooks/%s\n", h.Name)
	}
	return cloudinit.Part{Name: "hooks.yaml", Type: "text/cloud-config", Content: b.String()}
}

func generated(t *testing.T, hooks []generator.Hook) int {
	t.Helper()
	parts, err := generator.Generate(generator.InstanceGroup{Cluster: "k.example.com", Name: "nodes", Role: "Node"}, "v1", hooks)
	if err != nil {
		t.Fatal(err)
	}
	var all []cloudinit.Part
	for _, p := range parts {
		all = append(all, cloudinit.Part(p))
	}
	return message(all...)
}

func inBucket(hooks []generator.Hook) []generator.Hook {
	hooks = archived(hooks)
	for i := range hooks {
		hooks[i].ArchiveURL = "s3://example-bucket/kopshook"
	}
	return hooks
}
