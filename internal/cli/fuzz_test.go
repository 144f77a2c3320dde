package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kopshook.dev/kopshook/internal/convert"
)

// inputCommand is a command line that reads one input: the file of that name in the current folder, or standard input.
type inputCommand struct {
	args  []string
	seeds []string // files of the project
	where string   // the file that it reads, where no argument says it
}

func inputCommands() []inputCommand {
	manifests := []string{"examples/mixed/cluster.yaml", "examples/adopt/cluster.yaml", "golden/gpu/cluster.yaml"}
	commands := []inputCommand{
		{[]string{"fn"}, []string{"examples/kustomize/resourcelist.yaml"}, ""},
		{[]string{"external"}, []string{"examples/terraform/query.json"}, ""},
		{[]string{"merge", "-f", "spec.yaml", "-"}, manifests, ""},
		{[]string{"merge", "-f", "-", "manifest.yaml"}, []string{"examples/gpu/hooks.yaml", "examples/boot-tuning/hooks.yaml"}, ""},
		{[]string{"explain", "-"}, manifests, ""},
		{[]string{"lint", "-"}, manifests, ""},
		{[]string{"adopt", "-"}, manifests, ""},
		{[]string{"explain", "--user-data", "input"}, []string{"golden/gpu/cluster.yaml"}, ""},
		{[]string{"lock", "--offline", "input.yaml"}, []string{"examples/gpu/hooks.yaml", "examples/cluster-hooks/cluster-hooks.yaml"}, ""},
		{[]string{"lock", "--check", "lock/spec.yaml"}, []string{"internal/cli/testdata/kopshook.lock.yaml"}, ""},
		{[]string{"status", "input.json"}, []string{"examples/status/agent.json", "examples/status/root-ca.json"}, ""},
		{[]string{"status", "--console", "-"}, []string{"examples/status/console.txt"}, ""},
		{[]string{"exec", "--dry-run", "input.yaml", "--", "true"}, []string{"examples/cluster-hooks/cluster-hooks.yaml"}, ""},
		{[]string{"explain", "--times", "input.json", "spec.yaml", "manifest.yaml"}, []string{"examples/status/agent.json"}, ""},
		{[]string{"exec", "--dry-run", "around.yaml", "--", "./kops", "replace", "-f", "input.yaml"}, manifests, ""},
		{[]string{"exec", "--dry-run", "around.yaml", "--", "./kops", "update", "cluster", "--yes"}, []string{"internal/cli/testdata/kubeconfig.yaml"}, "kube/config"},
		{[]string{"convert", "--from", "helm", "chart.yaml"}, []string{"internal/cli/testdata/values.yaml"}, "values.yaml"},
		{[]string{"addon", "--cluster", "a.example.com", "-o", "out", "daemon.yaml"}, []string{"internal/cli/testdata/addon-index.yaml"}, "out/addon.yaml"},
	}
	for _, system := range convert.Systems() {
		commands = append(commands, inputCommand{[]string{"convert", "--from", system, "-"}, []string{"examples/convert/kubeadm.yaml", "examples/mixed/cluster.yaml"}, ""})
	}
	return commands
}

// workFolder is a folder with the files that command lines name, and makes it the current one.
func workFolder(t testing.TB) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"spec.yaml":      gitFreeSpec,
		"manifest.yaml":  "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\n  labels: {kops.k8s.io/cluster: a.example.com}\nspec:\n  role: Node\n",
		"daemon.yaml":    strings.Replace(gitFreeSpec, "name: a, script", "name: a, phase: daemon, script", 1),
		"chart.yaml":     "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, annotations: {helm.sh/hook: pre-upgrade}}\nspec: {template: {spec: {containers: [{name: a, image: a, command: [echo, {{ .Values.a | quote }}, {{ toYaml .Values | quote }}]}]}}}\n",
		"kops":           "#!/bin/sh\n",
		"around.yaml":    "apiVersion: kopshook.dev/v1alpha1\nkind: ClusterHooks\nmetadata: {name: a}\nspec:\n  selector: {}\n  hooks:\n  - {name: a, on: [before-upgrade], script: \"#!/bin/sh\\n\"}\n",
		"lock/spec.yaml": strings.Replace(gitFreeSpec, `script: "#!/bin/sh\n"`, `source: https://a.invalid/x`, 1),
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"kube", "out"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(dir, "kube", "config"))
	t.Setenv("HOME", filepath.Join(dir, "kube"))
	old, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chdir(old) })
}

const gitFreeSpec = `apiVersion: kopshook.dev/v1alpha1
kind: InstanceGroupHooks
metadata: {name: a}
spec:
  selector: {}
  hooks:
  - {name: a, script: "#!/bin/sh\n"}
`

// tryInput runs a command on an input. It must end by itself, with a code of its own, and say nothing that a CI system
// takes for a command.
func tryInput(t *testing.T, c inputCommand, input []byte) {
	t.Helper()
	where := cmp.Or(c.where, "input")
	for _, arg := range c.args {
		if strings.HasPrefix(arg, "input") {
			where = arg
		}
		if arg == "lock/spec.yaml" {
			where = "lock/kopshook.lock.yaml"
		}
	}
	if err := os.WriteFile(where, input, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	start := time.Now()
	code := Run(context.Background(), append([]string{"kopshook"}, c.args...), bytes.NewReader(input), &stdout, &stderr)
	os.Remove(where)
	if code != exitOK && code != exitFindings && code != exitInput {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	for line := range strings.Lines(stderr.String()) {
		if strings.HasPrefix(line, "::") || strings.HasPrefix(line, "##") || strings.ContainsAny(line, "\x1b\x07\r\u0085\u2028") {
			t.Errorf("it says %q", line)
		}
	}
}

// mutate makes one to four changes that break what an input is made of: its lines, its documents, its words.
func mutate(r *rand.Rand, in []byte, others [][]byte) []byte {
	for range 1 + r.IntN(4) {
		lines := bytes.SplitAfter(in, []byte("\n"))
		a, b := r.IntN(len(lines)), r.IntN(len(lines))
		switch r.IntN(12) {
		case 0:
			lines = slices.Delete(lines, min(a, b), max(a, b))
		case 1:
			lines = slices.Insert(lines, a, lines[min(a, b):max(a, b)]...)
		case 2:
			lines[a], lines[b] = lines[b], lines[a]
		case 3:
			lines = append(lines, []byte("---\n"))
		case 4:
			lines = slices.Insert(lines, a, []byte("---\n"))
		case 5:
			lines = append(lines, []byte("---\n"), others[r.IntN(len(others))])
		case 6:
			lines[a] = append([]byte("  "), lines[a]...)
		case 7:
			lines[a] = bytes.TrimLeft(lines[a], " ")
		case 8: // another value
			key, _, _ := bytes.Cut(lines[a], []byte(":"))
			values := []string{"null", "[]", "{}", "-1", "~", "!!binary x", "&a [*a]", "*a", "|", ">-", "\"\\n::error::x\\e[31m\"", "0x7fffffffffffffffffff", "'", "\"\\uFEFF\""}
			lines[a] = []byte(string(key) + ": " + values[r.IntN(len(values))] + "\n")
		case 9:
			lines[a] = bytes.Replace(lines[a], []byte("\n"), nil, 1)
		case 10:
			if n := len(lines[a]); n > 0 {
				lines[a] = slices.Clone(lines[a])
				lines[a][r.IntN(n)] = "\x00\xff\t\r\"'{}[]:#&*!|>%@`-\n "[r.IntN(23)]
			}
		case 11:
			lines = lines[:a]
		}
		in = bytes.Join(lines, nil)
		if len(in) == 0 {
			in = []byte("\n")
		}
	}
	return in
}

func readSeeds(t testing.TB, c inputCommand) [][]byte {
	t.Helper()
	var seeds [][]byte
	for _, name := range c.seeds {
		data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, data)
	}
	return seeds
}

// TestCommandsOnBrokenInput holds every command that reads something to inputs that are broken by hand, always the same
// ones. KOPSHOOK_FUZZ, a duration for each command, has it go on with others; KOPSHOOK_FUZZ_SEED, a number, chooses
// which.
func TestCommandsOnBrokenInput(t *testing.T) {
	var longer time.Duration
	seed := uint64(14)
	if s := os.Getenv("KOPSHOOK_FUZZ_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if s := os.Getenv("KOPSHOOK_FUZZ"); s != "" {
		var err error
		if longer, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range inputCommands() {
		seeds := readSeeds(t, c)
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			workFolder(t)
			for _, input := range seeds {
				tryInput(t, c, input)
				tryInput(t, c, append(slices.Clone(input), "---\n"...))
			}
			start := time.Now()
			for n := uint64(0); n < 15 || time.Since(start) < longer; n++ {
				r := rand.New(rand.NewPCG(n, seed))
				input := mutate(r, seeds[r.IntN(len(seeds))], seeds)
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					defer func() {
						if p := recover(); p != nil {
							t.Fatalf("panic: %v, for\n%s", p, input)
						}
					}()
					tryInput(t, c, input)
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

func FuzzCommands(f *testing.F) {
	commands := inputCommands()
	for i, c := range commands {
		for _, seed := range readSeeds(f, c) {
			f.Add(byte(i), seed)
		}
	}
	workFolder(f)
	f.Fuzz(func(t *testing.T, which byte, input []byte) {
		tryInput(t, commands[int(which)%len(commands)], input)
	})
}
