package report

import (
	"errors"
	"fmt"
)

// hinted is an error with a remedy.
type hinted struct {
	error
	remedy string
}

func (h *hinted) Hint() string  { return h.remedy }
func (h *hinted) Unwrap() error { return errors.Unwrap(h.error) }

// Hint returns an error that carries a remedy. The format may hold %w.
func Hint(remedy, format string, args ...any) error {
	return &hinted{error: fmt.Errorf(format, args...), remedy: remedy}
}

// Remedy returns the remedy that err, or an error it wraps, carries.
func Remedy(err error) string {
	var r interface{ Hint() string }
	if errors.As(err, &r) {
		return r.Hint()
	}
	return ""
}

// AddError adds err as an error at pos, each error of errors.Join as a finding of its own. An error that has a
// Position is about that place, in another file: it stands there instead.
func (r *Report) AddError(pos Position, path string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			r.AddError(pos, path, e)
		}
		return
	}
	var placed interface{ Position() Position }
	if errors.As(err, &placed) {
		pos, path = placed.Position(), ""
	}
	r.Errorf(pos, path, Remedy(err), "%s", err.Error())
}
