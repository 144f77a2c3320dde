// Package hookspec is the hook spec: its fields and types, validation, selection and overrides.
package hookspec

import (
	"time"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/strict"
)

// APIVersion and Kind of a hook spec document.
const (
	APIVersion = "kopshook.dev/v1alpha1"
	Kind       = "InstanceGroupHooks"
)

// Doc is one hook spec document and where it stands.
type Doc struct {
	*strict.Document
	Spec InstanceGroupHooks
}

// InstanceGroupHooks is one hook spec document.
type InstanceGroupHooks struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   Metadata `yaml:"metadata"`
	Spec       Spec     `yaml:"spec"`
}

// Metadata names a spec. Name is a DNS label. Labels and annotations are for other tools; kopshook ignores them.
type Metadata struct {
	Name        string            `yaml:"name"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// Spec says which hooks run on which instance groups.
type Spec struct {
	// Runtime names the templates that land on the node; empty means v1, forever.
	Runtime string `yaml:"runtime"`
	// Selector is required; the empty mapping selects every instance group that has a kubelet.
	Selector *Selector `yaml:"selector"`
	// Compress is the default of each hook's compress.
	Compress bool `yaml:"compress"`
	// Archive packs the files of all hooks into one part.
	Archive bool `yaml:"archive"`
	// ArchiveURL is where the archive lies, in place of the user data; "" is in the user data.
	ArchiveURL string     `yaml:"archiveURL"`
	Hooks      []Hook     `yaml:"hooks"`
	Overrides  []Override `yaml:"overrides"`
}

// Selector selects instance groups: all of its fields must match, and of each list one item. Globs are path.Match's.
type Selector struct {
	Clusters     []string          `yaml:"clusters"`     // globs on the label kops.k8s.io/cluster
	Names        []string          `yaml:"names"`        // globs on metadata.name
	ExcludeNames []string          `yaml:"excludeNames"` // globs on metadata.name
	Roles        []string          `yaml:"roles"`        // ControlPlane (alias Master), APIServer, Node, Bastion
	MatchLabels  map[string]string `yaml:"matchLabels"`  // metadata.labels
	NodeLabels   map[string]string `yaml:"nodeLabels"`   // spec.nodeLabels
}

// Phase is a moment in the life of a kops node. Daemon is the only one that user data does not serve: the addon does.
type Phase = generator.Phase

const (
	Boot              = generator.Boot
	PreNodeup         = generator.PreNodeup
	PreKubelet        = generator.PreKubelet
	PostNodeup        = generator.PostNodeup
	PostKubelet       = generator.PostKubelet
	PreShutdown       = generator.PreShutdown
	Daemon      Phase = "daemon"
)

// Phases in the order in which a node goes through them; the default is PreNodeup.
var Phases = []Phase{Boot, PreNodeup, PreKubelet, PostNodeup, PostKubelet, Daemon, PreShutdown}

func phaseNames() []string {
	var names []string
	for _, p := range Phases {
		names = append(names, string(p))
	}
	return names
}

// Hook is a hook as the spec says it. A nil pointer means "not said": the default applies. Resolved has the defaults.
type Hook struct {
	Name            string            `yaml:"name"`
	Phase           PhaseList         `yaml:"phase"` // a string or a list
	Weight          *int              `yaml:"weight"`
	Run             *string           `yaml:"run"` // once-per-instance | once-per-image | every-boot
	Script          *string           `yaml:"script"`
	Source          *string           `yaml:"source"`
	Verify          *string           `yaml:"verify"`
	Env             map[string]string `yaml:"env"`
	Timeout         *time.Duration    `yaml:"timeout"`
	Attempts        *int              `yaml:"attempts"`
	RetryDelay      *time.Duration    `yaml:"retryDelay"`
	OnFailure       *string           `yaml:"onFailure"` // block | continue
	OnDrift         *string           `yaml:"onDrift"`   // report | run
	Undo            *string           `yaml:"undo"`
	Before          []string          `yaml:"before"`
	RebootExitCodes []int             `yaml:"rebootExitCodes"`
	Compress        *bool             `yaml:"compress"`
	Cleanup         *string           `yaml:"cleanup"` // never | on-success
	Files           []File            `yaml:"files"`
	DropIns         []DropIn          `yaml:"dropIns"`
	CloudConfig     *yaml.Node        `yaml:"cloudConfig"`
	Enabled         *bool             `yaml:"enabled"`
}

// File is put in place by the runner before the hook's script. Exactly one of Content, ContentBase64, Source, URL
// and Secret.
type File struct {
	Path          string  `yaml:"path"`
	Content       *string `yaml:"content"`
	ContentBase64 *string `yaml:"contentBase64"` // decoded specs hold it without white space
	Source        *string `yaml:"source"`
	URL           URLList `yaml:"url"` // a string or a list of mirrors
	SHA256        *string `yaml:"sha256"`
	Secret        *string `yaml:"secret"` // STORE:NAME or STORE:NAME#KEY
	Mode          *string `yaml:"mode"`   // octal, quoted; default "0644", of secrets "0600"
	Owner         *string `yaml:"owner"`  // user:group; default root:root
}

// DropIn is a systemd drop-in of the user's for a unit that need not exist yet.
type DropIn struct {
	Unit    string `yaml:"unit"`
	Content string `yaml:"content"`
}

// Override changes fields of hooks for the instance groups it selects. A field that is given replaces the hook's,
// maps (env) are merged key by key.
type Override struct {
	Selector *Selector       `yaml:"selector"`
	Hooks    map[string]Hook `yaml:"hooks"` // by hook name; Name and Phase cannot be overridden
}

// PhaseList is one phase or several: a list makes one hook per phase, called NAME-PHASE.
type PhaseList []Phase

// URLList is one URL or several mirrors of the same file.
type URLList []string
