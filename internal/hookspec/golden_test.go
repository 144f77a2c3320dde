package hookspec

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/report"
)

var update = flag.Bool("update", false, "write golden files anew")

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
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s differs, -update writes it (-want +got):\n%s", golden, diff)
			}
		})
	}
}
