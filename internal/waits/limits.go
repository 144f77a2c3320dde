package waits

import (
	"fmt"
	"time"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/report"
)

// Limit is how long somebody waits for a machine, what happens then, and which option or field sets it.
type Limit struct {
	Who    string
	After  time.Duration
	Then   string // follows Who: "gives up"
	Option string // of kops, or a field of its manifests
	Rule   string // of lint
	Nodeup bool   // what is waited for is the end of nodeup, not a node
}

// KopsGivesUp is how long `kops rolling-update cluster` waits for a cluster to validate, unless --validation-timeout says
// otherwise (kops cmd/kops/rolling-update_cluster.go:166).
const KopsGivesUp = 15 * time.Minute

const (
	// poolGivesUp is kops' own time of the lifecycle hook of a warm pool (pkg/model/awsmodel/autoscalinggroup.go:133).
	poolGivesUp = 600 * time.Second
	// autoscalerGivesUp is kops' own for the cluster-autoscaler that it installs (pkg/model/components/clusterautoscaler.go:103).
	autoscalerGivesUp = 15 * time.Minute
)

// kopsLimit is the limit of a rolling update.
var kopsLimit = Limit{Who: "kops rolling-update", After: KopsGivesUp, Then: "gives up", Option: "--validation-timeout", Rule: "KH092"}

// Limits are those that hold for the machines of a group; of one that is not known, nil, that of kops alone. The Cluster's
// settings count where it is known.
func Limits(g *instancegroups.Group) []Limit {
	limits := []Limit{kopsLimit}
	if g == nil {
		return limits
	}
	if pool := WarmPool(g); pool != nil && pool.EnableLifecycleHook {
		l := Limit{Who: "the warm pool", After: poolGivesUp, Then: "terminates a machine that is not ready and launches another",
			Option: "spec.warmPool.lifecycleHookTimeout", Rule: "KH085", Nodeup: true}
		if pool.LifecycleHookTimeout != nil {
			l.After = time.Duration(*pool.LifecycleHookTimeout) * time.Second
		}
		limits = append(limits, l)
	}
	if after := autoscaler(g); after > 0 {
		limits = append(limits, Limit{Who: "cluster-autoscaler", After: after, Then: "deletes a machine that is not a node and asks for another",
			Option: "spec.clusterAutoscaler.maxNodeProvisionTime", Rule: "KH091"})
	}
	return limits
}

// Exceeded are the limits that hooks may take longer than.
func Exceeded(limits []Limit, hooks []Hook) []Limit {
	var over []Limit
	for _, l := range limits {
		if l.Of(hooks).Total > l.After {
			over = append(over, l)
		}
	}
	return over
}

// Of is how long hooks may keep what the limit is for.
func (l Limit) Of(hooks []Hook) Wait {
	if l.Nodeup {
		return Nodeup(hooks)
	}
	return Kubelet(hooks)
}

// Short is "kops rolling-update gives up after 15m".
func (l Limit) Short() string { return l.Who + " " + l.Then + " after " + report.Duration(l.After) }

// String is "kops rolling-update gives up after 15m (--validation-timeout)".
func (l Limit) String() string { return fmt.Sprintf("%s (%s)", l.Short(), l.Option) }

// WarmPool returns the group's warm pool, nil without one. What the group does not say it has of the cluster; of the
// lifecycle hook's time, a group's goes over the cluster's (pkg/model/awsmodel/autoscalinggroup.go:132-151).
func WarmPool(g *instancegroups.Group) *kops.WarmPoolSpec {
	var cluster *kops.WarmPoolSpec
	if c := g.ClusterObject; c != nil && c.Object.Spec.CloudProvider.AWS != nil {
		cluster = c.Object.Spec.CloudProvider.AWS.WarmPool
	}
	if cluster == nil && g.Object.Spec.WarmPool == nil {
		return nil
	}
	pool := cluster.ResolveDefaults(g.Object)
	if !pool.IsEnabled() {
		return nil
	}
	copied := *pool
	if copied.LifecycleHookTimeout == nil && cluster != nil {
		copied.LifecycleHookTimeout = cluster.LifecycleHookTimeout
	}
	return &copied
}

// autoscaler is how long the cluster-autoscaler that kops installs waits for a node of the group, 0 where it does not: it
// scales groups of the role Node (upup/pkg/fi/cloudup/template_functions.go:1144), and goes below no group's minimum.
func autoscaler(g *instancegroups.Group) time.Duration {
	c, ig := g.ClusterObject, g.Object
	if c == nil || c.Object.Spec.ClusterAutoscaler == nil || c.Object.Spec.ClusterAutoscaler.Enabled == nil || !*c.Object.Spec.ClusterAutoscaler.Enabled {
		return 0
	}
	fixed := ig.Spec.MinSize != nil && ig.Spec.MaxSize != nil && *ig.Spec.MinSize >= *ig.Spec.MaxSize
	if ig.Spec.Role != kops.InstanceGroupRoleNode || ig.Spec.Autoscale != nil && !*ig.Spec.Autoscale || fixed {
		return 0
	}
	after, err := time.ParseDuration(c.Object.Spec.ClusterAutoscaler.MaxNodeProvisionTime)
	if err != nil { // mostly because it is not set
		return autoscalerGivesUp
	}
	return after
}
