package instancegroups

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Error is something wrong in a file.
type Error struct {
	File      string
	Line, Col int    // from 1; Col counts characters; 0 when unknown
	Path      string // the field, as in "spec.additionalUserData[0].name"; may be empty
	Message   string
	Remedy    string // what to do; may be empty
	Dropped   bool   // kops drops the document that it is about, without a word
}

// Error is "file:line:col: message (remedy)".
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
		if e.Col > 0 {
			s += fmt.Sprintf(":%d", e.Col)
		}
	}
	s += ": " + e.Message
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

func joined(errs []*Error) error {
	list := make([]error, len(errs))
	for i, err := range errs {
		list[i] = err
	}
	return errors.Join(list...)
}

func sortErrors(errs []*Error) {
	slices.SortStableFunc(errs, func(a, b *Error) int { return cmp.Or(a.Line-b.Line, a.Col-b.Col) })
}

// problems collects what is wrong, and what is suspicious.
type problems struct {
	errs, warnings []*Error
}

func (p *problems) fail(errs ...*Error) { p.errs = append(p.errs, errs...) }
func (p *problems) warn(errs ...*Error) { p.warnings = append(p.warnings, errs...) }
