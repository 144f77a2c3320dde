// Package kops boots real nodes: kops makes their user data of manifests that kopshook merged, and kops' own nodeup
// installs containerd and a kubelet that joins a real API server. See internal/localcluster. Its tests are behind the build tag
// e2e; make e2e-kops builds the programs (minutes, once) and runs them, as root.
//
// Nodes are in control groups of cgroup v2. Where this machine's controllers are in those of v1, v2 limits nothing, and
// TestOnCgroupV2Alone boots Linux as a process (User Mode Linux) for the pod of TestDaemonHooks: it has the file system of this machine
// and one processor, needs no /dev/kvm, and runs programs at nearly this machine's speed, which an emulated machine does not.
//
// Not here: warm pools. nodeup looks for one on AWS only (upup/pkg/fi/nodeup/command.go:256 of kops 1.36.2), and the cluster of
// these tests is one of Hetzner's. A cluster of AWS takes more than a metadata service and an Auto Scaling API. While kops makes
// user data, for Terraform too, it asks EC2 for regions, zones, images and types of instances, STS whose account it is, and ELB for
// the address of the API's load balancer; kops-controller asks STS and EC2 who a node is (upup/pkg/fi/cloudup/awsup/aws_verifier.go).
// The stand-in of nodeup is told that its machine is warming (boot.Nodeup), and leaves the kubelet as
// nodeup/pkg/model/kubelet.go:600 does.
package kops
