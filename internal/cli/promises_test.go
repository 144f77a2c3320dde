package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each test that docs/promises.md names is there, and each row of its tables names one.
func TestPromisesNameTestsThatExist(t *testing.T) {
	repo := repository(t)
	page, err := os.ReadFile(filepath.Join(repo, "docs", "promises.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	err = filepath.WalkDir(repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(data, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, systems, _ := strings.Cut(string(page), "\n## ")
	rows, besides := 0, false
	for line := range strings.Lines(systems) {
		besides = besides || strings.HasPrefix(line, "## Other rows of compare.md")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| promised |") || strings.HasPrefix(line, "| said |") {
			continue
		}
		if !besides {
			rows++
		}
		named := regexp.MustCompile("`(Test\\w+)(?:/(\\w+))?`").FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("names no test: %s", line)
		}
		for _, m := range named {
			if !tests[m[1]] {
				t.Errorf("there is no %s: %s", m[1], line)
			}
			if script := filepath.Join(repo, "internal", "clusterhooks", "testdata", "exec", m[2]+".txtar"); m[2] != "" {
				if _, err := os.Stat(script); err != nil || m[1] != "TestExec" {
					t.Errorf("there is no %s/%s: %s", m[1], m[2], line)
				}
			}
		}
	}
	if rows != 65 {
		t.Errorf("the five systems promise 65 things; the page has %d rows", rows)
	}
}
