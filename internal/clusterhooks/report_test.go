package clusterhooks

import (
	"bytes"
	"encoding/xml"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/golden"
)

// TestReports holds the three forms of a report in golden files.
func TestReports(t *testing.T) {
	upgrade := &Result{
		Command: []string{"kops", "upgrade", "cluster", "main.example.com", "--yes"}, Clusters: []string{"main.example.com"},
		Steps: []StepResult{
			{Name: "backups", Kind: "extension", Event: discovery, Status: Ignored, Attempts: 1, Seconds: 10, Message: "no answer within 10s"},
			{Name: "freeze", Kind: "hook", Event: BeforeUpgrade, Cluster: "main.example.com", Status: Succeeded, Attempts: 3, Seconds: 31.25,
				Log: "/var/lib/ci/main.example.com/freeze/log", Output: "\x1b[31mred\x1b[0m <&>\nsecond line\n"},
			{Name: "notify", Kind: "hook", Event: AfterUpgrade, Cluster: "main.example.com", Status: Failed, Attempts: 1, Seconds: 0.004,
				ExitCode: 137, Signal: "SIGKILL", Message: "killed by SIGKILL", Output: "bad \xff byte\n"},
			{Name: "thaw", Kind: "hook", Event: AfterUpgrade, Cluster: "main.example.com", Status: Skipped},
		},
		Exit: ExitHookFailed,
	}
	upgrade.ran(KopsPart{Command: upgrade.Command, Started: true, Seconds: 252.5, at: 2})
	rolled := &Result{
		Command: []string{"kops", "rolling-update", "cluster", "--yes"}, Clusters: []string{"main.example.com"},
		Steps: []StepResult{
			{Name: "freeze", Kind: "hook", Event: BeforeRollingUpdate, Cluster: "main.example.com", Status: Succeeded, Attempts: 1, Seconds: 1},
			{Name: "look", Kind: "hook", Event: AfterControlPlaneUpgrade, Cluster: "main.example.com", Status: Succeeded, Attempts: 1, Seconds: 60},
			{Name: "thaw", Kind: "hook", Event: AfterRollingUpdate, Cluster: "main.example.com", Status: Succeeded, Attempts: 1, Seconds: 1},
		}, Exit: 1,
	}
	rolled.ran(KopsPart{Command: []string{"kops", "rolling-update", "cluster", "--instance-group-roles=control-plane,apiserver", "--yes"}, Started: true, Seconds: 900, at: 1})
	rolled.ran(KopsPart{Command: []string{"kops", "rolling-update", "cluster", "--instance-group-roles=node,bastion", "--yes"}, Started: true, Seconds: 1800, ExitCode: 1, at: 2})
	refused := &Result{Command: []string{"kops", "delete", "cluster", "--yes"}, Clusters: []string{"a.example.com"},
		Steps: []StepResult{{Name: "gate.backups", Kind: "extension", Event: BeforeDelete, Cluster: "a.example.com", Status: Interrupted, Attempts: 7, Seconds: 61, Message: "interrupted"}},
		Exit:  128 + int(syscall.SIGINT), Signal: syscall.SIGINT}
	quiet := &Result{Command: []string{"kops", "update", "cluster"}, Clusters: []string{}, Steps: []StepResult{}, Note: "kops update cluster: it has no --yes",
		Exit: 143}
	quiet.ran(KopsPart{Command: quiet.Command, Started: true, ExitCode: 143, Signal: "SIGTERM", Seconds: 1})
	for name, result := range map[string]*Result{"upgrade": upgrade, "refused": refused, "quiet": quiet, "rolled": rolled} {
		for format, ext := range map[Format]string{Text: ".txt", JSON: ".json", JUnit: ".xml"} {
			t.Run(name+ext, func(t *testing.T) {
				var got bytes.Buffer
				if err := result.Write(&got, format); err != nil {
					t.Fatal(err)
				}
				if format == JUnit {
					if err := xml.Unmarshal(got.Bytes(), new(junitSuites)); err != nil {
						t.Errorf("not XML: %v", err)
					}
				}
				golden.Check(t, filepath.Join("testdata", "report", name+ext), got.Bytes())
			})
		}
	}
}

// What an extension says is its own: a line of the report is one line, and no command for the system that prints it.
func TestReportIsALineForEachStep(t *testing.T) {
	evil := "x\n::error::made up\x1b[31m ##[error]y"
	result := &Result{Command: []string{"kops"}, Note: evil, Steps: []StepResult{{Name: evil, Kind: "extension", Event: BeforeCreate, Status: Failed, Message: evil}}}
	result.ran(KopsPart{Command: []string{"kops"}, Started: true})
	var got bytes.Buffer
	if err := result.Write(&got, Text); err != nil {
		t.Fatal(err)
	}
	if s := got.String(); strings.Count(s, "\n") != 3 || strings.Contains(s, "\x1b") || strings.Contains(s, "##[") {
		t.Errorf("the report is\n%q", s)
	}
}

func TestTailKeepsWholeLines(t *testing.T) {
	var kept tail
	line := bytes.Repeat([]byte("x"), 99)
	for range 1000 {
		kept.Write(append(line, '\n'))
	}
	if got := kept.String(); len(got) > maxTail || len(got) < maxTail-100 || len(got)%100 != 0 {
		t.Errorf("%d bytes are kept", len(got))
	}
}

func TestPrefixedLines(t *testing.T) {
	var out bytes.Buffer
	w := &prefixWriter{w: &out, prefix: "a | "}
	for _, part := range []string{"one", " and two\r\nthree\n\n", "rest"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	w.flush()
	if diff := cmp.Diff("a | one and two\na | three\na | \na | rest\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
