package clusterhooks

import (
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/report"
)

// Event is a moment before or after a kops command.
type Event string

const (
	BeforeCreate           Event = "before-create"
	AfterCreate            Event = "after-create"
	BeforeUpdate           Event = "before-update"
	AfterUpdate            Event = "after-update"
	BeforeUpgrade          Event = "before-upgrade"
	AfterUpgrade           Event = "after-upgrade"
	BeforeRollingUpdate    Event = "before-rolling-update"
	AfterRollingUpdate     Event = "after-rolling-update"
	BeforeRollback         Event = "before-rollback"
	AfterRollback          Event = "after-rollback"
	BeforeDelete           Event = "before-delete"
	AfterDelete            Event = "after-delete"
	BeforeDeleteInstance   Event = "before-delete-instance"
	AfterDeleteInstance    Event = "after-delete-instance"
	AfterControlPlaneReady Event = "after-control-plane-ready"

	// These two are not of every rolling update: it must have gone over the control plane, or over the nodes. They keep
	// the names of Cluster API, which has no other words for them. The first comes before the nodes: see split.go.
	AfterControlPlaneUpgrade Event = "AfterControlPlaneUpgrade"
	AfterClusterUpgrade      Event = "AfterClusterUpgrade"
)

// Events in the order in which a cluster goes through them.
var Events = []Event{
	BeforeCreate, AfterCreate, AfterControlPlaneReady, BeforeUpdate, AfterUpdate, BeforeUpgrade, AfterUpgrade,
	BeforeRollingUpdate, AfterRollingUpdate, AfterControlPlaneUpgrade, AfterClusterUpgrade, BeforeRollback, AfterRollback,
	BeforeDeleteInstance, AfterDeleteInstance, BeforeDelete, AfterDelete,
}

// Before says whether e comes before its kops command.
func (e Event) Before() bool { return strings.HasPrefix(string(e), "before-") }

// onlyAfterSuccess says whether e is there only when its kops command succeeded.
func (e Event) onlyAfterSuccess() bool {
	return e == AfterControlPlaneReady || e == AfterControlPlaneUpgrade || e == AfterClusterUpgrade
}

// Operation is the part of a cluster's life that e belongs to: "upgrade", "delete-instance". For
// after-control-plane-ready it is "validate".
func (e Event) Operation() string {
	switch e {
	case AfterControlPlaneReady:
		return "validate"
	case AfterControlPlaneUpgrade, AfterClusterUpgrade:
		return "rolling-update"
	}
	_, op, _ := strings.Cut(string(e), "-")
	return op
}

// Alias is another system's name for events.
type Alias struct {
	System string // "Cluster API", "Helm", "TKE", "eggo"
	Name   string
	Events []Event
	// Instead says what to do where the name has no counterpart here; Events is empty then.
	Instead string
}

// Aliases holds the names under which people of other systems know these events. docs/cluster-hooks.md has the same
// table, which a test keeps equal.
var Aliases = []Alias{
	{"Cluster API", "BeforeClusterCreate", []Event{BeforeCreate}, ""},
	{"Cluster API", "AfterControlPlaneInitialized", []Event{AfterControlPlaneReady}, ""},
	{"Cluster API", "BeforeClusterUpgrade", []Event{BeforeUpgrade}, ""},
	{"Cluster API", "BeforeClusterDelete", []Event{BeforeDelete}, ""},
	{"Helm", "pre-install", []Event{BeforeCreate}, ""},
	{"Helm", "post-install", []Event{AfterCreate}, ""},
	{"Helm", "pre-upgrade", []Event{BeforeUpgrade}, ""},
	{"Helm", "post-upgrade", []Event{AfterClusterUpgrade}, ""},
	{"Helm", "pre-rollback", []Event{BeforeRollback}, ""},
	{"Helm", "post-rollback", []Event{AfterRollback}, ""},
	{"Helm", "pre-delete", []Event{BeforeDelete}, ""},
	{"Helm", "post-delete", []Event{AfterDelete}, ""},
	{"Helm", "test", []Event{AfterControlPlaneReady}, ""},
	{"Helm", "test-success", []Event{AfterControlPlaneReady}, ""},
	{"TKE", "PreClusterInstall", []Event{BeforeCreate}, ""},
	{"TKE", "PostClusterInstall", []Event{AfterCreate}, ""},
	{"TKE", "PreClusterUpgrade", []Event{BeforeUpgrade}, ""},
	{"TKE", "PostClusterUpgrade", []Event{AfterClusterUpgrade}, ""},
	{"TKE", "PreClusterDelete", []Event{BeforeDelete}, ""},
	{"TKE", "PostClusterDelete", []Event{AfterDelete}, ""},
	{"TKE", "PreInstall", nil, "it runs on every node: write a hook of phase pre-nodeup, kind InstanceGroupHooks"},
	{"TKE", "PostInstall", nil, "it runs on every node: write a hook of phase post-kubelet, kind InstanceGroupHooks"},
	{"TKE", "PreUpgrade", nil, "kops upgrades by replacing nodes: write a hook of phase pre-shutdown, kind InstanceGroupHooks"},
	{"TKE", "PostUpgrade", nil, "kops upgrades by replacing nodes: write a hook of phase post-kubelet, kind InstanceGroupHooks"},
	{"eggo", "cluster-prehook", []Event{BeforeCreate, BeforeDelete}, ""},
	{"eggo", "cluster-posthook", []Event{AfterCreate, AfterDelete}, ""},
	{"eggo", "prejoin", nil, "it runs on nodes: write a hook of phase pre-nodeup, kind InstanceGroupHooks"},
	{"eggo", "postjoin", nil, "it runs on nodes: write a hook of phase post-kubelet, kind InstanceGroupHooks"},
	{"eggo", "precleanup", nil, "it runs on nodes: write a hook of phase pre-shutdown, kind InstanceGroupHooks"},
	{"eggo", "postcleanup", nil, "a node is gone after its clean-up: write a hook on after-delete-instance or after-delete"},
	{"Cluster API", "GeneratePatches", nil, "kops has no cluster classes: change manifests with kustomize or kopshook merge"},
	{"Cluster API", "ValidateTopology", nil, "kops has no cluster classes: check manifests with kopshook check"},
	{"Cluster API", "DiscoverVariables", nil, "kops has no cluster classes: there are no variables to find"},
}

// eventsOf returns the events that name stands for. Where there are none, remedy says what to write instead.
func eventsOf(name string) (events []Event, remedy string) {
	if slices.Contains(Events, Event(name)) {
		return []Event{Event(name)}, ""
	}
	for old, ours := range map[string]string{"pre-": "before-", "post-": "after-"} {
		if op, ok := strings.CutPrefix(name, old); ok && slices.Contains(Events, Event(ours+op)) && !isAlias(name) {
			return nil, "did you mean `" + ours + op + "`?"
		}
	}
	var known []string
	for _, a := range Aliases {
		if a.Name == name {
			return a.Events, a.Instead
		}
		if a.Instead == "" {
			known = append(known, a.Name)
		}
	}
	for _, e := range Events {
		known = append(known, string(e))
	}
	if near := report.Nearest(name, known); near != "" {
		return nil, "did you mean `" + near + "`?"
	}
	var ours []string
	for _, e := range Events {
		ours = append(ours, string(e))
	}
	return nil, "the events are " + strings.Join(ours, ", ")
}

func isAlias(name string) bool {
	return slices.ContainsFunc(Aliases, func(a Alias) bool { return a.Name == name })
}
