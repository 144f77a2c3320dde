// Package pyyaml reads YAML as PyYAML's SafeLoader does, which is how cloud-init reads it: YAML 1.1, with PyYAML's own
// limits (no tabs before tokens, one document, no undefined tags) and Python's types. Go's YAML packages differ in all of
// that, and where they differ a part that looks fine is lost on the node.
//
// Values keep the position they were written at, so that what happens to them later can be told in the user's own file.
package pyyaml

import (
	"cmp"
	"fmt"
	"math/big"
)

// Kind is a Python type that YAML can become.
type Kind int

// The kinds, with their Python types.
const (
	Null     Kind = iota // NoneType
	Bool                 // bool
	Int                  // int, of any size
	Float                // float
	Str                  // str
	Bytes                // bytes
	Date                 // datetime.date
	DateTime             // datetime.datetime
	List                 // list
	Tuple                // tuple
	Dict                 // dict
	Set                  // set
)

// String returns the name of the Python type.
func (k Kind) String() string {
	return [...]string{"NoneType", "bool", "int", "float", "str", "bytes", "date", "datetime", "list", "tuple", "dict", "set"}[k]
}

// Noun says what a value of the kind is, with its article, for people.
func (k Kind) Noun() string {
	return [...]string{"null", "a bool", "a number", "a number", "a string", "binary data", "a date", "a date and time", "a list", "a pair", "a mapping", "a set"}[k]
}

// Pos is a place in a document: line and column in characters, from 1. Zero means that there is none.
type Pos struct{ Line, Col int }

// Value is a Python value that was made from YAML.
//
// A Str that holds a lone surrogate ("\ud800" in double quotes) holds its three bytes, which are not valid UTF-8: it is
// as impossible to write such a string to a file as it is in Python.
type Value struct {
	Kind    Kind
	Bool    bool
	Int     *big.Int
	Float   float64
	Str     string   // of Str and Bytes
	Time    Time     // of Date and DateTime
	Items   []*Value // of List and Tuple
	Entries []Entry  // of Dict, in insertion order, and of Set, whose values are nil

	Pos
	Part     int     // the part it came from, set by the caller of Load; it means nothing here
	Style    rune    // how a scalar was written: 0 plain, else one of ' " | >
	Text     string  // of a scalar, before it became what it is
	Shadowed []Entry // of a Dict: what was written in it and lost to a later key of the same name

	index *index
}

// Entry is a key of a Dict and its value.
type Entry struct{ Key, Value *Value }

// Time is a date, or a date and a time. A date and time without a zone has HasZone false.
type Time struct {
	Year, Month, Day, Hour, Minute, Second, Microsecond int
	HasZone                                             bool
	Offset                                              int // minutes east of UTC
}

// Copy returns a copy of v whose own Items and Entries can be changed; what they hold is shared.
func (v *Value) Copy() *Value {
	c := *v
	c.index = nil
	c.Items = append([]*Value(nil), v.Items...)
	c.Entries = append([]Entry(nil), v.Entries...)
	return &c
}

// IsString says whether v is a Str; v may be nil.
func (v *Value) IsString() bool { return v != nil && v.Kind == Str }

// IsSequence says whether v is a List or a Tuple; v may be nil.
func (v *Value) IsSequence() bool { return v != nil && (v.Kind == List || v.Kind == Tuple) }

// IsDict says whether v is a Dict; v may be nil.
func (v *Value) IsDict() bool { return v != nil && v.Kind == Dict }

// Truth is Python's bool(v); nil is None.
func (v *Value) Truth() bool {
	if v == nil {
		return false
	}
	switch v.Kind {
	case Null:
		return false
	case Bool:
		return v.Bool
	case Int:
		return v.Int.Sign() != 0
	case Float:
		return v.Float != 0
	case Str, Bytes:
		return v.Str != ""
	case List, Tuple:
		return len(v.Items) > 0
	case Dict, Set:
		return len(v.Entries) > 0
	}
	return true
}

// number returns v as a rational or as an irregular float, if it is a number in Python: bool is one.
func (v *Value) number() (r *big.Rat, irregular float64, ok bool) {
	switch v.Kind {
	case Bool:
		if v.Bool {
			return big.NewRat(1, 1), 0, true
		}
		return new(big.Rat), 0, true
	case Int:
		return new(big.Rat).SetInt(v.Int), 0, true
	case Float:
		if r := new(big.Rat).SetFloat64(v.Float); r != nil {
			return r, 0, true
		}
		return nil, v.Float, true
	}
	return nil, 0, false
}

// CompareNumbers orders numbers as Python does; what is no number is 0.
func CompareNumbers(a, b *Value) int {
	ra, fa, _ := a.number()
	rb, fb, _ := b.number()
	if ra != nil && rb != nil {
		return ra.Cmp(rb)
	}
	if ra != nil {
		fa, _ = ra.Float64()
	}
	if rb != nil {
		fb, _ = rb.Float64()
	}
	return cmp.Compare(fa, fb)
}

// Equal is Python's a == b: 1, 1.0 and True are equal, and the order of a dict does not count.
func Equal(a, b *Value) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	if a.Kind == Str && b.Kind == Str {
		return a.Str == b.Str
	}
	if ra, fa, ok := a.number(); ok {
		rb, fb, ok := b.number()
		if !ok {
			return false
		}
		if ra == nil || rb == nil {
			return ra == nil && rb == nil && fa == fb
		}
		return ra.Cmp(rb) == 0
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Null:
		return true
	case Bytes:
		return a.Str == b.Str
	case Date:
		return a.Time == b.Time
	case DateTime:
		return a.Time.HasZone == b.Time.HasZone && a.Time.Compare(b.Time) == 0
	case List, Tuple:
		if len(a.Items) != len(b.Items) {
			return false
		}
		for i := range a.Items {
			if !Equal(a.Items[i], b.Items[i]) {
				return false
			}
		}
		return true
	}
	if len(a.Entries) != len(b.Entries) {
		return false
	}
	for _, e := range a.Entries {
		i := b.find(e.Key)
		if i < 0 || a.Kind == Dict && !Equal(e.Value, b.Entries[i].Value) {
			return false
		}
	}
	return true
}

// Error says why a document cannot be read.
type Error struct {
	Pos
	Msg string
	// Uncaught is set where Python raises something that cloud-init's load_yaml does not expect and does not catch
	// (IndexError of an empty !!int, KeyError of an unknown !!bool, ...).
	Uncaught bool
	// Unsure is set where this package gives up and PyYAML might not: a document that contains itself, or is nested
	// beyond reason.
	Unsure bool
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Col, e.Msg)
}
