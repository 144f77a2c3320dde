//go:build e2e

package kops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/cli"
	"kopshook.dev/kopshook/internal/localcluster"
)

// The cluster of all tests, and a client of its API server.
var (
	theCluster *localcluster.Cluster
	api        kubernetes.Interface
)

// groups are the instance groups of the tests, each with specs of its own: kops makes the user data of all at once.
var groups []struct {
	name, manifest string
	specs          []string
	change         func(manifest string) string
}

// patient is how long to wait on this machine for what takes so long elsewhere: KOPSHOOK_E2E_PATIENCE times.
func patient(d time.Duration) time.Duration {
	times, err := strconv.Atoi(os.Getenv("KOPSHOOK_E2E_PATIENCE"))
	if err != nil {
		return d
	}
	return d * time.Duration(times)
}

// group adds an instance group with the hooks of specs, where @ stands for the group's name, to the cluster. What change
// does to the merged manifest is what kops gets.
func group(name string, change func(string) string, specs ...string) string {
	groups = append(groups, struct {
		name, manifest string
		specs          []string
		change         func(string) string
	}{name, fmt.Sprintf(`apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  labels:
    kops.k8s.io/cluster: %s
  name: %s
spec:
  image: ubuntu-24.04
  machineType: cx23
  maxSize: 1
  minSize: 1
  role: %s
  subnets:
  - fsn1
`, localcluster.Name, name, map[bool]string{true: "Master", false: "Node"}[name == localcluster.ControlPlane]), specs, change})
	return name
}

// spec is a hook spec for the group @, with hooks, a YAML list.
func spec(hooks string) string {
	text := "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: \"@\"}\nspec:\n  runtime: v1\n  selector: {names: [\"@\"]}\n  hooks:\n"
	for line := range strings.Lines(strings.Trim(hooks, "\n") + "\n") {
		text += "  " + line
	}
	return text
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/kops:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	for _, s := range suites {
		if missing := boot.Requirements(s); len(missing) > 0 {
			return 1, fmt.Errorf("missing here: %s", strings.Join(missing, "; "))
		}
	}
	if mutating || elsewhere {
		return m.Run(), nil
	}
	programs := os.Getenv("KOPSHOOK_PROGRAMS")
	if programs == "" {
		return 1, fmt.Errorf("KOPSHOOK_PROGRAMS is not set: run make e2e-kops")
	}
	// all files of the cluster and of its nodes are in one folder, which must be empty at the end
	dir, err := os.MkdirTemp("", "kopshook-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return 1, err
	}
	manifests, err := merged()
	if err != nil {
		return 1, err
	}
	ctx, stop := context.WithTimeout(context.Background(), patient(5*time.Minute))
	defer stop()
	start := time.Now()
	if theCluster, err = localcluster.Start(ctx, localcluster.Config{Programs: programs, Groups: manifests, Progress: os.Stderr}); err != nil {
		return 1, err
	}
	defer func() {
		err = errors.Join(err, theCluster.Close())
		for deadline := time.Now().Add(30 * time.Second); len(leftovers(dir)) > 0 && time.Now().Before(deadline); {
			time.Sleep(100 * time.Millisecond) // threads and killed processes take a moment to be gone
		}
		for _, text := range leftovers(dir) {
			err = errors.Join(err, fmt.Errorf("left behind: %s", text))
		}
	}()
	fmt.Fprintf(os.Stderr, "the control plane is up after %.0f s\n", time.Since(start).Seconds())
	if api, err = kubernetes.NewForConfigAndClient(&rest.Config{Host: localcluster.URL, QPS: 100, Burst: 200}, theCluster.Client()); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// merged is what `kopshook merge` makes of all groups.
func merged() ([]byte, error) {
	dir, err := os.MkdirTemp("", "kopshook-merged-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var all []string
	for _, g := range groups {
		manifest := filepath.Join(dir, g.name+".yaml")
		if err := os.WriteFile(manifest, []byte(g.manifest), 0o644); err != nil {
			return nil, err
		}
		args := []string{"kopshook", "merge"}
		for i, s := range g.specs {
			file := filepath.Join(dir, fmt.Sprintf("%s-hooks-%d.yaml", g.name, i))
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(s, `"@"`, g.name)), 0o644); err != nil {
				return nil, err
			}
			args = append(args, "-f", file)
		}
		text := g.manifest
		if len(g.specs) > 0 {
			var out, errs bytes.Buffer
			if code := cli.Run(context.Background(), append(args, manifest), strings.NewReader(""), &out, &errs); code != 0 {
				return nil, fmt.Errorf("kopshook merge, group %s: exit code %d\n%s", g.name, code, &errs)
			}
			text = out.String()
		}
		if g.change != nil {
			changed := g.change(text)
			if changed == text {
				return nil, fmt.Errorf("group %s: there is nothing to change in its manifest", g.name)
			}
			text = changed
		}
		all = append(all, mutated(text))
	}
	return []byte(strings.Join(all, "---\n")), nil
}
