package hookspec

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/golden"
	"kopshook.dev/kopshook/internal/report"
)

// Each file of testdata/bad holds mistakes; beside it stands what people are told, with a caret where each one is.
func TestMistakesAreSaidAllAtOnceEachAtItsPlace(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r report.Report
			name := filepath.Base(file)
			Decode(name, data, &r)
			if !r.HasErrors() {
				t.Error("no errors")
			}
			var got bytes.Buffer
			err = report.Text(&got, r.Findings, report.TextOptions{Sources: map[string][]byte{name: data}, Snippets: true})
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, strings.TrimSuffix(file, ".yaml")+".txt", got.Bytes())
		})
	}
}
