package cli

import (
	"path/filepath"
	"testing"
)

// TestPictureOfREADMEIsCurrent: it is what explain draws of the GPU example.
func TestPictureOfREADMEIsCurrent(t *testing.T) {
	repo := repository(t)
	t.Chdir(repo)
	got := runApp(t, "", "explain", "-o", "svg", "-g", "gpu-a", "-f", "examples/gpu", "examples/mixed/cluster.yaml")
	checkGolden(t, filepath.Join(repo, "docs", "explain.svg"), got)
}
