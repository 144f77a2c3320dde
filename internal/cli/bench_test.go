package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// benchHooks are five hooks whose user data together fits into an AWS worker's user data.
func benchHooks() string {
	var b strings.Builder
	b.WriteString("apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata:\n  name: bench\nspec:\n  selector: {}\n  hooks:\n")
	for i := range 5 {
		fmt.Fprintf(&b, "  - name: hook-%d\n    weight: %d\n    script: |\n      #!/bin/sh\n      set -eu\n", i, i*10)
		for l := range 3 {
			fmt.Fprintf(&b, "      echo \"line %d of a script that installs something\" > /run/hook-%d\n", l, i)
		}
	}
	return b.String()
}

func benchManifest(groups int) string {
	var b strings.Builder
	for i := range groups {
		if i > 0 {
			b.WriteString("\n---\n\n")
		}
		fmt.Fprintf(&b, `apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  creationTimestamp: "2026-11-21T09:03:00Z"
  labels:
    kops.k8s.io/cluster: bench.example.com
  name: nodes-%04d
spec:
  additionalUserData:
  - content: |
      #!/bin/sh
      mkdir -p /var/lib/agent
    name: 00-agent.sh
    type: text/x-shellscript
  image: ubuntu-24.04
  machineType: m7i.large
  maxSize: 10
  minSize: 1
  nodeLabels:
    example.com/pool: "%d"
  role: Node
  subnets:
  - us-east-1a
  - us-east-1b
`, i, i)
	}
	return b.String()
}

// BenchmarkMerge is the merge command in one process, without start-up.
func BenchmarkMerge(b *testing.B) {
	for _, groups := range []int{1, 50, 5000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			hooks, manifest := benchFiles(b, groups)
			b.ReportAllocs()
			for b.Loop() {
				app := newApp(strings.NewReader(""), io.Discard, io.Discard)
				if err := app.RunContext(context.Background(), []string{"kopshook", "merge", hooks, manifest}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRatio says how long lint and explain of 1,000 instance groups take as a multiple of merging them, each measured
// in turn with the merge so that a busy machine slows both.
func BenchmarkRatio(b *testing.B) {
	hooks, manifest := benchFiles(b, 1000)
	run := func(b *testing.B, args ...string) time.Duration {
		start := time.Now()
		app := newApp(strings.NewReader(""), io.Discard, io.Discard)
		err := app.RunContext(context.Background(), append([]string{"kopshook"}, args...))
		if exitCode(err, io.Discard) > 1 { // 1: lint has found something
			b.Fatal(err)
		}
		return time.Since(start)
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"lint", []string{"lint", "-f", hooks, manifest}},
		{"explain/text", []string{"explain", "-f", hooks, manifest}},
		{"explain/html", []string{"explain", "-o", "html", "-f", hooks, manifest}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var merge, other time.Duration
			for b.Loop() {
				merge += run(b, "merge", hooks, manifest)
				other += run(b, c.args...)
			}
			b.ReportMetric(other.Seconds()/merge.Seconds(), "x-merge")
		})
	}
}

// BenchmarkProcess runs the built program, named by KOPSHOOK: `make bench` sets it. It also reports the
// largest memory that a run took, in MB and as a multiple of what it printed.
func BenchmarkProcess(b *testing.B) {
	program := os.Getenv("KOPSHOOK")
	if program == "" {
		b.Skip("KOPSHOOK names no program: run make bench")
	}
	run := func(b *testing.B, args ...string) {
		var printed bytes.Buffer
		for b.Loop() {
			cmd := exec.Command(program, args...)
			var stderr bytes.Buffer
			printed.Reset()
			cmd.Stdout, cmd.Stderr = &printed, &stderr
			if err := cmd.Run(); err != nil {
				b.Fatalf("%v\n%s", err, stderr.String())
			}
		}
		memory := peakMemory(b, program, args...)
		b.ReportMetric(memory/1e6, "MB")
		if printed.Len() > 1e6 { // below, it is the program itself
			b.ReportMetric(memory/float64(printed.Len()), "x-output")
		}
	}
	b.Run("start", func(b *testing.B) { run(b, "version") })
	for _, groups := range []int{1, 50, 5000} {
		b.Run(fmt.Sprintf("merge/groups=%d", groups), func(b *testing.B) {
			hooks, manifest := benchFiles(b, groups)
			run(b, "merge", hooks, manifest)
		})
	}
}

func benchFiles(b *testing.B, groups int) (hooks, manifest string) {
	dir := b.TempDir()
	hooks, manifest = filepath.Join(dir, "hooks.yaml"), filepath.Join(dir, "ig.yaml")
	for name, text := range map[string]string{hooks: benchHooks(), manifest: benchManifest(groups)} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	return hooks, manifest
}
