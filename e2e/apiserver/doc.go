// Package apiserver puts addons into a real Kubernetes control plane, without nodes: etcd, kube-apiserver, the
// controllers of DaemonSets and Jobs, and node-problem-detector, with kops' own code for addons as the one that applies. It
// also runs what kopshook exec runs in a cluster: hooks of Helm charts, and the way to a server of Runtime Extensions. Its
// tests are behind the build tag e2e; make e2e-apiserver builds the programs (minutes, once) and runs them.
package apiserver
