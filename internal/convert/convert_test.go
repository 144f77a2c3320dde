package convert

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"mvdan.cc/sh/v3/syntax"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/golden"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// inFolder makes Options that read below a folder.
func inFolder(dir string) Options {
	return Options{
		ReadFile: func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) },
		ReadDir: func(name string) ([]string, error) {
			entries, err := os.ReadDir(filepath.Join(dir, name))
			var names []string
			for _, e := range entries {
				if e.Type().IsRegular() {
					names = append(names, e.Name())
				}
			}
			return names, err
		},
	}
}

// TestConvert holds results, and what is said of them, against golden files. Every result must be free of errors.
func TestConvert(t *testing.T) {
	for _, tc := range []struct {
		name, from, file string
		options          func(*Options)
	}{
		{name: "tke", from: "tke"},
		{name: "eggo", from: "eggo"},
		{name: "eggo-options", from: "eggo", options: func(o *Options) {
			o.Eggo = EggoOptions{PreHooks: []string{"pre,worker"}, PostHooks: []string{"gone.sh,master", "x.sh,loadbalance"},
				ClusterPreHooks: []string{"cluster.sh"}, ClusterPostHooks: []string{"cluster.sh"}}
		}},
		{name: "eggo-cleanup", from: "eggo", options: func(o *Options) {
			*o = inFolder(filepath.Join("testdata", "eggo-options"))
			o.Eggo = EggoOptions{PreHooks: []string{"pre/10-one.sh,master"}, PostHooks: []string{"pre,master"},
				ClusterPreHooks: []string{"cluster.sh"}, ClusterPostHooks: []string{"cluster.sh"}, Operator: "cleanup"}
		}},
		{name: "eggo-join", from: "eggo", options: func(o *Options) {
			*o = inFolder(filepath.Join("testdata", "eggo-options"))
			o.Eggo = EggoOptions{PreHooks: []string{"pre,worker"}, PostHooks: []string{"pre,worker"}, Operator: "join"}
		}},
		{name: "eggo-delete", from: "eggo", options: func(o *Options) {
			*o = inFolder(filepath.Join("testdata", "eggo-options"))
			o.Eggo = EggoOptions{PreHooks: []string{"pre,worker"}, PostHooks: []string{"pre,worker"}, Operator: "delete"}
		}},
		{name: "kops", from: "kops"},
		{name: "kubeadm", from: "kubeadm"},
		{name: "extensionconfig", from: "extensionconfig"},
		{name: "eksctl", from: "eksctl"},
		{name: "helm", from: "helm", options: func(o *Options) { o.Helm.Namespace = "web" }},
		{name: "helm-template", from: "helm", file: "templates/job.yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join("testdata", tc.name)
			file := "input"
			if tc.file != "" {
				file = tc.file
			}
			opts := inFolder(filepath.Dir(filepath.Join(dir, file)))
			if tc.options != nil {
				tc.options(&opts)
			}
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				data, file = nil, "" // options alone
			}
			var r report.Report
			got := Convert(tc.from, file, data, opts, &r)
			var said bytes.Buffer
			report.Text(&said, r.Findings, report.TextOptions{})
			golden.Check(t, filepath.Join(dir, "result.yaml"), got)
			golden.Check(t, filepath.Join(dir, "said.txt"), said.Bytes())
			mustBeClean(t, got)
		})
	}
}

// mustBeClean decodes a result with the decoders of both kinds: there must be nothing to say.
func mustBeClean(t *testing.T, result []byte) {
	t.Helper()
	var r report.Report
	nodes := hookspec.Decode("result.yaml", result, &r)
	cluster := clusterhooks.Decode("result.yaml", result, &r)
	clusterhooks.CheckNames(cluster, &r)
	for _, f := range r.Findings {
		t.Errorf("the result has a mistake: %s: %s", f.Position, f.Message)
	}
	if len(nodes)+len(cluster) == 0 {
		t.Error("the result holds no specs")
	}
	if want := bytes.Count(result, []byte("\napiVersion: ")) + bytes.Count(result[:min(12, len(result))], []byte("apiVersion: ")); len(nodes)+len(cluster) != want {
		t.Errorf("of %d documents %d are specs", want, len(nodes)+len(cluster))
	}
}

func TestConvertRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, from, data string
		eggo             EggoOptions
		want             string
	}{
		{"another system", "chef", "", EggoOptions{}, "there is no system \"chef\" to convert from"},
		{"what is no YAML", "kops", "a: b: c", EggoOptions{}, "the file is not YAML"},
		{"a file without hooks", "kops", "kind: Cluster\nspec: {}", EggoOptions{}, "there are no kops hooks in it"},
		{"an empty file", "tke", "", EggoOptions{}, "there are no TKE hooks in it"},
		{"a wrong type", "kubeadm", "kind: KubeadmConfig\nspec: {preKubeadmCommands: reboot}", EggoOptions{}, "spec.preKubeadmCommands must be a list"},
		{"a mapping for a string", "eksctl", "kind: ClusterConfig\nnodeGroups:\n- preBootstrapCommands: [{a: b}]", EggoOptions{}, "nodeGroups[0].preBootstrapCommands[0] must be a string"},
		{"a template that needs Helm", "helm", "a: b\n{{ include \"x\" . }}", EggoOptions{}, "the template needs Helm: function \"include\" not defined"},
		{"a template with a mistake", "helm", "{{ .Release.Name", EggoOptions{}, "the template needs Helm: unclosed action"},
		{"an operator that eggo has not", "eggo", "", EggoOptions{Operator: "upgrade"}, "there is no operator \"upgrade\""},
		{"a cluster hook for a node", "eggo", "", EggoOptions{Operator: "join", ClusterPreHooks: []string{"x"}}, "--cluster-prehook does not go with join"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r report.Report
			if got := Convert(tc.from, "input", []byte(tc.data), Options{Eggo: tc.eggo}, &r); got != nil {
				t.Errorf("there is a result:\n%s", got)
			}
			var said bytes.Buffer
			report.Text(&said, r.Findings, report.TextOptions{})
			if !r.HasErrors() || !strings.Contains(said.String(), tc.want) {
				t.Errorf("it says %q, not %q", said.String(), tc.want)
			}
		})
	}
}

// TestConvertRefusesOtherEncodings: YAML is UTF-8, but scripts and names of files may be anything.
func TestConvertRefusesOtherEncodings(t *testing.T) {
	shell := []byte("#!/bin/sh\necho caf\xe9\n")
	for _, tc := range []struct {
		name    string
		content []byte
		eggo    EggoOptions
		want    string
	}{
		{"a shell script", shell, EggoOptions{PreHooks: []string{"a.sh,worker"}}, `"a.sh" is not UTF-8`},
		{"another script", []byte("#!/usr/bin/perl\n# caf\xe9\n"), EggoOptions{PreHooks: []string{"a.pl,worker"}}, `"a.pl" is not UTF-8`},
		{"a script without #!", []byte("echo caf\xe9\n"), EggoOptions{PreHooks: []string{"a,worker"}}, `"a" is not UTF-8`},
		{"a script of the cluster", shell, EggoOptions{ClusterPreHooks: []string{"a.sh"}}, `"a.sh" is not UTF-8`},
		{"the name of a script that is not there", nil, EggoOptions{PreHooks: []string{"caf\xe9.sh,worker"}}, `"caf\xe9.sh" is not UTF-8`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts := Options{Eggo: tc.eggo, ReadFile: func(string) ([]byte, error) {
				if tc.content == nil {
					return nil, os.ErrNotExist
				}
				return tc.content, nil
			}}
			var r report.Report
			if got := Convert("eggo", "", nil, opts, &r); got != nil {
				t.Errorf("there is a result:\n%s", got)
			}
			var said bytes.Buffer
			report.Text(&said, r.Findings, report.TextOptions{})
			if !strings.Contains(said.String(), "error: "+tc.want) || !strings.Contains(said.String(), "  hint: ") {
				t.Errorf("it says %q, not %q", said.String(), tc.want)
			}
		})
	}
}

// FuzzConvert: whatever another system's file holds, its conversion ends in an error, or in specs without mistakes,
// and no field of it is dropped in silence.
func TestReservedNamesAreNotGiven(t *testing.T) {
	for _, name := range hookspec.ReservedNames {
		c := &converter{names: map[string]bool{}}
		if got := c.free("", name); got != "hook-"+name {
			t.Errorf("%s becomes %s", name, got)
		}
	}
}

func FuzzConvert(f *testing.F) {
	inputs, err := filepath.Glob(filepath.Join("testdata", "*", "input"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range inputs {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i := range Systems() {
			f.Add(uint8(i), data)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		from := Systems()[int(n)%len(Systems())]
		if from == "helm" && bytes.Contains(data, []byte("{{")) {
			t.Skip("templates may run for long")
		}
		var r report.Report
		got := Convert(from, "input", data, Options{}, &r)
		if (got == nil) != r.HasErrors() {
			t.Fatalf("result %q, errors %v", got, r.HasErrors())
		}
		if got != nil {
			mustBeClean(t, got)
		}
	})
}

// TestNothingIsDropped adds a field to every mapping of every input, one at a time. Either it goes into the result, or
// it is said that it, or what it stands in, is not converted.
func TestNothingIsDropped(t *testing.T) {
	for _, from := range Systems() {
		t.Run(from, func(t *testing.T) {
			dir := filepath.Join("testdata", from)
			data, err := os.ReadFile(filepath.Join(dir, "input"))
			if err != nil {
				t.Fatal(err)
			}
			if from == "tke" || from == "eggo" {
				data = withoutComments(data)
			}
			var r report.Report
			roots := strict.ReadYAML("input", data, &r)
			tried := 0
			for i, root := range roots {
				for _, object := range hookspec.Members(root) {
					text := mustMarshal(t, object)
					if from == "helm" && !bytes.Contains(text, []byte("helm.sh/hook:")) || from == "extensionconfig" && !bytes.Contains(text, []byte("kind: ExtensionConfig")) {
						continue // it is said as a whole
					}
					eachMapping(object, "", func(n *yaml.Node, path string) {
						inHooks := strings.HasPrefix(path, "spec.hooks[")
						if from == "kops" && !inHooks || from == "helm" && path == "metadata.annotations" {
							return // the rest of a manifest stays where it is; Helm has no more annotations for hooks
						}
						tried++
						kept := n.Content
						n.Content = append(slices.Clone(kept), &yaml.Node{Kind: yaml.ScalarNode, Value: "added"}, &yaml.Node{Kind: yaml.ScalarNode, Value: "here"})
						defer func() { n.Content = kept }()
						var all bytes.Buffer
						for _, root := range roots {
							all.WriteString("---\n")
							all.Write(mustMarshal(t, root))
						}
						var r report.Report
						result := Convert(from, "input", all.Bytes(), inFolder(dir), &r)
						if !strings.Contains(withoutHeader(result), "added") && !isSaid(r.Findings, join(path, "added")) {
							t.Errorf("document %d: %s is dropped", i, join(path, "added"))
						}
					})
				}
			}
			if tried < 5 {
				t.Errorf("only %d mappings were tried", tried)
			}
		})
	}
}

func mustMarshal(t *testing.T, n *yaml.Node) []byte {
	t.Helper()
	b, err := yaml.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func eachMapping(n *yaml.Node, path string, f func(n *yaml.Node, path string)) {
	switch n.Kind {
	case yaml.MappingNode:
		f(n, path)
		for i := 0; i+1 < len(n.Content); i += 2 {
			eachMapping(n.Content[i+1], join(path, n.Content[i].Value), f)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			eachMapping(item, index(path, i), f)
		}
	}
}

// isSaid looks for a finding about path or about something that it stands in.
func isSaid(findings []report.Finding, path string) bool {
	return slices.ContainsFunc(findings, func(f report.Finding) bool {
		rest, ok := strings.CutPrefix(path, f.Path)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && strings.HasPrefix(f.Message, "not converted: ")
	})
}

func withoutHeader(result []byte) string {
	_, after, _ := strings.Cut(string(result), "\napiVersion: ")
	return after
}

// TestScriptsParse: every script of a result is one for a shell.
func TestScriptsParse(t *testing.T) {
	results, err := filepath.Glob(filepath.Join("testdata", "*", "result.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range results {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var r report.Report
		var scripts []string
		for _, d := range hookspec.Decode(name, data, &r) {
			for _, h := range d.Spec.Spec.Hooks {
				if h.Script != nil {
					scripts = append(scripts, *h.Script)
				}
			}
		}
		for _, d := range clusterhooks.Decode(name, data, &r) {
			for _, h := range d.Hooks {
				if h.Script != nil {
					scripts = append(scripts, *h.Script)
				}
			}
		}
		for _, s := range scripts {
			if !isShell([]byte(s)) {
				continue
			}
			if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(s), name); err != nil {
				t.Errorf("%v in\n%s", err, s)
			}
		}
	}
}
