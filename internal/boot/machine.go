package boot

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// Config says what a machine is made of.
type Config struct {
	Suite    string   // of Suites; empty means the first
	Packages []string // besides those that every node has
	UserData []byte   // what kops sends the instance
	// InstanceID is cloud-init's; empty means one is made up.
	InstanceID string
	// DiskSize in bytes makes a small disk, in memory; 0 means as large as the folder it is in.
	DiskSize int64
	// VM boots a virtual machine with a kernel of its own in place of a container: slow where the processor cannot help.
	// The kernel is that of Packages, or the suite's without modules.
	// Its disk can be changed before the first boot only, and not read.
	VM bool
	// Disks is how many blank disks of 256 MiB a virtual machine has besides its own: /dev/nvme1n1 and on, Disk(1) and on.
	Disks int
	// Network gives the node this machine's network; without, it has a loopback device only.
	Network bool
	// Join makes the machine a node of a cluster; nil means that nodeup, containerd and the kubelet are stand-ins.
	Join *Join
	// Dir is where the machine's files are kept. Empty means a temporary folder that Close removes.
	Dir string
	// Progress gets a line when there is something to wait for; nil means nobody wants to know.
	Progress io.Writer
}

// Machine is a node's disk and what it takes to boot from it. Its methods are not for use by several goroutines, and,
// but for Boot, not while it runs.
type Machine struct {
	config Config
	dir    string
	layers []string // of the root file system: the machine's own first, the one from the cache last
	boots  int
	temp   bool
	disk   string // where a disk in memory is mounted

	group atomic.Pointer[cgroup] // of the container that runs
}

// defaultInstanceID looks like one of EC2's.
const defaultInstanceID = "i-0123456789abcdef0"

// New makes a machine that has not booted yet.
func New(ctx context.Context, config Config) (*Machine, error) {
	if config.Suite == "" {
		config.Suite = Suites[0].Name
	}
	if config.Progress == nil {
		config.Progress = io.Discard
	}
	suite, err := FindSuite(config.Suite)
	if err != nil {
		return nil, err
	}
	if config.Join != nil {
		config.Packages = append(slices.Clone(config.Packages), joinPackages...)
	}
	root, err := RootFS(ctx, suite, config.Packages, config.Progress)
	if err != nil {
		return nil, err
	}
	m := &Machine{config: config, layers: []string{root}}
	if err := m.prepare(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Clone is a machine made from an image of this one's disk: all files are there, but for the user data and the
// instance id, which are its own. The image is what it is now; m must not be booted again while the clone is in use.
func (m *Machine) Clone(userData []byte, instanceID string) (*Machine, error) {
	config := m.config
	config.UserData, config.InstanceID, config.Dir = userData, instanceID, ""
	clone := &Machine{config: config, layers: m.layers}
	if err := clone.prepare(); err != nil {
		clone.Close()
		return nil, err
	}
	return clone, nil
}

// prepare makes the machine's folder, on top of m.layers.
func (m *Machine) prepare() error {
	var err error
	if m.dir = m.config.Dir; m.dir == "" {
		m.temp = true
		m.dir, err = os.MkdirTemp("", "kopshook-boot-")
	} else if m.dir, err = filepath.Abs(m.dir); err == nil {
		err = os.MkdirAll(m.dir, 0o755)
	}
	if err != nil {
		return err
	}
	disk := filepath.Join(m.dir, "disk")
	if err := os.MkdirAll(disk, 0o755); err != nil {
		return err
	}
	inMemory := m.config.DiskSize > 0
	if onOverlay(disk) { // as in a container: one overlay cannot write to another
		if !m.temp {
			return fmt.Errorf("%s is on an overlay file system, where a node's disk cannot be: name another folder", m.dir)
		}
		inMemory = true
	}
	if inMemory {
		if err := mountMemory(disk, m.config.DiskSize); err != nil {
			return fmt.Errorf("mounting a disk in memory: %w", err)
		}
		m.disk = disk
	}
	for _, name := range []string{"disk/root", "disk/work", "mount", "trial"} {
		if err := os.MkdirAll(filepath.Join(m.dir, name), 0o755); err != nil {
			return err
		}
	}
	m.layers = append([]string{filepath.Join(disk, "root")}, m.layers...)
	if err := m.installStandIns(filepath.Join(m.dir, "trial")); err != nil {
		return err
	}
	if m.config.Join != nil {
		if err := m.installJoin(); err != nil {
			return err
		}
	}
	if m.config.InstanceID == "" {
		m.config.InstanceID = defaultInstanceID
	}
	return m.Seed(m.config.UserData, m.config.InstanceID)
}

// Close removes the machine. A machine with a folder of its own keeps its files.
func (m *Machine) Close() error {
	if m.disk != "" {
		if err := unmount(m.disk); err != nil {
			return err
		}
		m.disk = ""
	}
	if !m.temp {
		return nil
	}
	return os.RemoveAll(m.dir)
}

// Dir is where the machine's files are: trial/ is /trial of the node, boot-N/ is what was seen of boot N.
func (m *Machine) Dir() string { return m.dir }

// Seed is what cloud-init finds at the next boot. kops' nodeup.sh in it is told to trust the stand-in of nodeup.
func (m *Machine) Seed(userData []byte, instanceID string) error {
	if m.config.Join == nil {
		var err error
		if userData, err = trustStandIn(userData); err != nil {
			return err
		}
	}
	meta := "instance-id: " + instanceID + "\nlocal-hostname: " + m.hostname() + "\n"
	if err := m.WriteFile(File{Path: seedDir + "/user-data", Content: userData}); err != nil {
		return err
	}
	return m.WriteFile(File{Path: seedDir + "/meta-data", Content: []byte(meta)})
}

// RemoveSeed takes cloud-init's data source away: it finds "None" at the next boot.
func (m *Machine) RemoveSeed() error { return m.RemoveAll(seedDir) }

const seedDir = "/var/lib/cloud/seed/nocloud"

// Nodeup says how the stand-in of nodeup behaves from the next boot on.
type Nodeup struct {
	Seconds string // it sleeps so long before it installs anything; "" is not at all
	Script  string // bash, run before it installs anything; when it fails, nodeup tries again every 30 s
	Known   bool   // the cluster has the node already, and it is Ready: nodeup does nothing
	Warming bool   // the machine is in a warm pool: the kubelet is installed, but neither started nor enabled
}

// SetNodeup changes how nodeup behaves.
func (m *Machine) SetNodeup(n Nodeup) error {
	if err := m.setTrial("nodeup-delay", n.Seconds); err != nil {
		return err
	}
	for name, on := range map[string]bool{"nodeup-warming": n.Warming, "nodeup-known": n.Known} {
		content := ""
		if on {
			content = "yes"
		}
		if err := m.setTrial(name, content); err != nil {
			return err
		}
	}
	return m.setTrial("nodeup-script", n.Script)
}

// setTrial writes a file of /trial, or removes it when content is empty.
func (m *Machine) setTrial(name, content string) error {
	path := filepath.Join(m.dir, "trial", name)
	if content == "" {
		return os.RemoveAll(path)
	}
	return os.WriteFile(path, []byte(content+"\n"), 0o644)
}

// File is a file of a node.
type File struct {
	Path    string // absolute, without symbolic links in it
	Content []byte
	Mode    os.FileMode // 0 means 0644
}

// WriteFile puts a file on the machine's disk, with its folders.
func (m *Machine) WriteFile(f File) error {
	path, err := m.own(f.Path)
	if err != nil {
		return err
	}
	mode := f.Mode
	if mode == 0 {
		mode = 0o644
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := os.WriteFile(path, f.Content, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

func (m *Machine) symlink(target, path string) error {
	path, err := m.own(path)
	if err != nil {
		return err
	}
	os.Remove(path)
	return os.Symlink(target, path)
}

// own returns where the machine's own layer has path, and makes its folders as they are in the layers below.
func (m *Machine) own(path string) (string, error) {
	dir, made := m.layers[0], ""
	for _, name := range strings.Split(strings.Trim(filepath.Dir(path), "/"), "/") {
		made = filepath.Join(made, name)
		if err := os.Mkdir(filepath.Join(dir, made), 0o755); err != nil {
			if os.IsExist(err) {
				continue
			}
			return "", err
		}
		for _, layer := range m.layers[1:] {
			if info, err := os.Stat(filepath.Join(layer, made)); err == nil {
				if err := copyAttributes(info, filepath.Join(dir, made)); err != nil {
					return "", err
				}
				break
			}
		}
	}
	return filepath.Join(dir, path), nil
}

// find returns where the topmost layer that has path has it.
func (m *Machine) find(path string) (string, error) {
	for _, layer := range m.layers {
		at := filepath.Join(layer, path)
		info, err := os.Lstat(at)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		if isWhiteout(info) {
			break
		}
		return at, nil
	}
	return "", &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
}

// ReadFile reads a file of the machine's disk. The path must have no symbolic links in it.
func (m *Machine) ReadFile(path string) ([]byte, error) {
	at, err := m.find(path)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(at)
}

// Stat describes a file of the machine's disk.
func (m *Machine) Stat(path string) (os.FileInfo, error) {
	at, err := m.find(path)
	if err != nil {
		return nil, err
	}
	return os.Lstat(at)
}

// Glob lists the files of the machine's own that match pattern: those that the node or WriteFile made or changed.
func (m *Machine) Glob(pattern string) ([]string, error) {
	var out []string
	for _, layer := range m.layers[:len(m.layers)-1] {
		found, err := filepath.Glob(filepath.Join(layer, pattern))
		if err != nil {
			return nil, err
		}
		for _, at := range found {
			path := strings.TrimPrefix(at, layer)
			if here, err := m.find(path); err == nil && here == at {
				out = append(out, path)
			}
		}
	}
	return out, nil
}

// RemoveAll removes a file or a folder.
func (m *Machine) RemoveAll(path string) error {
	if err := os.RemoveAll(filepath.Join(m.layers[0], path)); err != nil {
		return err
	}
	if _, err := m.find(path); err != nil {
		return nil
	}
	at, err := m.own(path)
	if err != nil {
		return err
	}
	return makeWhiteout(at)
}
