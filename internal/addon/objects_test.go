package addon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/nodestatus"
	"kopshook.dev/kopshook/internal/report"
	templates "kopshook.dev/kopshook/templates/addon"
)

// decode reads a manifest as the API server does in its strictest mode.
func decode(t testing.TB, manifest []byte) []runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, schedulingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var out []runtime.Object
	for _, doc := range bytes.Split(bytes.TrimPrefix(manifest, []byte("---\n")), []byte("\n---\n")) {
		object, _, err := decoder.Decode(doc, nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		out = append(out, object)
	}
	return out
}

func TestManifestDecodesStrictlyToWhatWasMeant(t *testing.T) {
	a := build(t, Input{Cluster: "a.example.com", Options: Options{Status: true}},
		spec("s", "{roles: [Node, APIServer], nodeLabels: {a: b}}", one("a")+"\n  - {name: b, phase: daemon, script: \"#!/bin/sh\\n\\r\\t \\u0085\", env: {A: \"1\"}}"))
	manifest, err := a.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, o := range decode(t, manifest) {
		got = append(got, o)
	}
	if diff := cmp.Diff(a.Objects, got); diff != "" {
		t.Errorf("(-meant +decoded)\n%s", diff)
	}
	if bytes.Contains(manifest, []byte("status:\n")) || bytes.Contains(manifest, []byte("creationTimestamp")) {
		t.Error("the manifest holds what only the cluster knows")
	}
}

// FuzzScriptArrivesByteForByte: whatever a script holds, the ConfigMap holds the same when the manifest was read, and
// the checksums are its.
func FuzzScriptArrivesByteForByte(f *testing.F) {
	for _, s := range []string{"#!/bin/sh\n", "", "\x00\xff", "a\r\nb", "\ttab\n  trailing  \n", "no end", "---\na: b\n---\n", "\ufeffbom", "\u0085\u2028", "yes", "0755", "1:30",
		"%TAG ! x\n", "\n\n\n", "  leading\n", strings.Repeat("long ", 5000), "\U0001f600\n", "a\x7f", "{{ .X }}", "# only\n", "key: |\n  text\n", "\uffff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		hook := generator.Hook{Name: "h", Scripts: []generator.Script{{Name: "script", Content: content}}}
		a, _ := try(t, Input{Read: func([]hookspec.Resolved) []generator.Hook { return []generator.Hook{hook} }}, spec("s", "{}", one("h")))
		manifest, err := a.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range decode(t, manifest) {
			m, ok := o.(*corev1.ConfigMap)
			if !ok || !strings.HasPrefix(m.Name, "kopshook.s.h-") {
				continue
			}
			got, ok := m.BinaryData["script"]
			if !ok {
				got = []byte(m.Data["script"])
			}
			if !bytes.Equal(got, content) {
				t.Fatalf("%q arrived as %q", content, got)
			}
			if want := sum(content) + "  script\n"; m.Data[sumsFile] != want {
				t.Errorf("checksums are %q, want %q", m.Data[sumsFile], want)
			}
			return
		}
		t.Error("no ConfigMap")
	})
}

// FuzzNames: names, labels and keys are such as the API server takes, however long those of the spec are.
func FuzzNames(f *testing.F) {
	f.Add("s", "h", uint8(0))
	f.Add(strings.Repeat("s", 63), strings.Repeat("h", 63), uint8(40))
	f.Add(strings.Repeat("a-", 31)+"a", strings.Repeat("b-", 31)+"b", uint8(39))
	f.Fuzz(func(t *testing.T, name, hook string, length uint8) {
		if len(validation.IsDNS1123Label(name)) > 0 || len(validation.IsDNS1123Label(hook)) > 0 || length > 40 {
			t.Skip("no name of a spec")
		}
		s := fmt.Sprintf("apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: %q}\nspec:\n  selector: {names: [\"*\"]}\n"+
			"  hooks:\n  - {name: %q, phase: [daemon, post-kubelet], script: \"#!/bin/sh\"}\n  overrides:\n", name, hook)
		for range 30 {
			s += fmt.Sprintf("  - {selector: {}, hooks: {%q: {attempts: 2}}}\n", hook)
		}
		var r report.Report
		if hookspec.Decode("x", []byte(s), &r); r.HasErrors() {
			t.Skip("no hook spec")
		}
		o := Options{Status: true, Name: strings.Repeat("n", int(length))}
		a, found := try(t, Input{Groups: []Group{group("a", "Node"), group("b", "ControlPlane")}, Options: o}, s)
		if found.HasErrors() && name != "status" {
			t.Fatal(findings(found))
		}
		seen := map[string]bool{}
		for _, object := range a.Objects {
			meta := object.(metav1.Object)
			what := fmt.Sprintf("%T %s", object, meta.GetName())
			if seen[what] {
				t.Errorf("%s is there twice", what)
			}
			seen[what] = true
			if errs := validation.IsDNS1123Subdomain(meta.GetName()); len(errs) > 0 {
				t.Errorf("%s: name: %v", what, errs)
			}
			labels := meta.GetLabels()
			if set, ok := object.(*appsv1.DaemonSet); ok {
				// the pod's name is the DaemonSet's, "-" and five characters; as a host name it has 63 at most
				if errs := validation.IsDNS1123Label(set.Name + "-abcde"); len(errs) > 0 {
					t.Errorf("%s: pod name: %v", what, errs)
				}
				for _, v := range set.Spec.Template.Spec.Volumes {
					if errs := validation.IsDNS1123Label(v.Name); len(errs) > 0 {
						t.Errorf("%s: volume: %v", what, errs)
					}
				}
				labels = set.Spec.Template.Labels
			}
			for key, value := range labels {
				if errs := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(errs) > 0 {
					t.Errorf("%s: label %s: %s: %v", what, key, value, errs)
				}
			}
		}
	})
}

// The check of node-problem-detector reads what the runner writes; its exit codes are those of the plugin protocol.
func TestCheckReadsStatusFiles(t *testing.T) {
	dir := t.TempDir()
	check := filepath.Join(dir, "check.sh")
	if err := os.WriteFile(check, templates.Check, 0o777); err != nil {
		t.Fatal(err)
	}
	status := func(state nodestatus.State, reason string) string {
		data, err := json.Marshal(nodestatus.Status{Hook: "h", Phase: "daemon", State: state, Reason: reason, UpdatedAt: time.Unix(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return string(data) + "\n"
	}
	for name, tt := range map[string]struct {
		file string
		exit int
		says string
	}{
		"no file: not of this node":        {"", 0, ""},
		"it runs":                          {status(nodestatus.Running, "attempt 1 of 3"), 0, ""},
		"it succeeded":                     {status(nodestatus.Succeeded, ""), 0, ""},
		"an operator skipped it":           {status(nodestatus.Skipped, ""), 0, ""},
		"it failed":                        {status(nodestatus.Failed, "timed out after 1200 s"), 1, "timed out after 1200 s"},
		"it failed for a reason of commas": {status(nodestatus.Failed, "no, {really} not"), 1, "no, {really} not"},
		"it failed without a reason":       {status(nodestatus.Failed, ""), 1, ""},
		"the file is cut off":              {`{"hook":"h","sta`, 2, dir + "/h.json says nothing of use"},
		"a state that is not known":        {`{"hook":"h","state":"on-fire"}`, 2, dir + "/h.json says nothing of use"},
		"the file is no file but a folder": {"FOLDER", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "h.json")
			os.RemoveAll(path)
			var err error
			switch tt.file {
			case "":
			case "FOLDER":
				err = os.Mkdir(path, 0o777)
			default:
				err = os.WriteFile(path, []byte(tt.file), 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", check, "h")
			cmd.Env = append(os.Environ(), "STATUS="+dir)
			out, err := cmd.Output()
			if got := cmd.ProcessState.ExitCode(); got != tt.exit || strings.TrimSpace(string(out)) != tt.says {
				t.Errorf("exit code %d, output %q (%v); want %d, %q", got, out, err, tt.exit, tt.says)
			}
		})
	}
}

// What lands on nodes stays readable wherever it is printed again.
func TestScriptsArePlain(t *testing.T) {
	for name, text := range map[string][]byte{"run.sh": templates.Run, "hook.sh": templates.Hook, "check.sh": templates.Check} {
		for i, line := range strings.Split(string(text), "\n") {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) || strings.HasSuffix(line, " ") {
				t.Errorf("%s:%d: a tab, a trailing space or a character beyond ASCII: %q", name, i+1, line)
			}
		}
		if out, err := exec.Command("/bin/sh", "-n", "-c", string(text)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
