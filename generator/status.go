package generator

import "time"

// Status is what the runner writes to /var/lib/kopshook/status/NAME.json: one JSON object on one line, replaced as a
// whole each time it changes.
type Status struct {
	Hook  string `json:"hook"`
	Phase Phase  `json:"phase"`
	State State  `json:"state"`
	// Reason says where and how the last attempt failed: "script: exit status 3", "verify: timed out after 60 s",
	// "files: exit status 1". It is empty in other states.
	Reason string `json:"reason"`
	// Attempts counts those of the last start of the hook, ExitCode is that of the last one that ended.
	Attempts  int       `json:"attempts"`
	ExitCode  int       `json:"exitCode"`
	StartedAt time.Time `json:"startedAt"`
	// UpdatedAt is when State was reached.
	UpdatedAt  time.Time `json:"updatedAt"`
	InstanceID string    `json:"instanceID"` // cloud-init's
	Hash       string    `json:"hash"`       // of the hook's part
}

// State is where a hook stands.
type State string

// The states of a hook. Running also means that the machine went down, or somebody stopped the unit, while it ran.
const (
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Skipped   State = "skipped" // released with /var/lib/kopshook/skip/NAME
)
