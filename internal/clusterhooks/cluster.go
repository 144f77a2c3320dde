package clusterhooks

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// Cluster is what hooks are told of a cluster.
type Cluster struct {
	Name        string
	Labels      map[string]string // metadata.labels; nil before the cluster is known to kops
	Annotations map[string]string
	StateStore  string // "s3://bucket", "" when it cannot be told
	APIEndpoint string // "https://api.main.example.com", "" when it cannot be told
	// KubernetesVersion is the version that the cluster has once the command is done, OldKubernetesVersion the one
	// before it where that is another; both without "v", "" when they cannot be told.
	KubernetesVersion    string
	OldKubernetesVersion string
	Instance             string // of delete-instance: the node or instance

	PodCIDR, ServiceCIDR, DNSDomain string
}

// namespaceLabel is the label that each namespace has with its own name. The cluster's extensions are told that it is in
// the namespace that this label of the kops Cluster says.
const namespaceLabel = "kubernetes.io/metadata.name"

// namespace is where Cluster API would have the cluster: kops has no namespaces.
func (c *Cluster) namespace() string {
	if name := c.Labels[namespaceLabel]; name != "" {
		return name
	}
	return "default"
}

// label is what selectors see: the labels of the Cluster, and that of its namespace.
func (c *Cluster) label(key string) (value string, ok bool) {
	if key == namespaceLabel {
		return c.namespace(), true
	}
	value, ok = c.Labels[key]
	return value, ok
}

// kopsObject is the part of a kops Cluster or InstanceGroup that matters here, in v1alpha2 and v1alpha3.
type kopsObject struct {
	Kind     string `json:"kind" yaml:"kind"`
	Metadata struct {
		Name        string            `json:"name" yaml:"name"`
		Generation  int64             `json:"generation" yaml:"generation"`
		Labels      map[string]string `json:"labels" yaml:"labels"`
		Annotations map[string]string `json:"annotations" yaml:"annotations"`
	} `json:"metadata" yaml:"metadata"`
	Spec struct {
		Role              string `json:"role" yaml:"role"` // of an InstanceGroup
		KubernetesVersion string `json:"kubernetesVersion" yaml:"kubernetesVersion"`
		ClusterDNSDomain  string `json:"clusterDNSDomain" yaml:"clusterDNSDomain"`
		// v1alpha2 (pkg/apis/kops/v1alpha2/cluster.go:78,125,128,133)
		MasterPublicName      string `json:"masterPublicName" yaml:"masterPublicName"`
		PodCIDR               string `json:"podCIDR" yaml:"podCIDR"`
		ServiceClusterIPRange string `json:"serviceClusterIPRange" yaml:"serviceClusterIPRange"`
		NonMasqueradeCIDR     string `json:"nonMasqueradeCIDR" yaml:"nonMasqueradeCIDR"`
		Topology              struct {
			DNS struct {
				Type string `json:"type" yaml:"type"`
			} `json:"dns" yaml:"dns"`
		} `json:"topology" yaml:"topology"`
		// v1alpha3 (pkg/apis/kops/v1alpha3/cluster.go:476)
		API struct {
			PublicName string `json:"publicName" yaml:"publicName"`
		} `json:"api" yaml:"api"`
	} `json:"spec" yaml:"spec"`
}

// cluster returns what a kops Cluster says.
func (o *kopsObject) cluster() *Cluster {
	s := &o.Spec
	c := &Cluster{Name: o.Metadata.Name, Labels: o.Metadata.Labels, Annotations: o.Metadata.Annotations,
		KubernetesVersion: strings.TrimPrefix(s.KubernetesVersion, "v"),
		PodCIDR:           s.PodCIDR, ServiceCIDR: s.ServiceClusterIPRange, DNSDomain: s.ClusterDNSDomain}
	if c.PodCIDR == "" {
		c.PodCIDR = s.NonMasqueradeCIDR // kops takes both ranges out of it
	}
	c.APIEndpoint = o.endpoint()
	return c
}

// endpoint is the address of the API as kops names it: the name that the specification gives, or, with public DNS, the
// one that kops gives it (upup/pkg/fi/cloudup/defaults.go:128). Without DNS there is a name that only nodes resolve.
func (o *kopsObject) endpoint() string {
	name := o.Spec.MasterPublicName
	if name == "" {
		name = o.Spec.API.PublicName
	}
	dns := o.Spec.Topology.DNS.Type
	switch {
	case strings.HasSuffix(o.Metadata.Name, ".k8s.local"), strings.EqualFold(dns, "None"):
		return ""
	case name == "" && (dns == "" || strings.EqualFold(dns, "Public")):
		name = "api." + o.Metadata.Name
	case name == "":
		return ""
	}
	return "https://" + name
}

// decodeObjects reads what "kops get -o json" prints: one object, or a list of them.
func decodeObjects(data []byte) ([]kopsObject, error) {
	if strings.HasPrefix(strings.TrimSpace(string(data)), "[") {
		var list []kopsObject
		err := json.Unmarshal(data, &list)
		return list, err
	}
	var one kopsObject
	if err := json.Unmarshal(data, &one); err != nil {
		return nil, err
	}
	return []kopsObject{one}, nil
}

// env is the environment of a hook for event.
func (c *Cluster) env(event Event) []string {
	env := []string{
		"KOPSHOOK_CLUSTER=" + c.Name,
		"KOPSHOOK_EVENT=" + string(event),
		"KOPSHOOK_OPERATION=" + event.Operation(),
		"KOPSHOOK_STATE_STORE=" + c.StateStore,
		"KOPSHOOK_API_ENDPOINT=" + c.APIEndpoint,
		"KOPSHOOK_KUBERNETES_VERSION=" + c.KubernetesVersion,
		"KOPSHOOK_OLD_KUBERNETES_VERSION=" + c.OldKubernetesVersion,
	}
	if c.Instance != "" {
		env = append(env, "KOPSHOOK_INSTANCE="+c.Instance)
	}
	return env
}

// capiCluster is the Cluster object (cluster.x-k8s.io/v1beta1) that extensions get, with all that a kops cluster has
// for it.
type capiCluster struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   capiMetadata `json:"metadata"`
	Spec       struct {
		ClusterNetwork struct {
			Pods          *cidrBlocks `json:"pods,omitempty"`
			Services      *cidrBlocks `json:"services,omitempty"`
			ServiceDomain string      `json:"serviceDomain,omitempty"`
		} `json:"clusterNetwork"`
		ControlPlaneEndpoint struct {
			Host string `json:"host"`
			Port int32  `json:"port"`
		} `json:"controlPlaneEndpoint"`
		Topology struct {
			Class   string `json:"class"`
			Version string `json:"version"`
		} `json:"topology"`
	} `json:"spec"`
}

type capiMetadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type cidrBlocks struct {
	CIDRBlocks []string `json:"cidrBlocks"`
}

// capi makes the Cluster object. kops knows neither namespaces nor classes: see namespace, and "kops". The version
// is the one that the command leads to, as spec.topology.version is what is wanted.
func (c *Cluster) capi() *capiCluster {
	o := &capiCluster{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster",
		Metadata: capiMetadata{Name: c.Name, Namespace: c.namespace(), Labels: c.Labels, Annotations: c.Annotations}}
	if c.PodCIDR != "" {
		o.Spec.ClusterNetwork.Pods = &cidrBlocks{[]string{c.PodCIDR}}
	}
	if c.ServiceCIDR != "" {
		o.Spec.ClusterNetwork.Services = &cidrBlocks{[]string{c.ServiceCIDR}}
	}
	o.Spec.ClusterNetwork.ServiceDomain = c.DNSDomain
	if u, err := url.Parse(c.APIEndpoint); err == nil && u.Host != "" {
		o.Spec.ControlPlaneEndpoint.Host = u.Hostname()
		o.Spec.ControlPlaneEndpoint.Port = 443
		if port, err := strconv.ParseInt(u.Port(), 10, 32); err == nil {
			o.Spec.ControlPlaneEndpoint.Port = int32(port)
		}
	}
	o.Spec.Topology.Class = "kops"
	o.Spec.Topology.Version = withV(c.KubernetesVersion)
	return o
}

// withV is a version as Cluster API writes it.
func withV(version string) string {
	if version == "" {
		return ""
	}
	return "v" + version
}

// compareVersions compares versions such as "1.31.2" and "1.31.2-alpha.1"; ok is false when one of them is none.
func compareVersions(a, b string) (cmp int, ok bool) {
	numbers := func(v string) (n [3]int, pre bool, ok bool) {
		v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "+")
		v, suffix, _ := strings.Cut(v, "-")
		parts := strings.Split(v, ".")
		if len(parts) > 3 {
			return n, false, false
		}
		for i, p := range parts {
			var err error
			if n[i], err = strconv.Atoi(p); err != nil {
				return n, false, false
			}
		}
		return n, suffix != "", true
	}
	x, preX, okX := numbers(a)
	y, preY, okY := numbers(b)
	if !okX || !okY {
		return 0, false
	}
	for i := range x {
		if x[i] != y[i] {
			return x[i] - y[i], true
		}
	}
	switch {
	case preX && !preY:
		return -1, true
	case !preX && preY:
		return 1, true
	}
	return 0, true
}
