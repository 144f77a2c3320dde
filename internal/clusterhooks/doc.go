// Package clusterhooks runs hooks around kops commands: on the operator's machine or in CI, once for the cluster.
//
// kops itself has no lifecycle hooks. What a kops command line is about to do to which cluster is read from its words
// (ParseCommand) and from what kops says of the cluster (Facts); the hooks of kind ClusterHooks that are for it run
// before and after it (Runner). Extension servers written for Cluster API's Runtime SDK are called too, over the same
// protocol (hooks.runtime.cluster.x-k8s.io/v1alpha1).
package clusterhooks
