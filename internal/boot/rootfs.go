package boot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// packages are what every node has; a cloud image has them too.
var packages = []string{"ca-certificates", "cloud-init", "curl", "dbus", "e2fsprogs", "iproute2", "kmod", "procps", "systemd-sysv", "udev"}

// nodeFiles make a plain root file system a cloud image: nothing that knows the machine it came from, and a cloud-init
// that looks for its data nowhere else than on its disk.
var nodeFiles = map[string]string{
	"etc/hostname":    "kops-node\n",
	"etc/machine-id":  "",
	"etc/environment": "",
	"etc/cloud/cloud.cfg.d/99_trial.cfg": "datasource_list: [NoCloud, None]\n" +
		"locale: false\nresize_rootfs: false\nssh_genkeytypes: []\ngrowpart: {mode: \"off\"}\nnetwork: {config: disabled}\n",
}

// quiet are units that take time and that nothing on a node waits for.
var quiet = []string{
	"apt-daily-upgrade.timer", "apt-daily.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service",
	"fstrim.timer", "getty@tty1.service", "man-db.timer", "motd-news.timer", "networking.service",
	"serial-getty@ttyS0.service", "console-getty.service", "systemd-networkd-wait-online.service",
	"systemd-timesyncd.service", "systemd-udev-settle.service",
}

// CacheDir is where root file systems are kept: $KOPSHOOK_CACHE, or kopshook in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv("KOPSHOOK_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: set KOPSHOOK_CACHE: %w", err)
	}
	return filepath.Join(dir, "kopshook"), nil
}

// RootFS returns a folder with a root file system of the suite and, besides the usual, the packages extra. It is
// built once per recipe and shared: nobody may write to it. progress gets a line when there is something to wait for.
func RootFS(ctx context.Context, suite Suite, extra []string, progress io.Writer) (string, error) {
	if missing := suite.Missing(); missing != "" {
		return "", errors.New(missing)
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	recipe := newRecipe(suite, extra)
	dir := filepath.Join(cache, "rootfs", suite.Name+"-"+recipe.hash())
	if exists(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(dir) { // somebody else built it meanwhile
		return dir, nil
	}
	fmt.Fprintf(progress, "building a root file system of %s (%s), once\n", suite.Name, suite.Title)
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	if err := recipe.build(ctx, tmp); err != nil {
		os.RemoveAll(tmp)
		return "", fmt.Errorf("building a root file system of %s: %w", suite.Name, err)
	}
	return dir, os.Rename(tmp, dir)
}

// recipe is all that a root file system depends on.
type recipe struct {
	suite    Suite
	mirror   string
	packages []string
}

func newRecipe(suite Suite, extra []string) recipe {
	r := recipe{suite: suite, mirror: os.Getenv(suite.mirrorEnv), packages: slices.Concat(packages, suite.packages, extra)}
	slices.Sort(r.packages)
	r.packages = slices.Compact(r.packages)
	return r
}

// hash changes with everything that changes the result, but for what the archive serves.
func (r recipe) hash() string {
	h := sha256.New()
	fmt.Fprintln(h, "1", runtime.GOARCH, r.arguments("DIR"), quiet)
	for _, name := range slices.Sorted(maps.Keys(nodeFiles)) {
		fmt.Fprintf(h, "%s %q\n", name, nodeFiles[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

func (r recipe) arguments(dir string) []string {
	args := []string{
		"--mode=root", "--variant=apt", "--format=directory", "--components=" + r.suite.components,
		"--keyring=" + r.suite.keyring, "--include=" + strings.Join(r.packages, ","),
		`--aptopt=Acquire::Languages "none"`,
	}
	for _, dir := range []string{"man", "doc", "locale", "i18n"} {
		args = append(args, "--dpkgopt=path-exclude=/usr/share/"+dir+"/*")
	}
	args = append(args, r.suite.options...)
	args = append(args, r.suite.Name, dir)
	if r.mirror != "" {
		args = append(args, r.mirror)
	}
	return args
}

func (r recipe) build(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "mmdebstrap", r.arguments(dir)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("mmdebstrap: %w\n%s", err, lastLines(out, 20))
	}
	for name, content := range nodeFiles {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, unit := range quiet {
		path := filepath.Join(dir, "etc/systemd/system", unit)
		os.Remove(path)
		if err := os.Symlink("/dev/null", path); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func lastLines(text []byte, n int) []byte {
	lines := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], []byte("\n"))
}
