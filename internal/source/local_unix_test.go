//go:build unix

package source

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestLocalSpecialFiles(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"specs/hooks.yaml": ""})
	os.Mkdir(filepath.Join(top, "specs/fifos"), 0o755)
	for _, fifo := range []string{"specs/fifo", "specs/fifos/f"} {
		if err := syscall.Mkfifo(filepath.Join(top, fifo), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sock, err := net.Listen("unix", filepath.Join(top, "specs/sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	const hint = "hint: only regular files are read\n"
	loadsLocally(t, top, map[string]localCase{
		"a FIFO":             {src: "fifo", want: "error: source \"fifo\" is a FIFO\n" + hint},
		"a FIFO in a folder": {src: "fifos", want: "error: source \"fifos/f\" is a FIFO\n" + hint},
		"a socket":           {src: "sock", want: "error: source \"sock\" is a socket\n" + hint},
		"a device":           {src: "/dev/null", allow: "/dev", want: "error: source \"/dev/null\" is a device\n" + hint},
	})
}
