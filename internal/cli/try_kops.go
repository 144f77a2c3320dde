package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/localcluster"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// realNode is the node of try --kops: kops' own programs make it one of a cluster that runs here.
type realNode struct {
	cluster *localcluster.Cluster
	name    string
	started atomic.Bool        // in this boot systemd has started its kubelet
	seen    *localcluster.Node // at the end of this boot; nil when the API server does not know it
	err     error              // of asking the API server
}

// kopsOptions says what does not go with --kops.
func kopsOptions(c *cli.Context) error {
	for _, o := range []struct{ name, why string }{
		{"base", "kops itself writes the user data"},
		{"warm-pool", "nodeup asks AWS whether its machine is in a warm pool"},
	} {
		if c.IsSet(o.name) {
			return report.Hint("leave one out", "--kops and --%s do not go together: %s", o.name, o.why)
		}
	}
	if c.String("network") != "none" {
		return report.Hint("leave one out", "--kops and --network %s do not go together: the node is in the network of its cluster", c.String("network"))
	}
	if c.String("suite") == "testing" { // util/pkg/distributions/identify.go of kops 1.36.2
		return report.Hint("choose another suite", "--kops and --suite testing do not go together: kops' nodeup runs on no system without a VERSION_ID in /etc/os-release, and Debian testing has none")
	}
	return nil
}

// realGroup is the manifest that kops gets of an instance group.
func realGroup(c *cli.Context, g *plan.Group, parts []cloudinit.Part) ([]byte, error) {
	var data []kops.UserData
	for _, p := range parts {
		data = append(data, kops.UserData(p))
	}
	manifest, err := localcluster.Group(g.Object, data)
	if err != nil {
		return nil, report.Hint("leave out --kops", "%w", err)
	}
	if packages := g.Object.Spec.Packages; len(packages) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "kopshook: spec.packages is left out, because the node has no network: name them with --package %s\n", report.OneLine(strings.Join(packages, " --package ")))
	}
	return manifest, nil
}

// startReal starts a cluster with an instance group, and makes a machine of it that has not booted yet. The caller closes
// the machine, then the cluster.
func startReal(c *cli.Context, group string, manifest []byte, config boot.Config) (*realNode, *boot.Machine, error) {
	n := &realNode{}
	var err error
	if n.cluster, err = localcluster.Start(c.Context, localcluster.Config{Programs: c.String("kops"), Groups: manifest, Progress: c.App.ErrWriter}); err != nil {
		return nil, nil, err
	}
	machine, name, err := n.cluster.NewNode(c.Context, group, config)
	if err != nil {
		n.cluster.Close()
		return nil, nil, err
	}
	n.name = name
	if err := machine.WriteFile(localcluster.Network); err != nil {
		machine.Close()
		n.cluster.Close()
		return nil, nil, err
	}
	return n, machine, nil
}

// watch is for boot.Options: until waits for the node to be Ready, and gives up soon when its kubelet was not started.
func (n *realNode) watch() (until func(context.Context)) {
	n.seen, n.err = nil, nil
	n.started.Store(false)
	began := time.Now().Truncate(time.Second)
	return func(ctx context.Context) {
		for settled := time.Now(); ctx.Err() == nil; time.Sleep(250 * time.Millisecond) {
			seen, err := n.cluster.Node(ctx, n.name)
			n.err = err
			if n.seen = seen; seen != nil && seen.Heard.Before(began) { // that was an earlier boot
				n.seen = nil
			}
			patience := 3 * time.Second // an event comes a second late
			if n.started.Load() {
				patience = time.Minute
			}
			if n.seen != nil && n.seen.Ready || time.Since(settled) > patience {
				return
			}
		}
	}
}

func (n *realNode) joined() bool { return n.seen != nil && n.seen.Ready }

// tell prints what the API server knows of the node.
func (n *realNode) tell(w io.Writer) {
	switch {
	case n.err != nil:
		fmt.Fprintf(w, "  the API server does not answer: %s\n", printable(n.err.Error()))
	case n.seen == nil:
		fmt.Fprintln(w, "  the API server has not heard of the node")
	default:
		if !n.seen.Ready {
			fmt.Fprintf(w, "  the node is not Ready: %s\n", printable(n.seen.Reason))
		}
		var counts []string
		for _, name := range slices.Sorted(maps.Keys(n.seen.Capacity)) {
			counts = append(counts, name+" "+n.seen.Capacity[name])
		}
		fmt.Fprintf(w, "  the kubelet counts %s\n", strings.Join(counts, ", "))
	}
}
