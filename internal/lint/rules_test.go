package lint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/sourcemap"
	"kopshook.dev/kopshook/templates"
)

const rulesDir = "../../docs/rules"

// TestEachRuleHasAPageWhoseExamplesHold reads docs/rules: the bad example must be found, and nothing in the good one.
func TestEachRuleHasAPageWhoseExamplesHold(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(rulesDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rules() {
		t.Run(r.Code, func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join(rulesDir, r.Code+".md"))
			if err != nil {
				t.Fatal(err)
			}
			text := string(page)
			if want := fmt.Sprintf("# %s: %s\n\n`%s`, %s.", r.Code, r.Title, r.Name, r.Severity); !strings.HasPrefix(text, want) {
				t.Errorf("the page must begin with %q", want)
			}
			if want := fmt.Sprintf("| [%s](%s.md) | %s | %s | %s |", r.Code, r.Code, r.Name, r.Severity, r.Title); !strings.Contains(string(index), want) {
				t.Errorf("README.md lacks the line %s", want)
			}
			bad, good := example(t, text, "bad"), example(t, text, "good")
			found := lintExample(t, bad)
			if !slices.ContainsFunc(found, func(f Finding) bool { return f.Code == r.Code }) {
				t.Errorf("the bad example has no %s, but: %v", r.Code, describe(found))
			}
			for _, f := range found {
				if f.Code == r.Code && f.Line == 0 {
					t.Errorf("%s has no position", f.Code)
				}
			}
			for _, f := range lintExample(t, good) {
				if f.Severity != report.Info || f.Code == r.Code {
					t.Errorf("the good example has %v", describe([]Finding{f}))
				}
			}
			if strings.Contains(text, "--fix` fixes") != fixes(t, bad, r.Code) {
				t.Errorf("the page and the rule differ on whether --fix fixes it")
			}
		})
	}
	pages, err := filepath.Glob(filepath.Join(rulesDir, "KH*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != len(Rules()) {
		t.Errorf("%d pages for %d rules", len(pages), len(Rules()))
	}
}

func describe(findings []Finding) []string {
	var s []string
	for _, f := range findings {
		s = append(s, fmt.Sprintf("%s %s: %s", f.Position, f.Code, f.Message))
	}
	return s
}

func example(t *testing.T, page, kind string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "```yaml "+kind+"\n")
	text, _, closed := strings.Cut(rest, "\n```\n")
	if !ok || !closed {
		t.Fatalf("the page has no %s example", kind)
	}
	return repeated(text + "\n")
}

// repeated does what a comment of an example says: "# repeat the line above 110 times".
func repeated(text string) string {
	re := regexp.MustCompile(`(?m)^(.*\n) *# repeat the line above ([0-9]+) times\n`)
	return re.ReplaceAllStringFunc(text, func(s string) string {
		m := re.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n)
	})
}

const exampleGroup = `apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  name: nodes
spec:
  image: debian/debian-13-amd64-20260101
  machineType: m7i.large
  maxSize: 2
  minSize: 1
  role: Node
  subnets: [us-east-1a]
  additionalUserData:
`

// manifestOf makes a whole manifest of an example, which may be a list of parts only.
func manifestOf(text string) string {
	if strings.HasPrefix(text, "apiVersion:") {
		return text
	}
	var b strings.Builder
	b.WriteString(exampleGroup)
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) != "" {
			b.WriteString("  ")
		}
		b.WriteString(l)
	}
	return b.String()
}

// lintExample does what kopshook lint does with a file.
func lintExample(t *testing.T, text string) []Finding {
	t.Helper()
	const name = "example.yaml"
	data := []byte(manifestOf(text))
	var r report.Report
	docs := hookspec.Decode(name, data, &r)
	if r.HasErrors() || len(docs) > 0 && !strings.Contains(text, "kind: InstanceGroup\n") {
		return lintSpec(t, docs, data, &r)
	}
	f, err := instancegroups.Parse(name, data)
	if err != nil {
		var dropped *instancegroups.Error
		if errors.As(err, &dropped) && dropped.Dropped {
			return []Finding{{Finding: report.Finding{Code: DroppedDocument, Position: report.Position{Line: 1}}, Rule: RuleOf(DroppedDocument)}}
		}
		t.Fatal(err)
	}
	found := lintSpec(t, docs, data, &r)
	for _, g := range f.Groups() {
		if len(docs) > 0 {
			g.SetUserData(planned(t, docs, g))
			for _, d := range docs {
				for _, h := range d.Resolve(hookspec.Group{Name: g.Name}) {
					found = append(found, CheckCloud(&Hook{Resolved: &h, Source: sourcemap.New(data)}, budget.CloudOf(g.Object, nil))...)
				}
			}
		}
		l := &Group{Group: g, File: name, Source: sourcemap.New(data)}
		for _, p := range g.UserData() {
			l.Parts = append(l.Parts, cloudinit.Part(p))
		}
		in := budget.Input{Role: g.Role, Cloud: budget.CloudOf(g.Object, nil)}
		for _, p := range g.UserData() {
			in.Theirs = append(in.Theirs, generator.UserData(p))
		}
		if l.Size, err = budget.Check(in); err != nil {
			t.Fatal(err)
		}
		found = append(found, Check(l, Options{})...)
	}
	return found
}

// planned is the user data of the hooks of specs.
func planned(t *testing.T, docs []*hookspec.Doc, g *instancegroups.Group) []kops.UserData {
	t.Helper()
	var hooks []generator.Hook
	for _, d := range docs {
		for _, h := range d.Resolve(hookspec.Group{Name: g.Name}) {
			hooks = append(hooks, h.Hook)
		}
	}
	parts, err := generator.Generate(generator.InstanceGroup{Name: g.Name, Role: g.Role}, templates.Newest(), hooks)
	if err != nil {
		t.Fatal(err)
	}
	var data []kops.UserData
	for _, p := range parts {
		data = append(data, kops.UserData(p))
	}
	return data
}

func lintSpec(t *testing.T, docs []*hookspec.Doc, data []byte, r *report.Report) []Finding {
	t.Helper()
	for _, f := range r.Findings {
		t.Errorf("%s: %s", f.Position, f.Message)
	}
	var found []Finding
	for _, d := range docs {
		for _, h := range d.Resolve(hookspec.Group{}) {
			found = append(found, CheckHook(&Hook{Resolved: &h, Source: sourcemap.New(data)})...)
		}
	}
	return found
}

// fixes says whether --fix fixes a finding: the rule then has nothing to say any more, and no other has more.
func fixes(t *testing.T, text, code string) bool {
	t.Helper()
	before := lintExample(t, text)
	fixed, made := Apply("example.yaml", []byte(manifestOf(text)), before)
	if made == 0 {
		return false
	}
	after := lintExample(t, string(fixed))
	for _, f := range after {
		if f.Code == code {
			t.Errorf("after the fix: %v\n%s", describe([]Finding{f}), fixed)
		}
	}
	if len(after) >= len(before) {
		t.Errorf("the fix makes it worse: %v, and before %v\n%s", describe(after), describe(before), fixed)
	}
	return true
}
