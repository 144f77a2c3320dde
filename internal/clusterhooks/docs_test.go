package clusterhooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/report"
)

// TestDocsHaveEveryAlias keeps the table of names in docs/cluster-hooks.md equal to Aliases.
func TestDocsHaveEveryAlias(t *testing.T) {
	page := readPage(t)
	var want []string
	for _, a := range Aliases {
		var events []string
		for _, e := range a.Events {
			events = append(events, "`"+string(e)+"`")
		}
		meaning := strings.Join(events, ", ")
		if meaning == "" {
			meaning = "none: " + a.Instead
		}
		want = append(want, "| "+a.System+" | `"+a.Name+"` | "+meaning+" |")
	}
	_, table, _ := strings.Cut(page, "| system | name | event |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if diff := cmp.Diff(want, strings.Split(table, "\n")); diff != "" {
		t.Errorf("docs/cluster-hooks.md (-want +got):\n%s", diff)
	}
}

// TestDocsHaveEveryEvent: the page names each event, and each hook of the Runtime SDK.
func TestDocsHaveEveryEvent(t *testing.T) {
	page := readPage(t)
	for _, e := range Events {
		if !strings.Contains(page, "`"+string(e)+"`") {
			t.Errorf("docs/cluster-hooks.md does not name %s", e)
		}
	}
	for e, hook := range runtimeHooks {
		if !strings.Contains(page, "| `"+hook.name+"` | ") {
			t.Errorf("docs/cluster-hooks.md does not say when %s is called, for %s", hook.name, e)
		}
	}
}

// TestDocsSayTheDefaults: the example of docs/cluster-hooks.md says that its values are the defaults.
func TestDocsSayTheDefaults(t *testing.T) {
	_, block, _ := strings.Cut(readPage(t), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var r report.Report
	docs := Decode("example", []byte(block), &r)
	if r.HasErrors() || len(docs) != 1 {
		t.Fatalf("the example is not valid: %v", r.Findings)
	}
	got := docs[0].Hooks[1]
	want := Hook{Name: got.Name, On: got.On, Source: got.Source, Env: got.Env, Selector: got.Selector, path: got.path, Ignore: true,
		When: Always, Timeout: 5 * time.Minute, Attempts: 1, RetryDelay: 10 * time.Second, DeletePolicy: []DeletePolicy{BeforeHookCreation}, Enabled: true}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Hook{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// and the table of fields says the same
	for name, value := range map[string]string{"when": "always", "weight": "0", "timeout": "5m", "attempts": "1", "retryDelay": "10s",
		"failurePolicy": "Fail", "deletePolicy": "before-hook-creation", "enabled": "true"} {
		if f := hookObject.Field(name); f == nil || f.Default != value {
			t.Errorf("the default of %s is not %s", name, value)
		}
	}
}

func readPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cluster-hooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
