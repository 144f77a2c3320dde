package schema

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	kinds "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// beyond are the mistakes that a schema lets pass, by rule and by what kopshook says of them. Each must occur.
var beyond = []struct {
	rule    string
	message *regexp.Regexp
}{
	{"a schema sees values, not how they are written: numbers", regexp.MustCompile("`(attempts|weight)` must be an integer, not the number (3.0|0x10|0o?10|1_0)")},
	{"a schema sees values, not how they are written: dates", regexp.MustCompile("not the date ")},
	{"a schema sees values, not how they are written: tags", regexp.MustCompile(`tag !\w+ has no meaning here|not binary data`)},
	{"a schema sees values, not how they are written: bare words", regexp.MustCompile("is the bare word (on|Off|yes)")},
	{"keys are strings by the time a schema sees them", regexp.MustCompile("key .* must be a string, not the number")},
	{"keys that are there twice, of which a schema sees one", regexp.MustCompile("key .* is given twice")},
	{"merge keys are merged before", regexp.MustCompile("merge key")},
	{"durations: bounds and whole seconds", regexp.MustCompile("`(timeout|retryDelay)` is .*; it must be (between|whole seconds)")},
	{"globs: the pattern itself", regexp.MustCompile("which is no glob")},
	{"names of hooks: unique, with their phases too", regexp.MustCompile("hook `.*` is there twice|with its phase the hook is called")},
	{"names in lists of objects: unique", regexp.MustCompile("file .* is there twice|a drop-in for .* is there twice")},
	{"files of a hook: none below another", regexp.MustCompile("cannot be a file and the folder of")},
	{"base64", regexp.MustCompile("is not base64")},
	{"escapes of URLs", regexp.MustCompile("`url` is .*, which is not a URL")},
	{"units that cannot wait for hooks", regexp.MustCompile("`before` names .*, which (already waits|is a hook's own|is how people|belongs to|starts early|is reached only|is part of)")},
	{"overrides: against the hooks that they change", regexp.MustCompile("there is no hook .* to override|does not go with phase|does not go with `run|are both given|does not go with several phases")},
	{"what runs again on drift: told by verify, of the hook or of an override", regexp.MustCompile("does not go without verify")},
	{"carriage returns", regexp.MustCompile("ends with a carriage return")},
	{"verify: how it begins", regexp.MustCompile("`verify` has white space before its #!")},
	{"lengths of paths", regexp.MustCompile("is longer than Linux takes")},
	{"NUL", regexp.MustCompile("holds a NUL")},
}

// Of each document with mistakes, kopshook and the schema complain about the same places, but for what beyond names.
func TestMistakesAreSeenByBoth(t *testing.T) {
	s := compile(t)
	files, err := filepath.Glob("../hookspec/testdata/bad/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	used := map[string]bool{}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "syntax-") {
			continue // no YAML: no schema sees it
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r report.Report
			hookspec.Decode(file, data, &r)
			docs := documents(t, file)
			for i, doc := range docs {
				last := 1 << 30
				if i+1 < len(docs) {
					last = docs[i+1].Line - 1
				}
				var ours []report.Finding
				for _, f := range r.Findings {
					if f.Line >= doc.Line && f.Line <= last {
						ours = append(ours, f)
					}
				}
				if kind(doc) != hookspec.Kind && len(ours) == 0 {
					continue // somebody else's document
				}
				var theirs []complaint
				var invalid *jsonschema.ValidationError
				if err := s.Validate(plain(doc, nil)); errors.As(err, &invalid) {
					theirs = complaints(invalid)
				} else if err != nil {
					t.Fatal(err)
				}
				compare(t, ours, theirs, used)
			}
		})
	}
	for _, b := range beyond {
		if !used[b.rule] {
			t.Errorf("no mistake is let pass because of %q: take the rule out", b.rule)
		}
	}
}

// compare wants a place of theirs near each of ours, and the other way around.
func compare(t *testing.T, ours []report.Finding, theirs []complaint, used map[string]bool) {
	t.Helper()
	stopped := false
	for _, f := range ours {
		stopped = stopped || f.Path == "kind" || f.Path == "apiVersion"
		path := split(f.Path)
		if slices.ContainsFunc(theirs, func(c complaint) bool { return c.near(path) }) {
			continue
		}
		excused := false
		for _, b := range beyond {
			if b.message.MatchString(f.Message) {
				used[b.rule], excused = true, true
			}
		}
		if !excused {
			t.Errorf("line %d: the schema does not see at %s that %s", f.Line, f.Path, f.Message)
		}
	}
	if stopped {
		return // the decoder looks no further then
	}
	for _, c := range theirs {
		if !slices.ContainsFunc(ours, func(f report.Finding) bool { return c.near(split(f.Path)) || within(split(f.Path), c.place) }) {
			t.Errorf("the schema refuses /%s, and kopshook takes it", strings.Join(c.place, "/"))
		}
	}
}

// complaint is one of the schema's: where, and about all of an object or list, or about one value.
type complaint struct {
	place []string
	whole bool
}

// near says whether a complaint is at the place of a finding, inside it, or about the object that it is a field of:
// schemas complain there about fields that are missing, unknown or do not go together.
func (c complaint) near(ours []string) bool {
	return within(c.place, ours) || c.whole && len(ours) > 0 && slices.Equal(c.place, ours[:len(ours)-1])
}

func within(inner, outer []string) bool {
	return len(inner) >= len(outer) && slices.Equal(inner[:len(outer)], outer)
}

// complaints returns the leaves of a validation error.
func complaints(e *jsonschema.ValidationError) []complaint {
	switch k := e.ErrorKind.(type) {
	case *kinds.UniqueItems:
		return []complaint{{append(slices.Clone(e.InstanceLocation), strconv.Itoa(k.Duplicates[1])), false}}
	case *kinds.AdditionalProperties:
		var all []complaint
		for _, p := range k.Properties {
			all = append(all, complaint{append(slices.Clone(e.InstanceLocation), p), false})
		}
		return all
	case *kinds.FalseSchema:
		return []complaint{{e.InstanceLocation, false}}
	case *kinds.Required, *kinds.Not, *kinds.Dependency, *kinds.OneOf:
		return []complaint{{e.InstanceLocation, true}}
	}
	if len(e.Causes) == 0 {
		return []complaint{{e.InstanceLocation, false}}
	}
	var all []complaint
	for _, c := range e.Causes {
		if _, alternative := e.ErrorKind.(*kinds.AnyOf); alternative && len(e.Causes) > 1 {
			if _, otherType := c.ErrorKind.(*kinds.Type); otherType && slices.Equal(c.InstanceLocation, e.InstanceLocation) {
				continue // the value is meant to be the other alternative
			}
		}
		all = append(all, complaints(c)...)
	}
	if len(all) == 0 {
		return []complaint{{e.InstanceLocation, false}}
	}
	return all
}

var step = regexp.MustCompile(`\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[\]]+)`)

// split turns spec.hooks[0].env["a.b"] into its steps.
func split(path string) []string {
	var steps []string
	for _, m := range step.FindAllStringSubmatch(path, -1) {
		switch {
		case strings.HasPrefix(m[0], `["`):
			key, err := strconv.Unquote(`"` + m[1] + `"`)
			if err != nil {
				key = m[1]
			}
			steps = append(steps, key)
		default:
			steps = append(steps, m[2]+m[3])
		}
	}
	return steps
}
