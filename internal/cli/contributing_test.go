package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The files and folders that CONTRIBUTING.md and DESIGN.md name exist. Words in capitals stand for names.
func TestPathsInContributingExist(t *testing.T) {
	path := regexp.MustCompile("`([a-z][a-z0-9_-]*/[a-z0-9_./-]*)`")
	for _, page := range []string{"CONTRIBUTING.md", "DESIGN.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		found := path.FindAllSubmatch(text, -1)
		if len(found) < 10 {
			t.Errorf("%s names %d paths", page, len(found))
		}
		for _, m := range found {
			if _, err := os.Stat(filepath.Join("..", "..", string(m[1]))); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
}
