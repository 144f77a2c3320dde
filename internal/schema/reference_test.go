package schema

import (
	"path/filepath"
	"testing"

	"kopshook.dev/kopshook/internal/golden"
)

func TestReferencePageIsCurrent(t *testing.T) {
	golden.Check(t, filepath.Join("..", "..", "docs", "spec.md"), []byte(Reference()))
}
