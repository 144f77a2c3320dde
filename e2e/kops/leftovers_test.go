//go:build e2e

package kops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// leftovers lists what a cluster and its nodes left on this machine: dir is the folder that all their files were in.
func leftovers(dir string) []string {
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		left = append(left, err.Error())
	}
	for _, e := range entries {
		left = append(left, "the folder "+filepath.Join(dir, e.Name()))
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, dir) {
			left = append(left, "a mount: "+strings.TrimSpace(line))
		}
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, loop := range loops {
		if text, _ := os.ReadFile(loop); strings.Contains(string(text), dir) {
			left = append(left, loop+": "+strings.TrimSpace(string(text)))
		}
	}
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		groups, _ := filepath.Glob(fmt.Sprintf("%s/kopshook-%d-*", root, os.Getpid()))
		left = append(left, groups...)
	}
	return slices.Concat(left, processes(dir), namespaces())
}

// processes lists other processes that work below dir, or were started with it.
func processes(dir string) (left []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		if p == fmt.Sprintf("/proc/%d", os.Getpid()) {
			continue
		}
		command, _ := os.ReadFile(p + "/cmdline")
		environ, _ := os.ReadFile(p + "/environ")
		folder, _ := os.Readlink(p + "/cwd")
		if strings.Contains(string(command)+string(environ)+folder, dir) {
			left = append(left, fmt.Sprintf("%s: %q", p, command))
		}
	}
	return left
}

// namespaces lists network namespaces that this process still holds: nothing else names those of a cluster.
func namespaces() (left []string) {
	own, _ := os.Readlink("/proc/self/ns/net") // of the first thread, which is never taken for one
	for _, pattern := range []string{"/proc/self/fd/*", "/proc/self/task/*/ns/net"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			if to, _ := os.Readlink(f); strings.HasPrefix(to, "net:[") && to != own {
				left = append(left, f+": "+to)
			}
		}
	}
	return left
}
