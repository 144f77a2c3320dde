package schema

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/golden"
)

func TestReferencePageIsCurrent(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "spec.md")
	if golden.Update() {
		if err := os.WriteFile(page, []byte(Reference()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatalf("%v: run make golden", err)
	}
	if diff := cmp.Diff(Reference(), string(got)); diff != "" {
		t.Errorf("docs/spec.md is not what the table of fields says (-table +page); run make golden:\n%s", diff)
	}
}
