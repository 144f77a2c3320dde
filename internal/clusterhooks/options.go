package clusterhooks

import "strings"

// The options of kops 1.36, by whether a value follows them: only so can the cluster's name be told from a value. A
// test holds both lists against kops' source.
const (
	booleanOptions = `
add_dir_header all allow-kops-downgrade alsologtostderr associate-public-ip auth-plugin bastion build-host
cloud-resources cloudonly copy create-kube-config disable-subnet-tags distrusted dry-run edit encrypt-etcd-storage
external fail-on-drain-error fail-on-missing fail-on-validate-error force format-yaml full help
ignore-kubelet-version-skew interactive internal ipv6 k8s-resources legacy_stderr_threshold_behavior logtostderr
one_output os-kubelet-ignore-az os-octavia primary prune s2a_enable_appengine_dialer server short skip_headers
skip_log_headers surge unregister use-kubeconfig version yes`

	valueOptions = `
add admin admin-access api-loadbalancer-class api-loadbalancer-type api-public-name api-server api-server-count
api-ssl-certificate authorization azure-admin-user azure-resource-group-name azure-route-table-name
azure-subscription-id azure-tenant-id bastion-image bastion-interval cert channel cloud cloud-labels cluster config
config-base config-value container-runtime control-plane-count control-plane-image control-plane-interval
control-plane-security-groups control-plane-size control-plane-tenancy control-plane-volume-size
control-plane-volume-type control-plane-zones count dir discovery-service discovery-store dns dns-zone drain-timeout
etcd-clusters etcd-storage-type filename gce-service-account host image instance-group instance-group-roles
instance-manager interval key kubeconfig kubernetes-feature-gates kubernetes-version lifecycle-overrides
log_backtrace_at log_dir log_file log_file_max_size master-count master-image master-interval master-public-name
master-security-groups master-size master-tenancy master-volume-size master-zones max-nodes name network-cidr network-id
networking node-count node-dump-timeout node-image node-interval node-security-groups node-size node-tenancy
node-volume-size node-volume-type os-dns-servers os-ext-net os-ext-subnet os-lb-floating-subnet os-network
os-octavia-provider out output override phase pod-cidr post-drain-delay private-key project pubkey region role
s2a_timeout set set-string snippets spotinst-orientation spotinst-product ssh-access ssh-port ssh-public-key ssh-user
state stderrthreshold subnet subnets target template topology type unset user utility-subnets v validate-count
validation-timeout values vmodule vpc wait zone zones`
)

// optionNames are one-letter options, and other spellings of long ones (cmd/kops/rolling-update_cluster.go:224).
var optionNames = map[string]string{
	"y": "yes", "i": "interactive", "f": "filename", "o": "output", "t": "topology", "h": "help",
	"ig": "instance-group", "instance-groups": "instance-group",
	"role": "instance-group-roles", "roles": "instance-group-roles", "instance-group-role": "instance-group-roles",
}

func canonical(name string) string {
	if long, ok := optionNames[name]; ok {
		return long
	}
	return name
}

func isBoolean(name string) bool { return hasWord(booleanOptions, canonical(name)) }

func takesValue(name string) bool { return hasWord(valueOptions, canonical(name)) }

func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}
