package hookspec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// decode returns the only document of data, which must be free of mistakes.
func decode(t *testing.T, file, data string) *Doc {
	t.Helper()
	var r report.Report
	docs := Decode(file, []byte(data), &r)
	if len(r.Findings) > 0 {
		t.Fatalf("findings: %+v", r.Findings)
	}
	if len(docs) != 1 {
		t.Fatalf("%d documents", len(docs))
	}
	return docs[0]
}

// mistakes returns what Decode says, as "line:col path: message".
func mistakes(file, data string) []string {
	var r report.Report
	Decode(file, []byte(data), &r)
	var said []string
	for _, f := range r.Findings {
		said = append(said, fmt.Sprintf("%d:%d %s: %s", f.Line, f.Col, f.Path, f.Message))
	}
	return said
}

const everyField = `apiVersion: kopshook.dev/v1alpha1
kind: InstanceGroupHooks
metadata:
  name: full
  labels: {team: infra}
  annotations: {a.b/c: d}
spec:
  runtime: v1
  selector:
    clusters: ["*.example.com"]
    names: ["gpu-*", gpu]
    excludeNames: [gpu-spot]
    roles: [Node, Master]
    matchLabels: {a: b}
    nodeLabels: {c: "1"}
  compress: true
  hooks:
  - name: driver
    phase: pre-kubelet
    weight: -400
    run: once-per-instance
    script: |
      #!/bin/sh
      echo hi
    verify: nvidia-smi -L
    env: {A: "580", B: "yes"}
    timeout: 1h30m
    attempts: 5
    retryDelay: 0s
    onFailure: continue
    before: [containerd.service]
    rebootExitCodes: [100, 255]
    compress: false
    cleanup: on-success
    files:
    - path: /etc/a
      content: "a\n"
      mode: "0600"
      owner: app:app
    - path: /etc/b
      contentBase64: |
        aGk=
    - path: /etc/c
      source: files/c
      mode: "4755"
      owner: "1000:1000"
    - path: /etc/d
      url: https://example.com/d
      sha256: AB34567890123456789012345678901234567890123456789012345678901234
    - path: /etc/e
      url: [http://example.com/e, https://example.org/e]
      sha256: ab34567890123456789012345678901234567890123456789012345678901234
    - {path: /etc/f, secret: aws-ssm:/prod/token}
    dropIns:
    - unit: containerd.service
      content: |
        [Service]
        LimitNOFILE=infinity
    cloudConfig:
      apt: {preserve_sources_list: true}
    enabled: false
  - name: kept
    phase: daemon
    script: "#!/bin/sh"
    verify: "true"
    onDrift: run
    undo: rm -f /etc/a
  - name: dir
    phase: [pre-nodeup, post-kubelet]
    source: scripts
  overrides:
  - selector: {names: [gpu-old]}
    hooks:
      driver: {env: {A: "570"}, weight: 3}
  archive: true
  archiveURL: s3://hooks-example/prod
`

func TestEveryFieldIsDecoded(t *testing.T) {
	d := decode(t, "full.yaml", everyField)
	want := InstanceGroupHooks{
		APIVersion: APIVersion,
		Kind:       Kind,
		Metadata:   Metadata{Name: "full", Labels: map[string]string{"team": "infra"}, Annotations: map[string]string{"a.b/c": "d"}},
		Spec: Spec{
			Runtime: "v1",
			Selector: &Selector{Clusters: []string{"*.example.com"}, Names: []string{"gpu-*", "gpu"}, ExcludeNames: []string{"gpu-spot"},
				Roles: []string{"Node", "Master"}, MatchLabels: map[string]string{"a": "b"}, NodeLabels: map[string]string{"c": "1"}},
			Compress:   true,
			Archive:    true,
			ArchiveURL: "s3://hooks-example/prod",
			Hooks: []Hook{
				{
					Name: "driver", Phase: PhaseList{PreKubelet}, Weight: ptr(-400), Run: ptr("once-per-instance"), Script: ptr("#!/bin/sh\necho hi\n"),
					Verify: ptr("nvidia-smi -L"), Env: map[string]string{"A": "580", "B": "yes"}, Timeout: ptr(90 * time.Minute), Attempts: ptr(5),
					RetryDelay: ptr(time.Duration(0)), OnFailure: ptr("continue"), Before: []string{"containerd.service"}, RebootExitCodes: []int{100, 255},
					Compress: ptr(false), Cleanup: ptr("on-success"),
					Files: []File{
						{Path: "/etc/a", Content: ptr("a\n"), Mode: ptr("0600"), Owner: ptr("app:app")},
						{Path: "/etc/b", ContentBase64: ptr("aGk=")},
						{Path: "/etc/c", Source: ptr("files/c"), Mode: ptr("4755"), Owner: ptr("1000:1000")},
						{Path: "/etc/d", URL: URLList{"https://example.com/d"}, SHA256: ptr("ab34567890123456789012345678901234567890123456789012345678901234")},
						{Path: "/etc/e", URL: URLList{"http://example.com/e", "https://example.org/e"}, SHA256: ptr("ab34567890123456789012345678901234567890123456789012345678901234")},
						{Path: "/etc/f", Secret: ptr("aws-ssm:/prod/token")},
					},
					DropIns: []DropIn{{Unit: "containerd.service", Content: "[Service]\nLimitNOFILE=infinity\n"}},
					Enabled: ptr(false),
				},
				{Name: "kept", Phase: PhaseList{Daemon}, Script: ptr("#!/bin/sh"), Verify: ptr("true"), OnDrift: ptr("run"), Undo: ptr("rm -f /etc/a")},
				{Name: "dir", Phase: PhaseList{PreNodeup, PostKubelet}, Source: ptr("scripts")},
			},
			Overrides: []Override{{Selector: &Selector{Names: []string{"gpu-old"}}, Hooks: map[string]Hook{"driver": {Env: map[string]string{"A": "570"}, Weight: ptr(3)}}}},
		},
	}
	if diff := cmp.Diff(want, d.Spec, cmpopts.IgnoreTypes(&yaml.Node{})); diff != "" {
		t.Error(diff)
	}
	out, err := yaml.Marshal(d.Spec.Spec.Hooks[0].CloudConfig)
	if diff := cmp.Diff("apt: {preserve_sources_list: true}\n", string(out)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// what this test forgets, the decoder may forget
	for _, o := range Objects() {
		for _, f := range o.Fields {
			if !strings.Contains(everyField, f.Name+":") {
				t.Errorf("%s.%s is not tried", o.Name, f.Name)
			}
		}
	}
}

func TestPositionsAreThoseOfKeysAndValues(t *testing.T) {
	d := decode(t, "full.yaml", everyField)
	for path, want := range map[string]string{
		"":                                   "1:1 1:1",
		"kind":                               "2:7 2:1",
		"metadata":                           "3:1 3:1",
		"metadata.name":                      "4:9 4:3",
		"metadata.labels.team":               "5:18 5:12",
		`metadata.annotations["a.b/c"]`:      "6:24 6:17",
		"spec.selector":                      "9:3 9:3",
		"spec.selector.names[1]":             "11:22 11:22",
		"spec.selector.nosuch":               "9:3 9:3",
		"spec.hooks":                         "17:3 17:3",
		"spec.hooks[0]":                      "18:5 18:5",
		"spec.hooks[0].script":               "22:13 22:5",
		"spec.hooks[0].env.B":                "26:24 26:21",
		"spec.hooks[0].env.NONE":             "26:5 26:5",
		"spec.hooks[0].files[0].mode":        "38:13 38:7",
		"spec.hooks[0].files[1].mode":        "40:7 40:7",
		"spec.hooks[0].files[4].url[1]":      "51:35 51:35",
		"spec.hooks[0].cloudConfig.apt":      "60:7 60:7",
		"spec.hooks[1]":                      "62:5 62:5",
		"spec.hooks[7].name":                 "17:3 17:3",
		"spec.overrides[0].hooks.driver.env": "74:16 74:16",
		"nosuch":                             "1:1 1:1",
	} {
		p, k := d.Pos(path), d.KeyPos(path)
		if got := fmt.Sprintf("%d:%d %d:%d", p.Line, p.Col, k.Line, k.Col); got != want || p.File != "full.yaml" || k.File != "full.yaml" {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestExamplesHaveNoMistakes(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/hooks.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decode(t, file, string(data))
	}
}

// The bytes of scripts and files are those of the spec, whatever they are.
func TestContentsAreTakenByteForByte(t *testing.T) {
	block := func(style, text string) string {
		return "script: " + style + "\n" + text
	}
	for _, test := range []struct{ name, script, want string }{
		{"literal", block("|", "      #!/bin/sh\n      a\n"), "#!/bin/sh\na\n"},
		{"literal, stripped", block("|-", "      #!/bin/sh\n      a\n"), "#!/bin/sh\na"},
		{"literal, kept", block("|+", "      #!/bin/sh\n      a\n\n"), "#!/bin/sh\na\n\n\n"},
		{"indentation indicator", block("|2", "      #!/bin/sh\n        a\n"), "#!/bin/sh\n  a\n"},
		{"folded", block(">", "      #!/bin/sh\n\n      a\n      b\n"), "#!/bin/sh\na b\n"},
		{"tabs and trailing spaces", block("|", "      #!/bin/sh\n      \ta \t \n"), "#!/bin/sh\n\ta \t \n"},
		{"CRLF of the file", block("|", "      #!/bin/sh\r\n      a\r\n"), "#!/bin/sh\na\n"},
		{"CRLF said", `script: "#!/bin/sh\na\r\n"`, "#!/bin/sh\na\r\n"},
		{"next line", block("|", "      #!/bin/sh\n      a\u0085b\n      c\n"), "#!/bin/sh\na\u0085b\nc\n"},
		{"line separators", block("|", "      #!/bin/sh\n      a\u2028b\u2029c\n      d\n"), "#!/bin/sh\na\u2028b\u2029c\nd\n"},
		{"line separators in quotes", "script: \"#!/bin/sh\\na\u2028b\"", "#!/bin/sh\na\u2028b"},
		{"umlauts and emoji", block("|", "      #!/bin/sh\n      \u00e4 \U0001f600\n"), "#!/bin/sh\n\u00e4 \U0001f600\n"},
		{"control characters as escapes", `script: "#!/bin/sh\n\0\x01\e\x7f"`, "#!/bin/sh\n\x00\x01\x1b\x7f"},
		{"a boundary, a comment, a document end", block("|", "      #!/bin/sh\n      --MIMEBOUNDARY\n      #cloud-config\n      ---\n      ...\n"), "#!/bin/sh\n--MIMEBOUNDARY\n#cloud-config\n---\n...\n"},
		{"a long line", block("|", "      #!/bin/sh\n      "+strings.Repeat("x", 20000)+"\n"), "#!/bin/sh\n" + strings.Repeat("x", 20000) + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := decode(t, "a.yaml", spec("  - name: a\n    "+test.script+"\n"))
			if diff := cmp.Diff(test.want, *d.Spec.Spec.Hooks[0].Script); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOddLineBreaksDoNotShiftPositions(t *testing.T) {
	got := mistakes("a.yaml", "a: \"\u0085\u2028\r\"\n---\r\n"+spec("  - name: b\n    script: |\n      #!/bin/sh\n      \u0085\u2029\n    attempt: 1 # \u2028\n"))
	want := []string{"13:5 spec.hooks[0].attempt: unknown field `attempt`"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = mistakes("a.yaml", spec("  - name: b\n    script: |\n      #!/bin/sh\n      a\rb\n"))
	want = []string{"8:13 spec.hooks[0].script: a lone carriage return: YAML readers take it for a line feed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestJSONIsReadAsItIs(t *testing.T) {
	d := decode(t, "-", "{\r\n\t\"apiVersion\": \"kopshook.dev/v1alpha1\",\n\t\"kind\":\"InstanceGroupHooks\",\"metadata\":{\"name\":\"a\"},\n"+
		"\t\"spec\": {\"selector\": {}, \"hooks\": [\n\t\t{\"name\": \"a\", \"weight\": -5, \"enabled\": true, \"timeout\": \"90s\",\n\t\t \"script\": \"#!\\/bin\\/sh\\necho \\ud83d\\ude00\\u2028\\u003c\"}]}}")
	h := d.Spec.Spec.Hooks[0]
	want := Hook{Name: "a", Weight: ptr(-5), Enabled: ptr(true), Timeout: ptr(90 * time.Second), Script: ptr("#!/bin/sh\necho \U0001f600\u2028<")}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Error(diff)
	}
	if p := d.Pos("spec.hooks[0].script"); p.String() != "<stdin>:6:14" {
		t.Errorf("script is at %s", p)
	}
	got := mistakes("a.json", `{"apiVersion": "kopshook.dev/v1alpha1", "kind": "InstanceGroupHooks", "metadata": {"name": "a", "name": "b"},
 "spec": {"selector": null, "hooks": [{"name": "é", "script": "#!/bin/sh", "weight": 1e2, "attempts": "3", "env": {"A": 1}, "enabled": "no"}]}}`)
	wantSaid := []string{
		"1:97 metadata.name: key `name` is given twice, first in line 1",
		"2:23 spec.selector: `selector` has no value",
		"2:48 spec.hooks[0].name: `name` is \"é\"; it must be " + dnsLabelSays,
		"2:86 spec.hooks[0].weight: `weight` must be an integer, not the number 1e2",
		"2:103 spec.hooks[0].attempts: `attempts` must be an integer, not the string \"3\"",
		"2:121 spec.hooks[0].env.A: `env.A` must be a string, not the number 1",
		"2:136 spec.hooks[0].enabled: `enabled` must be true or false, not the string \"no\"",
	}
	if diff := cmp.Diff(wantSaid, got); diff != "" {
		t.Error(diff)
	}
	got = mistakes("a.json", "{\n \"a\": 1,\n}")
	if diff := cmp.Diff([]string{"3:1 : the file is not JSON: invalid character '}' looking for beginning of object key string"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	d := decode(t, "a.yaml", spec(`  - &base
    name: a
    script: &script |
      #!/bin/sh
    env: &env {A: "1", B: "2"}
    cloudConfig: &config
      apt: &apt {conf: a} # a comment
  - name: b
    script: *script
    env: {<<: *env, B: "3"}
    cloudConfig: *config
  - <<: [{name: c, attempts: 2}, *base]
    weight: 3
    cloudConfig: {<<: *config, ntp: {<<: *apt, enabled: yes}}
`))
	hooks := d.Spec.Spec.Hooks
	if diff := cmp.Diff(map[string]string{"A": "1", "B": "3"}, hooks[1].Env); diff != "" {
		t.Error(diff)
	}
	if *hooks[1].Script != "#!/bin/sh\n" || hooks[2].Name != "c" || *hooks[2].Attempts != 2 || *hooks[2].Weight != 3 || *hooks[2].Script != "#!/bin/sh\n" || hooks[2].Env["B"] != "2" {
		t.Errorf("got %+v", hooks)
	}
	out, err := yaml.Marshal(hooks[2].CloudConfig)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{ntp: {enabled: yes, conf: a}, apt: {conf: a}}\n", string(out)); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]string{
		"spec.hooks[1].script":               "15:13", // the alias
		"spec.hooks[1].env.A":                "11:19", // the anchor's value
		"spec.hooks[1].env.B":                "16:24",
		"spec.hooks[2].script":               "9:13",
		"spec.hooks[2].cloudConfig.ntp.conf": "13:24",
	} {
		if p := d.Pos(path); fmt.Sprintf("%d:%d", p.Line, p.Col) != want {
			t.Errorf("%s is at %s, want %s", path, p, want)
		}
	}
}

func TestInputIsBounded(t *testing.T) {
	laughs := "  - &a0 {name: a, script: \"#!/bin/sh\", env: {A: b}}\n"
	for i := 1; i < 10; i++ {
		laughs += fmt.Sprintf("  - &a%d [%s]\n", i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10))
	}
	deep := "  - {name: a, cloudConfig: {a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}}\n"
	for _, test := range []struct{ name, data, want string }{
		{"a billion laughs", spec(laughs), "aliases stand for more than 100000 values"},
		{"a billion laughs in merge keys", spec(strings.ReplaceAll(strings.ReplaceAll(laughs, "[", "{<<: ["), "]", "]}")), "aliases stand for more than 100000 values"},
		{"an anchor inside itself", spec("  - &a {name: a, env: *a}\n"), "alias *a stands inside its own anchor"},
		{"a list inside itself", spec("  - &a [*a]\n"), "alias *a stands inside its own anchor"},
		{"a merge of itself", spec("  - &a {<<: *a}\n"), "alias *a stands inside its own anchor"},
		{"deep nesting", spec(deep), "values are nested more than 64 deep"},
		{"deeper nesting than the parser takes", "a: " + strings.Repeat("[", 20000), "the file is not YAML: exceeded max depth of 10000"},
		{"a huge file", strings.Repeat("#", strict.MaxSize+1), "the file is larger than 10 MiB"},
		{"binary", "\x7fELF\x02\x01\x01\x00\xff\xfe", "the file is not text in UTF-8"},
		{"UTF-16", "\xff\xfea\x00:\x00", "the file is not text in UTF-8"},
		{"NUL", "a: \x00", "YAML takes no control characters"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r report.Report
			if docs := Decode("a.yaml", []byte(test.data), &r); len(docs) > 0 {
				t.Errorf("%d documents", len(docs))
			}
			if len(r.Findings) != 1 || r.Findings[0].Message != test.want {
				t.Errorf("got %+v", r.Findings)
			}
			r = report.Report{}
			if roots := strict.ReadYAML("a.yaml", []byte(test.data), &r); len(roots) > 0 || len(r.Findings) != 1 || r.Findings[0].Message != test.want {
				t.Errorf("read as any YAML: %d documents, %+v", len(roots), r.Findings)
			}
		})
	}
}

// The bounds, exactly: at each of them all is well, and one more is refused.
func TestBoundsOfAliasesAndNesting(t *testing.T) {
	aliased := func(n int) string { return "a: &a [" + strings.Repeat("x,", n-1) + "]\nb: *a\n" } // the list, and what is in it
	nested := func(n int) string { return "a: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n" }
	for name, c := range map[string]struct {
		text  func(int) string
		bound int
		want  string
	}{
		"aliases": {aliased, 100_000, "aliases stand for more than 100000 values"},
		"nesting": {nested, 64, "values are nested more than 64 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			for n, want := range map[int]int{c.bound: 0, c.bound + 1: 1} {
				var any, ours report.Report
				strict.ReadYAML("a.yaml", []byte(c.text(n)), &any)
				Decode("a.yaml", []byte("kind: "+Kind+"\napiVersion: "+APIVersion+"\nx:\n  "+strings.ReplaceAll(strings.TrimSpace(c.text(n-map[string]int{"nesting": 1}[name])), "\n", "\n  ")+"\n"), &ours)
				for how, r := range map[string]report.Report{"any": any, "ours": ours} {
					said := 0
					for _, f := range r.Findings {
						if f.Message == c.want {
							said++
						}
					}
					if said != want {
						t.Errorf("%s, %d: %d times, want %d: %.200v", how, n, said, want, r.Findings)
					}
				}
			}
		})
	}
}

// Beyond 1 MiB the line is the one that yaml.v3 says, which may be the one before.
func TestSyntaxErrorsOfBigFilesHaveALine(t *testing.T) {
	got := mistakes("a.yaml", strings.Repeat("# a comment\n", 100_000)+"a: [b\nc: d\n")
	if diff := cmp.Diff([]string{"100000:1 : the file is not YAML: did not find expected ',' or ']'"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOtherDocumentsAreSkipped(t *testing.T) {
	for _, data := range []string{
		"", "# only a comment\n", "--- \n", "text", "- a\n- b\n", "a: b\n", "null", "{}", "[]", "kind: [a]\n", "kind:\n", "{kind: {a: b}, apiVersion: kopshook.dev/v1alpha1/x}",
		"apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nspec: {hooks: [], selector: {}}\n",
		"apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\n---\napiVersion: v1\nkind: List\nitems: []\n",
		"\ufeffkind: ConfigMap\n", "a: !custom b\nc: &c [*c]\nd: 1\nd: 2\n",
	} {
		var r report.Report
		if docs := Decode("a.yaml", []byte(data), &r); len(docs) > 0 || len(r.Findings) > 0 {
			t.Errorf("%q: %v, %v", data, docs, r.Findings)
		}
	}
}

func TestAByteOrderMarkHasNoColumn(t *testing.T) {
	got := mistakes("a.yaml", "\ufeffx: 1\n"+spec("  - {name: a, script: \"#!/bin/sh\"}\n"))
	if diff := cmp.Diff([]string{"1:1 x: unknown field `x`"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSeveralDocuments(t *testing.T) {
	var r report.Report
	docs := Decode("a.yaml", []byte(spec("  - {name: a, script: \"#!/bin/sh\"}\n")+"---\nkind: Other\n---\n"+spec("  - {name: b, script: \"#!/bin/sh\"}\n")), &r)
	if len(docs) != 2 || r.HasErrors() {
		t.Fatal(docs, r.Findings)
	}
	if p := docs[1].Pos("spec.hooks[0].name"); p.String() != "a.yaml:17:12" {
		t.Errorf("the second hook is at %s", p)
	}
}
