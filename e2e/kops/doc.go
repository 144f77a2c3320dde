// Package kops boots real nodes: kops makes their user data of manifests that kopshook merged, and kops' own nodeup
// installs containerd and a kubelet that joins a real API server. See internal/cluster. Its tests are behind the build tag
// e2e; make e2e-kops builds the programs (minutes, once) and runs them, as root.
package kops
