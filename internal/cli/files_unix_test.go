//go:build unix

package cli

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestSpecFilesOfAFolderWithAFIFO(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.yaml")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := specFiles(dir); err == nil || err.Error() != fifo+": is not a regular file" {
		t.Error(err)
	}
}
