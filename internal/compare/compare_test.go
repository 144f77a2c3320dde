package compare

import (
	"bufio"
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var repo = filepath.Join("..", "..")

// named is a test that the page names.
type named struct {
	dir   string // of its package, from the top of the project
	test  string // "TestX"
	path  string // "TestX/case"
	line  int
	extra bool // in the fourth column
}

var inCode = regexp.MustCompile("`([^`]+)`")

// readPage returns the tests of all tables. Every row must have four columns and a test in the third.
func readPage(t *testing.T) []named {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repo, "docs", "compare.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []named
	rows := 0
	for i, line := range strings.Split(string(data), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| --- ") || strings.HasPrefix(line, "| offered ") {
			continue
		}
		rows++
		if len(cells) != 4 {
			t.Errorf("docs/compare.md:%d: %d columns, not 4", i+1, len(cells))
			continue
		}
		for column, extra := range map[int]bool{2: false, 3: true} {
			names := inCode.FindAllStringSubmatch(cells[column], -1)
			if len(names) == 0 && !extra {
				t.Errorf("docs/compare.md:%d: no test is named", i+1)
			}
			for _, n := range names {
				dir, path, ok := strings.Cut(n[1], ".Test")
				if !ok {
					t.Errorf("docs/compare.md:%d: %q is not package.TestName", i+1, n[1])
					continue
				}
				path = "Test" + path
				test, _, _ := strings.Cut(path, "/")
				all = append(all, named{dir, test, path, i + 1, extra})
			}
		}
	}
	if rows < 50 {
		t.Fatalf("docs/compare.md has only %d rows", rows)
	}
	return all
}

// TestNamedTestsExist finds each test in the source of its package, those behind build tags and in other modules too.
func TestNamedTestsExist(t *testing.T) {
	tests := map[string][]string{} // by package
	for _, n := range readPage(t) {
		if _, ok := tests[n.dir]; !ok {
			tests[n.dir] = testsOf(t, n.dir)
		}
		if !slices.Contains(tests[n.dir], n.test) {
			t.Errorf("docs/compare.md:%d: there is no %s in %s", n.line, n.test, n.dir)
		}
	}
}

func testsOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repo, filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// TestNamedTestsRun runs the tests of the third column, and wants to see each of them, and each case, pass.
func TestNamedTestsRun(t *testing.T) {
	watchAll(t)
	byDepth := map[int][]named{} // "TestX" runs all of its cases, "TestX/case" that one
	for _, n := range readPage(t) {
		if !n.extra {
			depth := strings.Count(n.path, "/")
			byDepth[depth] = append(byDepth[depth], n)
		}
	}
	for _, tests := range byDepth {
		passed, output := run(t, tests)
		for _, n := range tests {
			if key := n.dir + "." + n.path; !passed[key] {
				t.Errorf("docs/compare.md:%d: %s did not run and pass\n%s", n.line, key, output[key])
			}
		}
	}
}

// watchAll looks into every folder of the project, so that go test does not take an old result of this test for one of
// code that has changed.
func watchAll(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(repo, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// run runs tests of equal depth, and returns which of them passed, and what they printed.
func run(t *testing.T, tests []named) (passed map[string]bool, output map[string]string) {
	t.Helper()
	var packages []string
	levels := make([][]string, 1+strings.Count(tests[0].path, "/"))
	for _, n := range tests {
		packages = append(packages, "./"+n.dir)
		for i, name := range strings.Split(n.path, "/") {
			levels[i] = append(levels[i], regexp.QuoteMeta(name))
		}
	}
	var patterns []string
	for _, names := range levels {
		slices.Sort(names)
		patterns = append(patterns, "^("+strings.Join(slices.Compact(names), "|")+")$")
	}
	slices.Sort(packages)
	cmd := exec.Command("go", append([]string{"test", "-json", "-run", strings.Join(patterns, "/")}, slices.Compact(packages)...)...)
	cmd.Dir = repo
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Logf("%s: %v\n%s", cmd, err, stderr.String()) // a test that is not named may fail
	}
	passed, output = map[string]bool{}, map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event struct{ Action, Package, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue
		}
		key := strings.TrimPrefix(event.Package, "kopshook.dev/kopshook/") + "." + event.Test
		output[key] += event.Output
		passed[key] = passed[key] || event.Action == "pass"
	}
	return passed, output
}

// TestCIRunsTheOthers: what the fourth column names is run as a whole by CI.
func TestCIRunsTheOthers(t *testing.T) {
	ci, err := os.ReadFile(filepath.Join(repo, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	target := map[string]string{"e2e": "make e2e", "internal/clusterhooks/capitest": "make capi"}
	for _, n := range readPage(t) {
		if !n.extra {
			continue
		}
		if want := target[n.dir]; want == "" || !slices.Contains(strings.Split(string(ci), "\n"), "step "+want) {
			t.Errorf("docs/compare.md:%d: CI does not run %s", n.line, n.dir)
		}
	}
}
