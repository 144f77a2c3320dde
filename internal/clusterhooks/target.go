package clusterhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// maxManifest bounds a manifest that is handed to kops.
const maxManifest = 64 << 20

// Target is a cluster that a command is about, and what the command is for it.
type Target struct {
	Cluster *Cluster
	Operation
}

// A prober finds out what a command is about to do to which clusters. It asks kops itself, with the state store and
// configuration that the command names.
type prober struct {
	cmd    *Command
	getenv func(string) string
	stdin  io.Reader
	// Read is what was taken off stdin to look at a manifest; the command must get it instead.
	read []byte
	// unclear says that there may well be clusters, but there is no telling which.
	unclear bool
}

// askTimeout bounds a question to kops, which goes to the state store and, for upgrades, to the channel.
const askTimeout = 2 * time.Minute

// targets returns the clusters of an operation. An empty list with a reason means that there is nothing to do.
func (p *prober) targets(ctx context.Context, op Operation, name string) (targets []Target, none string, err error) {
	if op.ByManifest {
		return p.manifestTargets(ctx, op)
	}
	if name == "" {
		name = p.clusterName()
	}
	if name == "" {
		return nil, "it names no cluster", nil
	}
	t := Target{Cluster: &Cluster{Name: name}, Operation: op}
	if !slices.Contains(op.Before, BeforeCreate) || p.cmd.Name != "create cluster" {
		if t.Cluster, err = p.cluster(ctx, name); err != nil {
			return nil, "", err
		}
	} else {
		t.Cluster.KubernetesVersion = strings.TrimPrefix(p.cmd.Option("kubernetes-version"), "v")
	}
	if p.cmd.Name == "delete instance" && len(p.cmd.Operands) > 0 {
		t.Cluster.Instance = p.cmd.Operands[0]
	}
	if slices.Contains(op.Before, BeforeUpgrade) {
		to, err := p.upgradeVersion(ctx)
		if err != nil {
			return nil, "", err
		}
		if to != "" && to != t.Cluster.KubernetesVersion {
			t.Cluster.OldKubernetesVersion, t.Cluster.KubernetesVersion = t.Cluster.KubernetesVersion, to
		}
	}
	p.locate(t.Cluster)
	return []Target{t}, "", nil
}

func (p *prober) clusterName() string { return p.cmd.Cluster(p.getenv) }

// Cluster is the name of the cluster that kops will take, "" when kops will refuse the command line.
func (c *Command) Cluster(getenv func(string) string) string {
	name, operands := c.Option("name"), c.Operands
	if name == "" {
		name = getenv("KOPS_CLUSTER_NAME")
	}
	if strings.HasSuffix(c.Name, " cluster") && len(operands) > 0 {
		if name != "" || len(operands) > 1 { // cmd/kops/root.go:281
			return ""
		}
		return operands[0]
	}
	if name != "" || c.Name == "create cluster" || c.Name == "delete cluster" { // cmd/kops/root.go:247
		return name
	}
	config := readKubeconfig(getenv)
	return config.currentCluster()
}

// locate adds where a cluster is to be found.
func (p *prober) locate(c *Cluster) {
	c.StateStore = p.cmd.StateStore(p.getenv)
	config := readKubeconfig(p.getenv)
	if server := config.server(c.Name); server != "" {
		c.APIEndpoint = server
	}
}

// cluster asks kops for a cluster.
func (p *prober) cluster(ctx context.Context, name string) (*Cluster, error) {
	o, err := p.object(ctx, name)
	if err != nil {
		return nil, err
	}
	return o.cluster(), nil
}

func (p *prober) object(ctx context.Context, name string) (*kopsObject, error) {
	out, err := p.ask(ctx, "get", "cluster", "--name="+name, "--output=json")
	if err != nil {
		return nil, err
	}
	objects, err := decodeObjects(out)
	if err == nil {
		for i := range objects {
			if objects[i].Metadata.Name == name {
				return &objects[i], nil
			}
		}
		err = errors.New("the cluster is not in its answer")
	}
	return nil, report.Hint("see what `kops get cluster --name "+name+" -o json` prints",
		"cannot read what kops says of cluster %q: %w", name, err)
}

// groups asks kops for the instance groups of a cluster.
func (p *prober) groups(ctx context.Context, name string) ([]kopsObject, error) {
	out, err := p.ask(ctx, "get", "instancegroups", "--name="+name, "--output=json")
	if err != nil {
		return nil, err
	}
	groups, err := decodeObjects(out)
	if err != nil {
		return nil, fmt.Errorf("cannot read what kops says of the instance groups of %q: %w", name, err)
	}
	return groups, nil
}

// upgradeVersion asks kops which Kubernetes version the upgrade leads to, "" when it leaves the version as it is. It
// runs the command without --yes and reads its table (cmd/kops/upgrade_cluster.go:265).
func (p *prober) upgradeVersion(ctx context.Context) (string, error) {
	if v := p.cmd.Option("kubernetes-version"); v != "" {
		return strings.TrimPrefix(v, "v"), nil
	}
	if p.cmd.Name != "upgrade cluster" {
		return "", nil
	}
	args := []string{"upgrade", "cluster", "--name=" + p.clusterName()}
	if channel := p.cmd.Option("channel"); channel != "" {
		args = append(args, "--channel="+channel)
	}
	out, err := p.ask(ctx, args...)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "Cluster" && f[1] == "KubernetesVersion" {
			return strings.TrimPrefix(f[3], "v"), nil
		}
	}
	return "", nil
}

// ask runs kops and returns what it prints on standard output.
func (p *prober) ask(ctx context.Context, args ...string) ([]byte, error) {
	for _, name := range []string{"state", "config"} {
		if v := p.cmd.Option(name); v != "" {
			args = append(args, "--"+name+"="+v)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.cmd.Args[0], args...)
	cmd.Env = append(os.Environ(), nestedEnv+"=ask")
	cmd.WaitDelay = 10 * time.Second // what has ended may have said more than was read yet, on a busy machine
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", askTimeout)
		}
	}
	shown := strings.Join(append([]string{p.cmd.Program()}, args...), " ")
	if said := lastLine(stderr.Bytes()); said != "" {
		return nil, report.Hint("make `"+shown+"` work first", "cannot ask kops about the cluster: %w: %s", err, said)
	}
	return nil, report.Hint("make `"+shown+"` work first", "cannot ask kops about the cluster: %w", err)
}

// lastLine is the last line of some output that is not blank.
func lastLine(out []byte) string {
	out = bytes.TrimSpace(out)
	return string(bytes.TrimSpace(out[bytes.LastIndexByte(out, '\n')+1:]))
}

// manifestTargets looks into the files of replace and delete.
func (p *prober) manifestTargets(ctx context.Context, op Operation) (targets []Target, none string, err error) {
	files := p.cmd.List("filename")
	if len(files) == 0 {
		return nil, "it names no file", nil
	}
	var objects []kopsObject
	for _, name := range files {
		if strings.Contains(name, "://") {
			p.unclear = true
			return nil, "the manifest " + source.Redact(name) + " is not a file of this machine", nil
		}
		found, err := p.manifest(ctx, name)
		if err != nil {
			return nil, "", err
		}
		objects = append(objects, found...)
	}
	for _, name := range clustersOf(objects) {
		t := &Target{Operation: op}
		if p.cmd.Name == "replace" {
			t, err = p.replaced(ctx, name, objects)
		} else if isCluster(objects, name) {
			t.Cluster, err = p.cluster(ctx, name)
		} else {
			t = nil // deletes instance groups only
		}
		if err != nil {
			return nil, "", err
		}
		if t != nil {
			p.locate(t.Cluster)
			targets = append(targets, *t)
		}
	}
	if len(targets) == 0 && p.cmd.Name == "replace" {
		return nil, "its manifest is neither older nor of another Kubernetes version than what kops has", nil
	}
	if len(targets) == 0 {
		return nil, "its manifest holds no cluster", nil
	}
	return targets, "", nil
}

// manifest reads the clusters and instance groups of a file. What is no YAML is for kops to complain about.
func (p *prober) manifest(ctx context.Context, name string) (objects []kopsObject, err error) {
	var data []byte
	if name == "-" {
		if data, err = file.ReadAll(ctx, io.LimitReader(p.stdin, maxManifest+1)); err != nil {
			return nil, fmt.Errorf("<stdin>: %w", err)
		}
		if len(data) > maxManifest {
			return nil, fmt.Errorf("<stdin>: is larger than %d MiB", maxManifest>>20)
		}
		p.read = data
	} else if data, err = file.Read(filepath.Clean(name), maxManifest); err != nil {
		if report.Remedy(err) != "" { // a FIFO, say: kops would not get what was read here
			return nil, err
		}
		return nil, nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var o kopsObject
		if err := dec.Decode(&o); err != nil {
			return objects, nil
		}
		if o.Kind == "Cluster" || o.Kind == "InstanceGroup" {
			objects = append(objects, o)
		}
	}
}

const clusterLabel = "kops.k8s.io/cluster"

// clustersOf returns the names of all clusters that the objects are, or belong to, in their order.
func clustersOf(objects []kopsObject) []string {
	var names []string
	for _, o := range objects {
		name := o.Metadata.Name
		if o.Kind == "InstanceGroup" {
			name = o.Metadata.Labels[clusterLabel]
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func isCluster(objects []kopsObject, name string) bool {
	return slices.ContainsFunc(objects, func(o kopsObject) bool { return o.Kind == "Cluster" && o.Metadata.Name == name })
}

// replaced says what replacing a cluster by the objects of a manifest is: a rollback where one of them is older than
// what kops has, an upgrade where the Kubernetes version is newer, else nothing (nil). Older is a lower Kubernetes
// version, or a lower metadata.generation, which kops counts up with each change.
func (p *prober) replaced(ctx context.Context, name string, objects []kopsObject) (*Target, error) {
	stored, err := p.object(ctx, name)
	if err != nil {
		return nil, nil // with --force kops makes a new cluster of it; else it fails by itself
	}
	c := stored.cluster()
	older, newer := false, false
	for _, o := range objects {
		switch {
		case o.Kind == "Cluster" && o.Metadata.Name == name:
			older = isOlder(&o, stored)
			to := o.cluster().KubernetesVersion
			if cmp, ok := compareVersions(to, c.KubernetesVersion); ok && cmp != 0 {
				older, newer = cmp < 0, cmp > 0
				c.OldKubernetesVersion, c.KubernetesVersion = c.KubernetesVersion, to
			}
		}
	}
	if !older && !newer {
		if older, err = p.olderGroups(ctx, name, objects); err != nil {
			return nil, err
		}
	}
	switch {
	case older:
		return &Target{c, operation("rollback")}, nil
	case newer:
		return &Target{c, operation("upgrade")}, nil
	}
	return nil, nil
}

// olderGroups says whether an instance group of the cluster is older than what kops has.
func (p *prober) olderGroups(ctx context.Context, name string, objects []kopsObject) (bool, error) {
	counted := slices.ContainsFunc(objects, func(o kopsObject) bool {
		return o.Kind == "InstanceGroup" && o.Metadata.Labels[clusterLabel] == name && o.Metadata.Generation > 0
	})
	if !counted {
		return false, nil
	}
	stored, err := p.groups(ctx, name)
	if err != nil {
		return false, err
	}
	for _, o := range objects {
		for i := range stored {
			if o.Kind == "InstanceGroup" && o.Metadata.Name == stored[i].Metadata.Name &&
				o.Metadata.Labels[clusterLabel] == name && isOlder(&o, &stored[i]) {
				return true, nil
			}
		}
	}
	return false, nil
}

func isOlder(o, stored *kopsObject) bool {
	return o.Metadata.Generation > 0 && o.Metadata.Generation < stored.Metadata.Generation
}
