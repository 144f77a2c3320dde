package localcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// program is a process of the control plane.
type program struct {
	name string
	cmd  *exec.Cmd
	log  string
}

// findProgram finds a program in the folder, or in PATH.
func findProgram(programs, name string) (string, error) {
	path := filepath.Join(programs, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return exec.LookPath(name)
}

// environ is what programs of the cluster find: no cloud, no credentials, no settings of the user's.
func (c *Cluster) environ(more []string) []string {
	return append([]string{
		"HOME=" + c.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + c.dir, "AWS_EC2_METADATA_DISABLED=true",
		"S3_ENDPOINT=http://" + bucketAddress, "S3_REGION=" + region, "S3_ACCESS_KEY_ID=none", "S3_SECRET_ACCESS_KEY=none",
		"HCLOUD_TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "SSL_CERT_FILE=" + c.path("cloud-ca.crt"),
		"HTTPS_PROXY=http://" + proxyAddress, "NO_PROXY=127.0.0.1,localhost,10.9.0.0/16", // gRPC minds them too
	}, more...)
}

// begin starts a program that runs until Close. It finds the namespace of a pod where kops-controller looks for it.
func (c *Cluster) begin(name string, env []string, args ...string) error {
	path, err := findProgram(c.config.Programs, name)
	if err != nil {
		return err
	}
	log, err := os.Create(c.path(name + ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("sh", append([]string{"-ec", inPod, "sh", path}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.environ(env), c.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL, Setsid: true}
	if err := c.net.do(cmd.Start); err != nil {
		return err
	}
	c.running = append(c.running, &program{name, cmd, log.Name()})
	return nil
}

const inPod = `mount -t tmpfs tmpfs /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
printf kube-system > /run/secrets/kubernetes.io/serviceaccount/namespace
exec "$@"`

// output runs a program to its end and returns what it printed.
func (c *Cluster) output(ctx context.Context, name string, env []string, args ...string) ([]byte, error) {
	path, err := findProgram(c.config.Programs, name)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = c.environ(env), c.dir, 10*time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	run := cmd.Run
	if c.net != nil {
		run = func() error {
			if err := c.net.do(cmd.Start); err != nil {
				return err
			}
			return cmd.Wait()
		}
	}
	if err := run(); err != nil {
		text := append(out.Bytes(), errs.Bytes()...)
		return nil, fmt.Errorf("%s %s: %w\n%s", name, args[0], err, text[max(0, len(text)-4000):])
	}
	return out.Bytes(), nil
}

func (p *program) stop() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// Log is what a program of the control plane has printed.
func (c *Cluster) Log(name string) string {
	text, _ := os.ReadFile(c.path(name + ".log"))
	return string(text)
}
