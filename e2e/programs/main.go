// Command programs builds the programs that a real kops cluster runs, once, and prints the folder that they are in. They
// are kept in $KOPSHOOK_CACHE, or kopshook in the user's cache folder, by what they are made of: go.mod, go.sum and this
// file. Versions stand in go.mod alone.
package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

//go:embed go.mod
var goMod string

//go:embed go.sum
var goSum string

//go:embed main.go
var thisFile string

func main() {
	dir, err := build()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/programs:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

// runc is the one that takes C: it enters namespaces before Go's threads begin, and has libseccomp hold containers to
// their profile.
const runc = "github.com/opencontainers/runc"

func build() (string, error) {
	cache := os.Getenv("KOPSHOOK_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "kopshook")
	}
	key := sha256.Sum256([]byte(strings.Join([]string{goMod, goSum, thisFile, runtime.GOARCH}, "\x00")))
	dir := filepath.Join(cache, "programs", hex.EncodeToString(key[:])[:12])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	tools, err := output("list", "tool")
	if err != nil {
		return "", err
	}
	kubernetes, err := output("list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	containerd, err := output("list", "-m", "-f", "{{.Version}}", "github.com/containerd/containerd/v2")
	if err != nil {
		return "", err
	}
	fmt.Fprintf(os.Stderr, "building %d programs of a kops cluster, once: it takes minutes\n", len(tools))
	start := time.Now()
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return "", err
	}
	packages := slices.DeleteFunc(slices.Clone(tools), func(p string) bool { return p == runc })
	tags := "no_btrfs,no_devmapper,no_zfs,no_aufs,disable_system_log_monitor,disable_system_stats_monitor,disable_stackdriver_exporter"
	flags := fmt.Sprintf("-s -w -X k8s.io/component-base/version.gitVersion=%s -X github.com/containerd/containerd/v2/version.Version=%s",
		kubernetes[0], strings.TrimPrefix(containerd[0], "v"))
	if err := run("CGO_ENABLED=0", append([]string{"build", "-o", tmp + "/", "-tags", tags, "-ldflags", flags}, packages...)...); err != nil {
		return "", err
	}
	// it runs on nodes with another C library than this machine's
	if err := run("CGO_ENABLED=1", "build", "-o", tmp+"/", "-tags", "netgo,osusergo,seccomp", "-ldflags", "-s -w -extldflags -static", runc); err != nil {
		return "", err
	}
	fmt.Fprintf(os.Stderr, "built in %d s: %s\n", int(time.Since(start).Seconds()), dir)
	return dir, os.Rename(tmp, dir)
}

func output(args ...string) ([]string, error) {
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return strings.Fields(string(out)), nil
}

func run(environment string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), environment)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", args[0], err)
	}
	return nil
}
