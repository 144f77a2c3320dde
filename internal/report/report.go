// Package report holds what kopshook has to say about somebody's input: findings with a severity, a position and a
// remedy, and their printers.
//
// Every message follows one style: lower case, no full stop, what is wrong first. The remedy is a sentence of its own
// that says what to do; printers put it behind "hint:".
package report

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity of a finding. Errors stop the command; warnings do so with --strict.
type Severity int

const (
	Error Severity = iota
	Warning
	Info
)

// String returns "error", "warning" or "info".
func (s Severity) String() string {
	return [...]string{"error", "warning", "info"}[s]
}

// Position is a place in an input. Line and Col count from 1; Col counts characters (runes), as yaml.v3 does.
// Zero means unknown. File is the name as the user gave it; standard input is "-".
type Position struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
}

// String is "file:line:col", without the parts that are unknown: editors and CI annotators parse it.
func (p Position) String() string {
	file := p.File
	if file == "-" {
		file = "<stdin>"
	}
	switch {
	case p.Line == 0:
		return file
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", file, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Col)
}

// Finding is one thing to say. Code is a lint rule's code ("KH001") or empty. Path is the field in the input's own
// words ("spec.hooks[1].files[0].mode") or empty. Detail are further lines, such as a table, or empty. Group is the instance
// group that Message names, as %q prints it, or empty: Text says once what is the same of several.
type Finding struct {
	Severity Severity
	Code     string
	Position
	Path    string
	Message string
	Detail  string
	Remedy  string
	Group   string
}

// Report collects findings. The zero value is ready to use.
type Report struct {
	Findings []Finding
}

// Add appends findings.
func (r *Report) Add(f ...Finding) { r.Findings = append(r.Findings, f...) }

// Errorf adds an error. remedy may be empty when the message already says what to do.
func (r *Report) Errorf(pos Position, path, remedy, format string, args ...any) {
	r.Add(Finding{Severity: Error, Position: pos, Path: path, Remedy: remedy, Message: fmt.Sprintf(format, args...)})
}

// Warnf adds a warning.
func (r *Report) Warnf(pos Position, path, remedy, format string, args ...any) {
	r.Add(Finding{Severity: Warning, Position: pos, Path: path, Remedy: remedy, Message: fmt.Sprintf(format, args...)})
}

// Merge appends all findings of other.
func (r *Report) Merge(other *Report) {
	if other != nil {
		r.Add(other.Findings...)
	}
}

// HasErrors says whether any finding is an error.
func (r *Report) HasErrors() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error })
}

// Sort orders findings by file, line, column and message, keeping the order of those that are equal, and drops
// repetitions.
func (r *Report) Sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Message, b.Message))
	})
	r.Findings = slices.Compact(r.Findings)
}

// Settle sorts the findings. With strict, warnings become errors.
func (r *Report) Settle(strict bool) {
	r.Sort()
	for i := range r.Findings {
		if f := &r.Findings[i]; strict && f.Severity == Warning {
			f.Severity = Error
		}
	}
}
