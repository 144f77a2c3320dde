// Package nodestatus reads the status files that the runner keeps on a node, /var/lib/kopshook/status/HOOK.json.
package nodestatus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Dir is where a node keeps its status files.
const Dir = "/var/lib/kopshook/status"

// State is how far a hook has come.
type State string

const (
	Running   State = "running"   // an attempt runs, or the next one is waited for
	Succeeded State = "succeeded" // done; once-per-instance hooks are not run again on this instance
	Failed    State = "failed"    // given up; Reason says why
	Skipped   State = "skipped"   // an operator released the node: /var/lib/kopshook/skip/HOOK
)

// Status is what a hook's last run on a node came to. Later runtimes may add fields.
type Status struct {
	Hook       string    `json:"hook"`
	Phase      string    `json:"phase"`
	State      State     `json:"state"`
	Reason     string    `json:"reason"`   // why it failed, or what it is at
	Attempts   int       `json:"attempts"` // begun so far
	ExitCode   int       `json:"exitCode"` // of the last attempt that ended
	StartedAt  time.Time `json:"startedAt,omitzero"`
	UpdatedAt  time.Time `json:"updatedAt,omitzero"`
	InstanceID string    `json:"instanceID"` // cloud-init's
	Hash       string    `json:"hash"`       // of the hook's contents, as in its unit
}

// Parse reads one status file. Fields it does not know are ignored, so that an older kopshook reads newer nodes.
func Parse(data []byte) (Status, error) {
	var s Status
	if len(bytes.TrimSpace(data)) == 0 {
		return Status{}, errors.New("the file is empty")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&s); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return Status{}, errors.New("not a status file, or cut off: it ends in the middle")
		}
		var typed *json.UnmarshalTypeError
		switch {
		case errors.As(err, &typed) && typed.Field == "":
			return Status{}, fmt.Errorf("not a status file: it is of type %s, not object", typed.Value)
		case errors.As(err, &typed):
			return Status{}, fmt.Errorf("not a status file: %q is of type %s", typed.Field, typed.Value)
		}
		return Status{}, fmt.Errorf("not a status file: %w", err)
	}
	if d.More() {
		return Status{}, errors.New("not a status file: there is something behind it")
	}
	if s.Hook == "" {
		return Status{}, errors.New(`not a status file: it has no "hook"`)
	}
	switch s.State {
	case Running, Succeeded, Failed, Skipped:
		return s, nil
	case "":
		return Status{}, errors.New(`not a status file: it has no "state"`)
	}
	return Status{}, fmt.Errorf("state %q of hook %s is not known: a newer kopshook may know it", s.State, s.Hook)
}

// phases in the order of hookspec.Phases; a phase that is not known comes last.
var phases = []string{"pre-nodeup", "pre-kubelet", "post-nodeup", "post-kubelet", "daemon", "pre-shutdown"}

// Sort puts hooks in the order in which they ran: by phase, then by when they began, then by name.
func Sort(list []Status) {
	place := func(phase string) int {
		if i := slices.Index(phases, phase); i >= 0 {
			return i
		}
		return len(phases)
	}
	slices.SortStableFunc(list, func(a, b Status) int {
		return cmp.Or(place(a.Phase)-place(b.Phase), a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Hook, b.Hook))
	})
}
