package generator

import (
	"fmt"
	"time"

	"gopkg.in/yaml.v3"
)

// UserData is one part of an instance group's additionalUserData. It has the fields of kops.UserData
// (k8s.io/kops/pkg/apis/kops/instancegroup.go:293) and converts to it.
type UserData struct {
	Name    string `json:"name" yaml:"name"`
	Type    string `json:"type" yaml:"type"`
	Content string `json:"content" yaml:"content"`
}

// InstanceGroup is what hooks are told of where they run.
type InstanceGroup struct {
	Cluster string // metadata.labels["kops.k8s.io/cluster"], may be empty
	Name    string // metadata.name
	Role    string // ControlPlane, APIServer, Node or Bastion
}

// Phase is a moment in the life of a kops node.
type Phase string

// The phases that user data serves, in the order in which a node goes through them.
const (
	Boot        Phase = "boot"
	PreNodeup   Phase = "pre-nodeup"
	PreKubelet  Phase = "pre-kubelet"
	PostNodeup  Phase = "post-nodeup"
	PostKubelet Phase = "post-kubelet"
	PreShutdown Phase = "pre-shutdown"
)

// Holds says whether the kubelet waits for the phase's hooks.
func (p Phase) Holds() bool { return p == PreNodeup || p == PreKubelet }

// How often a hook runs, as the spec says it in run.
const (
	OncePerInstance = "once-per-instance"
	OncePerImage    = "once-per-image"
	EveryBoot       = "every-boot"
)

// Hook is a hook with everything resolved: one phase, all defaults set, all bytes there.
type Hook struct {
	Name            string // DNS label, unique within the instance group
	Phase           Phase
	Weight          int  // -400..499
	EveryBoot       bool // else once per instance
	OncePerImage    bool // done where the image or an earlier boot has done the same, and Verify holds on each boot; pre-nodeup and pre-kubelet only, without CloudConfig
	Scripts         []Script
	Verify          []byte // a script; nil when there is none
	Env             map[string]string
	Timeout         time.Duration // per attempt, verify included; of several scripts, of each
	Attempts        int           // at least 1
	RetryDelay      time.Duration // doubles up to 2m
	Continue        bool          // on failure the node joins; else the kubelet stays blocked
	Before          []string      // further units that wait for this hook
	RebootExitCodes []int
	Compress        bool   // contents as gz+b64
	Archive         bool   // in one archive with all other hooks that say so; Compress then means nothing
	ArchiveURL      string // where the archive lies, below its checksum; "" is in the user data itself
	CleanUp         bool   // script and staged files are removed after success; not of what later boots run again
	Files           []File
	DropIns         []DropIn
	CloudConfig     *yaml.Node // a mapping, or nil
}

// AttemptTimeout is how long an attempt may take in all.
func (h *Hook) AttemptTimeout() time.Duration {
	return h.Timeout * time.Duration(max(1, len(h.Scripts)))
}

// Script is an executable of a hook. A hook with an inline script has one, called "script"; one with a directory as
// its source has one for each regular file of it, run in sorted() order of their names, up to the first failure.
type Script struct {
	Name    string
	Content []byte
}

// File is a file on the node, as plain bytes; in a hook, one that the runner puts in place before the scripts run. It has
// Content, or URLs and SHA256, or Secret.
type File struct {
	Path    string // absolute
	Mode    uint32 // 0..07777
	Owner   string // user:group
	Content []byte
	URLs    []string // mirrors of the same bytes, downloaded on the node: http, https, or of a bucket (URLError)
	SHA256  string   // hex, of what URLs serve
	Secret  string   // what the node asks a store of secrets for (SecretError)
}

// ModeString returns the mode as four octal digits.
func (f File) ModeString() string { return fmt.Sprintf("%04o", f.Mode) }

// DropIn is a systemd drop-in for Unit.
type DropIn struct {
	Unit    string
	Content string
}
