package boot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inside runs in a mount namespace of its own: a /run that no other machine knows, cgroup v2 whatever the host has,
// and the node's root file system. "volatile" spares the syncs: a machine's disk need not survive its host.
const inside = `set -eu
mount -t tmpfs -o mode=0755 tmpfs /run
umount -R /sys/fs/cgroup 2>/dev/null || :
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t overlay -o "$1" overlay "$2"
shift 2
exec systemd-nspawn "$@"
`

var machines atomic.Int64

// runContainer boots the machine in a container and waits for its end. Cancelling ctx is cutting the power.
func (m *Machine) runContainer(ctx context.Context, out string) error {
	overlay, err := m.overlay()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("kopshook-%d-%d", os.Getpid(), machines.Add(1))
	group, err := newCgroup(name)
	if err != nil {
		return err
	}
	defer group.remove()
	m.group.Store(group)
	defer m.group.Store(nil)

	root := filepath.Join(m.dir, "mount")
	args := []string{
		"-c", inside, "sh", overlay, root,
		"--quiet", "--boot", "--directory=" + root, "--machine=" + name, "--hostname=" + m.hostname(), "--settings=no",
		"--register=no", "--keep-unit", "--link-journal=no", "--timezone=off", "--console=read-only",
		"--bind=" + filepath.Join(m.dir, "trial") + ":/trial", "--bind=" + out + ":/trial/out",
	}
	if m.config.Join != nil {
		args = append(args, m.joinArguments()...)
	} else if m.config.Network {
		args = append(args, "--resolv-conf=copy-host")
	} else {
		args = append(args, "--resolv-conf=off", "--private-network")
	}
	console, err := os.Create(filepath.Join(out, "console"))
	if err != nil {
		return err
	}
	defer console.Close()
	cmd := exec.Command("sh", args...)
	cmd.Stdout, cmd.Stderr = console, console
	if m.config.Join != nil { // the kubelet, runc and CNI plugins write there
		cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_API_VFS_WRITABLE=network")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS,
		UseCgroupFD:  true,
		CgroupFD:     int(group.file.Fd()),
		Setsid:       true,            // Ctrl-C is for us: we cut the power
		Pdeathsig:    syscall.SIGKILL, // and so does whoever kills us
	}
	runtime.LockOSThread() // Pdeathsig means the thread
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { group.kill() })
	defer stop()
	err = cmd.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitReboot {
		return nil
	}
	if err != nil {
		text, _ := os.ReadFile(console.Name())
		return fmt.Errorf("systemd-nspawn: %w\n%s", err, lastLines(text, 15))
	}
	return nil
}

// overlay returns the options that mount the machine's disk.
func (m *Machine) overlay() (string, error) {
	work := filepath.Join(m.dir, "disk", "work")
	if err := os.RemoveAll(work); err != nil { // a volatile overlay is mounted once only
		return "", err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return "", err
	}
	return fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,volatile,index=off,metacopy=off,redirect_dir=off",
		strings.Join(m.layers[1:], ":"), m.layers[0], work), nil
}

// Chroot runs a shell script as root in the machine's disk, as programs do that make images, and returns its output.
// The machine must not be running.
func (m *Machine) Chroot(ctx context.Context, script []byte) ([]byte, error) {
	overlay, err := m.overlay()
	if err != nil {
		return nil, err
	}
	const mounts = `set -eu; mount -t overlay -o "$1" overlay "$2"; mount -t proc proc "$2/proc"; exec chroot "$2" /bin/sh -s`
	cmd := exec.CommandContext(ctx, "sh", "-c", mounts, "sh", overlay, filepath.Join(m.dir, "mount"))
	cmd.Stdin = bytes.NewReader(script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Setsid: true}
	return cmd.CombinedOutput()
}

// exitReboot is how systemd-nspawn says that the container asked for a reboot
// (src/nspawn/nspawn.c, EXIT_FORCE_RESTART, when it was started with --keep-unit).
const exitReboot = 133

// cgroup is a control group right below the root of the hierarchy.
type cgroup struct {
	path string
	file *os.File
}

func newCgroup(name string) (*cgroup, error) {
	root, err := cgroupRoot()
	if err != nil {
		return nil, err
	}
	enableControllers(root)
	g := &cgroup{path: filepath.Join(root, name)}
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return nil, err
	}
	if g.file, err = os.Open(g.path); err != nil {
		return nil, err
	}
	return g, nil
}

// enableControllers gives groups right below root what cgroup v2 limits on this machine: pods on a node have limits. A controller
// that cannot be had is none that nodes cannot do without.
func enableControllers(root string) {
	text, _ := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	for _, name := range strings.Fields(string(text)) {
		os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+"+name), 0)
	}
}

// kill ends every process in the group.
func (g *cgroup) kill() error {
	return os.WriteFile(filepath.Join(g.path, "cgroup.kill"), []byte("1"), 0)
}

// remove kills what is left and removes the group with all below it.
func (g *cgroup) remove() error {
	g.file.Close()
	var err error
	for range 100 {
		g.kill()
		var groups []string
		filepath.WalkDir(g.path, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				groups = append(groups, path)
			}
			return nil
		})
		for i := len(groups) - 1; i >= 0; i-- {
			err = os.Remove(groups[i])
		}
		if !exists(g.path) {
			return nil
		}
		time.Sleep(20 * time.Millisecond) // killed processes take a moment to be gone
	}
	return err
}

// cgroupRoot returns where cgroup v2 is mounted.
func cgroupRoot() (string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() { // ID PARENT DEVICE ROOT PLACE OPTIONS... - TYPE SOURCE OPTIONS
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return fields[4], nil
		}
	}
	return "", errors.New("cgroup v2 is not mounted")
}

// lockFile takes an exclusive lock on a file that it makes if need be.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// mountMemory mounts a file system of so many bytes; 0 means without a limit.
func mountMemory(dir string, size int64) error {
	return unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", size))
}

func unmount(dir string) error { return unix.Unmount(dir, unix.MNT_DETACH) }

// onOverlay says whether dir is on an overlay file system.
func onOverlay(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// copyAttributes gives path the mode and the owner of info.
func copyAttributes(info os.FileInfo, path string) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if err := os.Chown(path, int(st.Uid), int(st.Gid)); err != nil {
		return err
	}
	return os.Chmod(path, info.Mode())
}

// A whiteout is how an overlay's upper layer says that a file of the lower layers is gone.
func isWhiteout(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&os.ModeCharDevice != 0 && st.Rdev == 0
}

func makeWhiteout(path string) error { return unix.Mknod(path, unix.S_IFCHR, 0) }
