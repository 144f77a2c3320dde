package cli

import (
	"path/filepath"
	"testing"

	"kopshook.dev/kopshook/internal/golden"
)

// TestPictureOfREADMEIsCurrent: it is what explain draws of the GPU example.
func TestPictureOfREADMEIsCurrent(t *testing.T) {
	repo := repository(t)
	t.Chdir(repo)
	got := runApp(t, "", "explain", "-o", "svg", "-g", "gpu-a", "-f", "examples/gpu", "examples/mixed/cluster.yaml")
	golden.Check(t, filepath.Join(repo, "docs", "explain.svg"), []byte(got))
}
