package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// Shell runs a login shell as root in the machine while it runs, for Options.Until. With a terminal as stdin it is an
// interactive one. How the shell ends is not an error.
func (m *Machine) Shell(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	cmd, err := m.inside(ctx, "/bin/bash", "-l")
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	// what was ignored when we were started, as a script's background job has SIGINT, would stay ignored in the shell:
	// Ctrl-C would end nothing there. A signal that is caught has its default in other programs.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(caught)
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("a shell in the node: %w", err)
	}
	return nil
}

// Active says whether a unit of the machine that runs is active.
func (m *Machine) Active(ctx context.Context, unit string) bool {
	cmd, err := m.inside(ctx, "/bin/systemctl", "is-active", "--quiet", unit)
	return err == nil && cmd.Run() == nil
}

// inside is a command in the namespaces of the container that runs.
func (m *Machine) inside(ctx context.Context, command ...string) (*exec.Cmd, error) {
	group := m.group.Load()
	if group == nil {
		return nil, errors.New("the machine is not running, or it is a virtual one")
	}
	leader, err := group.leader()
	if err != nil {
		return nil, err
	}
	args := append([]string{"--target", leader, "--all", "--root", "--wd", "--"}, command...)
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	cmd.Env = []string{"HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/bash", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	if term := os.Getenv("TERM"); term != "" {
		cmd.Env = append(cmd.Env, "TERM="+term)
	}
	return cmd, nil
}

// leader is the number, as we see it, of the process that is the first one in the container.
func (g *cgroup) leader() (pid string, err error) {
	err = filepath.WalkDir(g.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || pid != "" || d.Name() != "cgroup.procs" {
			return nil // control groups come and go
		}
		list, _ := os.ReadFile(path)
		for _, p := range strings.Fields(string(list)) {
			status, _ := os.ReadFile(filepath.Join("/proc", p, "status"))
			for line := range strings.Lines(string(status)) {
				if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
					if f := strings.Fields(numbers); len(f) > 1 && f[len(f)-1] == "1" {
						pid = p
						return fs.SkipAll
					}
				}
			}
		}
		return nil
	})
	if err == nil && pid == "" {
		err = errors.New("the node has no first process")
	}
	return pid, err
}
