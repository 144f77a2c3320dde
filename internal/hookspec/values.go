package hookspec

import (
	"kopshook.dev/kopshook/internal/strict"
)

// What documents of other kinds hold, too. Like the readers of strict.Reader, these report what is wrong.

// ReadScript reads an inline script: it must begin with #! and an interpreter.
func ReadScript(r *strict.Reader, v strict.Value) string {
	s := r.String(v)
	if !r.Bad(v.Path()) {
		checkScript(r, v.Path(), v.Label(), s)
	}
	return s
}

// ReadSource reads where a script is to be found.
func ReadSource(r *strict.Reader, v strict.Value) string {
	s := r.String(v)
	if !r.Bad(v.Path()) {
		checkSource(r, v.Path(), s, "script")
	}
	return s
}

// ReadEnv reads environment variables.
func ReadEnv(r *strict.Reader, v strict.Value) map[string]string {
	env := r.StringMap(v)
	for name, value := range env {
		checkEnv(r, strict.Join(v.Path(), name), name, value)
	}
	return env
}

// ReadGlobs reads a list of globs on names. It may not be empty: some would take that for "none", others for "all".
func ReadGlobs(r *strict.Reader, v strict.Value) []string {
	globs := r.Strings(v)
	checkGlobs(r, v.Path(), v.Label(), globs)
	return globs
}
