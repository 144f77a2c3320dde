package clusterhooks

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/golden"
	"kopshook.dev/kopshook/internal/report"
)

// TestBadSpecs holds what people are told about broken documents in golden files.
func TestBadSpecs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "bad", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no bad specs: %v", err)
	}
	update := golden.Update()
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var r report.Report
			docs := Decode(filepath.Base(name), data, &r)
			CheckNames(docs, &r)
			if !r.HasErrors() {
				t.Error("no error")
			}
			var got bytes.Buffer
			r.Sort()
			if err := report.Text(&got, r.Findings, report.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			file := strings.TrimSuffix(name, ".yaml") + ".txt"
			if update {
				if err := os.WriteFile(file, got.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a hook does not say is what the table, and with it the page of fields, says.
func TestDefaultsAreThoseOfTheTable(t *testing.T) {
	var r report.Report
	docs := Decode("a.yaml", []byte(`apiVersion: kopshook.dev/v1alpha1
kind: ClusterHooks
metadata: {name: a}
spec:
  selector: {}
  hooks: [{name: a, on: before-update, script: "#!/bin/sh"}]
`), &r)
	if r.HasErrors() || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), r.Findings)
	}
	h := docs[0].Hooks[0]
	policy := policyFail
	if h.Ignore {
		policy = policyIgnore
	}
	got := map[string]string{"when": string(h.When), "weight": fmt.Sprint(h.Weight), "timeout": report.Duration(h.Timeout), "attempts": fmt.Sprint(h.Attempts),
		"retryDelay": report.Duration(h.RetryDelay), "failurePolicy": policy, "deletePolicy": string(h.DeletePolicy[0]), "enabled": fmt.Sprint(h.Enabled)}
	want := map[string]string{}
	for _, f := range hookObject.Fields {
		if f.Default != "" {
			want[f.Name] = f.Default
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzDecode: whatever stands in a file, it is either refused or makes documents that can be used.
func FuzzDecode(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.yaml", "testdata/exec/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			for part := range strings.SplitSeq(string(data), "\n-- ") {
				f.Add([]byte(part))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r report.Report
		docs := Decode("spec.yaml", data, &r)
		if r.HasErrors() {
			return
		}
		for _, d := range docs {
			for _, h := range d.Hooks {
				if h.Name == "" || len(h.On) == 0 || (h.Script == nil) == (h.Source == nil) || h.Attempts < 1 || h.Timeout <= 0 {
					t.Errorf("accepted hook %+v", h)
				}
			}
			for _, e := range d.Extensions {
				address := e.ClientConfig.URL
				if s := e.ClientConfig.Service; s != nil {
					address = s.URL()
				}
				if _, err := newClient(address, tlsFiles{}, nil); err != nil || (e.ClientConfig.URL == "") == (e.ClientConfig.Service == nil) {
					t.Errorf("accepted URL %q: %v", address, err)
				}
			}
			for _, e := range Events {
				stepsOn(docs, e)
			}
		}
	})
}
