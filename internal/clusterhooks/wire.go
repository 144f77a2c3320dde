package clusterhooks

// The wire format of Cluster API's Runtime SDK, group hooks.runtime.cluster.x-k8s.io, version v1alpha1, as of Cluster
// API v1.11 (api/runtime/hooks/v1alpha1). capitest proves these types against Cluster API's own server and types;
// linking its modules would triple the program.

const (
	runtimeGroup   = "hooks.runtime.cluster.x-k8s.io"
	runtimeVersion = "v1alpha1"

	statusSuccess = "Success"
	statusFailure = "Failure"

	policyFail   = "Fail"
	policyIgnore = "Ignore"
)

type discoveryRequest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// hookRequest is the request of every lifecycle hook; which versions it carries depends on the hook.
type hookRequest struct {
	APIVersion            string            `json:"apiVersion"`
	Kind                  string            `json:"kind"`
	Settings              map[string]string `json:"settings,omitempty"`
	Cluster               *capiCluster      `json:"cluster"`
	FromKubernetesVersion string            `json:"fromKubernetesVersion,omitempty"`
	ToKubernetesVersion   string            `json:"toKubernetesVersion,omitempty"`
	KubernetesVersion     string            `json:"kubernetesVersion,omitempty"`
}

// response holds the fields of all responses. Cluster API's server leaves apiVersion and kind out.
type response struct {
	APIVersion        string    `json:"apiVersion"`
	Kind              string    `json:"kind"`
	Status            string    `json:"status"`
	Message           string    `json:"message"`
	RetryAfterSeconds int32     `json:"retryAfterSeconds"`
	Handlers          []handler `json:"handlers"`
}

// handler is one entry of a discovery.
type handler struct {
	Name        string `json:"name"`
	RequestHook struct {
		APIVersion string `json:"apiVersion"`
		Hook       string `json:"hook"`
	} `json:"requestHook"`
	TimeoutSeconds *int32  `json:"timeoutSeconds"`
	FailurePolicy  *string `json:"failurePolicy"`
}

// isFor says whether a handler is to be called on an event.
func (h *handler) isFor(event Event) bool { return h.RequestHook.Hook == runtimeHooks[event].name }

// runtimeHooks maps events to the hooks of the Runtime SDK. blocking says whether an answer may hold things up.
var runtimeHooks = map[Event]struct {
	name     string
	blocking bool
}{
	BeforeCreate:             {"BeforeClusterCreate", true},
	AfterControlPlaneReady:   {"AfterControlPlaneInitialized", false},
	BeforeUpgrade:            {"BeforeClusterUpgrade", true},
	AfterControlPlaneUpgrade: {"AfterControlPlaneUpgrade", true},
	AfterClusterUpgrade:      {"AfterClusterUpgrade", false},
	BeforeDelete:             {"BeforeClusterDelete", true},
}

// hookRequestFor makes the request that event is for a cluster.
func hookRequestFor(event Event, c *Cluster, settings map[string]string) *hookRequest {
	r := &hookRequest{APIVersion: runtimeGroup + "/" + runtimeVersion, Kind: runtimeHooks[event].name + "Request",
		Settings: settings, Cluster: c.capi()}
	switch event {
	case BeforeUpgrade:
		r.FromKubernetesVersion = withV(c.OldKubernetesVersion)
		if r.FromKubernetesVersion == "" {
			r.FromKubernetesVersion = withV(c.KubernetesVersion) // the upgrade is one of images only
		}
		r.ToKubernetesVersion = withV(c.KubernetesVersion)
	case AfterControlPlaneUpgrade, AfterClusterUpgrade:
		r.KubernetesVersion = withV(c.KubernetesVersion)
	}
	return r
}
