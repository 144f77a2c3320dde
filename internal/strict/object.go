package strict

import (
	"regexp"
	"slices"
	"sync"

	"kopshook.dev/kopshook/generator"
)

// Type is what a field holds, in the words of the docs.
type Type string

const (
	String        Type = "string"
	StringOrList  Type = "string or list of strings"
	StringList    Type = "list of strings"
	StringMap     Type = "mapping of strings"
	Integer       Type = "integer"
	IntegerList   Type = "list of integers"
	Boolean       Type = "boolean"
	Span          Type = "duration"
	AnyMapping    Type = "mapping"
	OneObject     Type = "object"
	ObjectList    Type = "list of objects"
	ObjectsByName Type = "mapping of objects"
)

// Object is one kind of mapping in a document, for instance a hook or a file.
type Object struct {
	Name   string // "hook", "file"
	Doc    string
	Fields []Field
}

// Field is one key of an Object, with its type, default and limits. Its value is checked by it, and the JSON Schema and
// the reference page are made from it.
type Field struct {
	Name     string
	Type     Type
	Of       *Object // of OneObject, ObjectList and ObjectsByName
	Doc      string
	Required bool
	Absent   string // the remedy where it is missing or has no value; "" where there is nothing special to say
	Default  string // as one writes it in YAML; "" where there is none
	// DefaultIn holds the defaults of phases that differ from Default.
	DefaultIn []PhaseValue
	Enum      []string
	// Pattern is what each string must match (RE2, anchored); Says tells people so: "must be SAYS".
	Pattern, Says string
	// MaxLength bounds strings, in bytes; 0 does not.
	MaxLength int
	// Min and Max bound integers, and durations in seconds.
	Min, Max int
	// Also holds words that other systems use for the field.
	Also []string
	// Not holds the phases that do not take the field.
	Not []Refusal
}

// PhaseValue is a value that holds in one phase.
type PhaseValue struct {
	Phase generator.Phase
	Value string
}

// Refusal says that a field does not go with phases, why, and what to do instead. Except is the one value that is
// taken all the same, since it says what happens anyway.
type Refusal struct {
	Phases []generator.Phase
	Except string
	Why    string
	Remedy string
}

// Refused returns why the field does not go with a phase, or nil when it does.
func (f *Field) Refused(p generator.Phase) *Refusal {
	for i := range f.Not {
		if slices.Contains(f.Not[i].Phases, p) {
			return &f.Not[i]
		}
	}
	return nil
}

// DefaultFor returns the field's default in a phase, as one writes it in YAML.
func (f *Field) DefaultFor(p generator.Phase) string {
	for _, d := range f.DefaultIn {
		if d.Phase == p {
			return d.Value
		}
	}
	return f.Default
}

// Field returns the field called name, or nil.
func (o *Object) Field(name string) *Field {
	for i := range o.Fields {
		if o.Fields[i].Name == name {
			return &o.Fields[i]
		}
	}
	return nil
}

// Matches says whether s is as long as the field may be, and what its pattern wants.
func (f *Field) Matches(s string) bool {
	if f.Pattern == "" {
		return true
	}
	re, ok := patterns.Load(f.Pattern)
	if !ok {
		re, _ = patterns.LoadOrStore(f.Pattern, regexp.MustCompile(`^(?:`+f.Pattern+`)$`))
	}
	return (f.MaxLength == 0 || len(s) <= f.MaxLength) && re.(*regexp.Regexp).MatchString(s)
}

// patterns holds the compiled patterns that were needed so far.
var patterns sync.Map

// names returns the names of all fields.
func (o *Object) names() []string {
	names := make([]string, len(o.Fields))
	for i, f := range o.Fields {
		names[i] = f.Name
	}
	return names
}
