// Package addon makes the kops addon: what runs on nodes once the cluster runs, and what shows in the cluster what the
// hooks of nodes did.
//
// Each spec with hooks of phase daemon becomes a DaemonSet, one more for each set of overrides that holds on some of
// its nodes. Scripts are in ConfigMaps, one or more a hook, with a list of checksums; the DaemonSet's pod template
// holds the checksum of that list. So a pod runs what its own template speaks of and nothing else, whatever the kubelet
// has mounted, and a changed script is a changed template, which rolls out.
//
// The package does no I/O; equal input gives equal bytes.
package addon
