package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/report"
)

// block is a fenced code block of a Markdown page.
type block struct {
	info string // what stands behind the fence: "sh", "yaml", "sh node"
	line int    // of its first line of code
	text string
}

// TestDocs runs the code blocks of README.md, docs/ and docs/recipes/: a reader copies them.
//
//	sh        is run with bash -eo pipefail, in a copy of examples/ with a stand-in kops; commands that look for findings may
//	          exit 1
//	sh next   goes on where the sh before it has ended
//	sh node   is for a node: it must parse here, and the boots run it
//	sh setup  is what a reader does once on a machine of their own (installing, cloning): it must parse
//	sh example  stands in a help text too: it must parse here, and TestHelpExamples runs it
//	sh kops, kustomize, kpt  needs that program: it must parse, and e2e/pipelines runs it
//	yaml      is a hook spec that decodes without a finding, in which lint finds no error and no warning, or a kops manifest, or other YAML that parses
//	text      is output; behind an sh it is that of the sh, which must print each of its lines but for "..."
//
// Other languages (hcl, json, mermaid) have tests of their own.
func TestDocs(t *testing.T) {
	repo := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(repo, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	recipes, err := filepath.Glob(filepath.Join(repo, "docs", "recipes", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(append(pages, recipes...), filepath.Join(repo, "README.md")) {
		name, _ := filepath.Rel(repo, page)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			all := blocks(string(data))
			for i, b := range all {
				lang, _, _ := strings.Cut(b.info, " ")
				switch {
				case b.info == "":
					t.Errorf("%s:%d: the code block says no language; use text for output", name, b.line)
				case lang == "yaml":
					checkYAML(t, name, b)
				case b.info == "sh":
					script, shown, ran := b.text, "", true // ran: the block before is of the script
					for _, next := range all[i+1:] {
						if next.info == "sh" {
							break
						}
						switch {
						case next.info == "sh next":
							script += next.text
						case next.info == "text" && ran:
							shown += next.text
						}
						ran = next.info == "sh next"
					}
					runExample(t, strings.TrimSpace(script), shown)
				case b.info == "sh next":
				case lang == "sh":
					runExample(t, "if false; then\n"+b.text+"\nfi", "")
				}
			}
		})
	}
}

func checkYAML(t *testing.T, page string, b block) {
	t.Helper()
	switch {
	case strings.Contains(b.text, "kind: "+hookspec.Kind):
		var r report.Report
		docs := hookspec.Decode(page, []byte(b.text), &r)
		for _, f := range r.Findings {
			t.Errorf("%s, in the block at line %d: %s", f.Position, b.line, f.Message)
		}
		for _, d := range docs {
			for _, h := range d.Resolve(hookspec.Group{}) {
				for _, f := range lint.CheckHook(&lint.Hook{Resolved: &h}) {
					if f.Severity != report.Info {
						t.Errorf("the block at line %d: %s: %s", b.line, f.Code, f.Message)
					}
				}
			}
		}
	case strings.Contains(b.text, "kind: "+clusterhooks.Kind):
		var r report.Report
		clusterhooks.Decode(page, []byte(b.text), &r)
		for _, f := range r.Findings {
			t.Errorf("%s, in the block at line %d: %s", f.Position, b.line, f.Message)
		}
	case strings.Contains(b.text, "kind: InstanceGroup"):
		if _, err := instancegroups.Parse(page, []byte(b.text)); err != nil {
			t.Errorf("the block at line %d: %v", b.line, err)
		}
	default:
		dec := yaml.NewDecoder(bytes.NewReader([]byte(b.text)))
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Errorf("%s:%d: %v", page, b.line, err)
		}
	}
}

// blocks returns the fenced code blocks of a page.
func blocks(page string) []block {
	var out []block
	var cur *block
	for i, line := range strings.Split(page, "\n") {
		info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && cur == nil:
			cur = &block{info: info, line: i + 2}
		case fence:
			out = append(out, *cur)
			cur = nil
		case cur != nil:
			cur.text += line + "\n"
		}
	}
	return out
}
