// Package localcluster runs the control plane's side of a kops cluster on this machine, so that package boot can boot real
// nodes of it: kops' own nodeup, containerd, runc and kubelet, from user data that kops made of merged manifests.
//
// The programs are real: kops, kops-controller, etcd, kube-apiserver, kube-scheduler, kube-controller-manager. What
// stands in for a cloud is here: a bucket for the state store, a mirror of release files, and the metadata service and the
// API of Hetzner, the cloud of kops whose nodes need the least of it.
//
// All of it listens in a network namespace of its own that has no file and no name: it is gone when the process is.
package localcluster
