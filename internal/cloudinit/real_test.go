//go:build e2e

package cloudinit

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
)

// real is cloud-init's own code, waiting for requests in a root file system of a Debian release.
type real struct {
	version Version
	name    string
	in      *json.Encoder
	out     *bufio.Reader

	unpredicted int
}

// releases are what the model is held against: the cloud-init of each suite or, with KOPSHOOK_CLOUDINIT, the one of that
// source tree, which the suite KOPSHOOK_SUITE runs with its Python.
func releases() []release {
	if tree := os.Getenv("KOPSHOOK_CLOUDINIT"); tree != "" {
		return []release{{suite: cmp.Or(os.Getenv("KOPSHOOK_SUITE"), "trixie"), tree: tree}}
	}
	return []release{{suite: "bullseye"}, {suite: "bookworm"}, {suite: "trixie"}, {suite: "testing"}}
}

type release struct{ suite, tree string }

// start runs the driver in a copy of the root file system that goes away with the test.
func start(tb testing.TB, rel release) *real {
	tb.Helper()
	if os.Getuid() != 0 {
		tb.Fatal("needs root: it changes into a root file system of its own")
	}
	suite, err := boot.FindSuite(rel.suite)
	if err != nil {
		tb.Fatal(err)
	}
	root, err := boot.RootFS(context.Background(), suite, nil, os.Stderr)
	if err != nil && suite.EndOfRange {
		tb.Skipf("%s cannot be built here, and is not compared: %v", suite.Title, err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	driver, err := filepath.Abs("testdata/driver.py")
	if err != nil {
		tb.Fatal(err)
	}
	tree := ""
	if rel.tree != "" {
		if tree, err = filepath.Abs(rel.tree); err != nil {
			tb.Fatal(err)
		}
	}
	// the mounts are seen by this process alone and end with it
	const script = `set -e
mount -t tmpfs tmpfs "$1"; cd "$1"; mkdir upper work root
cp "$3" upper/driver.py
mount -t overlay overlay -o "lowerdir=$2,upperdir=upper,workdir=work" root
mkdir -p root/dev/shm root/proc; mount -t tmpfs tmpfs root/dev/shm
[ -e root/dev/null ] || mknod -m 666 root/dev/null c 1 3
[ -z "$4" ] || { mkdir root/tree; mount --bind "$4" root/tree; mount -o remount,bind,ro root/tree; }
exec chroot root /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 PYTHONPATH=/tree PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 /driver.py`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", script, "sh", tb.TempDir(), root, driver, tree)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			tb.Errorf("the driver: %v", err)
		}
	})
	r := &real{in: json.NewEncoder(in), out: bufio.NewReaderSize(out, 1<<20)}
	var hello struct{ Version, Python, YAML string }
	r.ask(tb, map[string]any{"folders": knownFolders, "users": knownUsers, "groups": knownGroups}, &hello)
	if _, err := fmt.Sscanf(hello.Version, "%d.%d", &r.version.Major, &r.version.Minor); err != nil {
		tb.Fatalf("cloud-init calls itself %q: %v", hello.Version, err)
	}
	if _, err := fmt.Sscanf(hello.Python, "3.%d", &r.version.Python); err != nil {
		tb.Fatalf("Python calls itself %q: %v", hello.Python, err)
	}
	r.name = fmt.Sprintf("cloud-init %s, Python %s, PyYAML %s", hello.Version, hello.Python, hello.YAML)
	return r
}

// ask sends a request and reads the answer to it.
func (r *real) ask(tb testing.TB, request, answer any) {
	tb.Helper()
	if err := r.in.Encode(request); err != nil {
		tb.Fatal(err)
	}
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		tb.Fatalf("the driver has died: %v", err)
	}
	if err := json.Unmarshal(line, answer); err != nil {
		tb.Fatalf("the driver says %q: %v", line, err)
	}
}
