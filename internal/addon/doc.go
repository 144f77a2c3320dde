// Package addon makes the kops addon: what runs on nodes once the cluster runs, and what shows in the cluster what the
// hooks of nodes did.
//
// Each spec with hooks of phase daemon becomes a DaemonSet, and one more for its control planes. Overrides are in the
// arguments of the pods, which choose on their nodes. Scripts are in immutable ConfigMaps, one or more a hook, with a list
// of checksums that names them; the DaemonSet's pod template holds the checksum of that list. So a pod runs what its own
// template speaks of and nothing else, and a changed script is a changed template, which rolls out.
//
// The package does no I/O; equal input gives equal bytes.
package addon
