package pyyaml

import (
	"fmt"
	"math"
	"slices"
)

// index finds entries of a Dict or a Set by what their keys are to Python. It is made when it is first of use, and is
// right as long as nobody but Set and Delete changes Entries: a Copy begins without one.
type index struct {
	owner *Value
	spots map[hash]spot
	size  int // of Entries
	// deleted counts the entries that were deleted since the index was made: a later one is at most so far before its spot.
	deleted int
}

// hash is the same for keys that are equal.
type hash struct {
	kind Kind
	text string
}

// spot is where a key was when it came in.
type spot struct {
	key *Value
	at  int
}

// small is how many entries are looked through one by one.
const small = 8

// hashOf returns the hash of a key; false for what has none in Python, and for tuples.
func hashOf(v *Value) (hash, bool) {
	switch v.Kind {
	case Null:
		return hash{}, true
	case Bool, Int, Float:
		r, irregular, _ := v.number()
		switch {
		case r != nil:
			return hash{Int, r.RatString()}, true
		case math.IsNaN(irregular): // equal to itself alone
			return hash{Float, fmt.Sprintf("%p", v)}, true
		}
		return hash{Float, fmt.Sprint(irregular)}, true
	case Str, Bytes:
		return hash{v.Kind, v.Str}, true
	case Date, DateTime:
		return hash{v.Kind, fmt.Sprint(v.Time.HasZone, v.Time.utc().UnixMicro())}, true
	}
	return hash{}, false
}

// find returns where the entry of a key is, or -1.
func (v *Value) find(key *Value) int {
	if v == nil || v.Kind != Dict && v.Kind != Set {
		return -1
	}
	h, ok := hashOf(key)
	if !ok || len(v.Entries) <= small {
		for i, e := range v.Entries {
			if Equal(e.Key, key) {
				return i
			}
		}
		return -1
	}
	if !v.indexed() {
		v.makeIndex()
	}
	s, ok := v.index.spots[h]
	if !ok {
		return -1
	}
	i := min(s.at, len(v.Entries)-1)
	for v.Entries[i].Key != s.key {
		i--
	}
	return i
}

// indexed says whether there is an index that is right.
func (v *Value) indexed() bool {
	return v.index != nil && v.index.owner == v && v.index.size == len(v.Entries)
}

func (v *Value) makeIndex() {
	v.index = &index{owner: v, spots: make(map[hash]spot, len(v.Entries)), size: len(v.Entries)}
	for i, e := range v.Entries {
		if h, ok := hashOf(e.Key); ok {
			v.index.spots[h] = spot{e.Key, i}
		}
	}
}

// Get returns the value of a string key of a Dict, or nil.
func (v *Value) Get(key string) *Value {
	e, _ := v.GetEntry(key)
	return e.Value
}

// GetEntry returns the entry of a string key of a Dict.
func (v *Value) GetEntry(key string) (Entry, bool) {
	if i := v.find(&Value{Kind: Str, Str: key}); i >= 0 {
		return v.Entries[i], true
	}
	return Entry{}, false
}

// Has says whether a Dict or a Set has a key that Python holds to be equal.
func (v *Value) Has(key *Value) bool { return v.find(key) >= 0 }

// Lookup returns the value of a key of a Dict, or nil.
func (v *Value) Lookup(key *Value) *Value {
	if i := v.find(key); i >= 0 {
		return v.Entries[i].Value
	}
	return nil
}

// Set sets a key of a Dict as Python does: a key that is there keeps its place and its own spelling (1 and true are one
// key).
func (v *Value) Set(key, value *Value) {
	if i := v.find(key); i >= 0 {
		v.Entries[i].Value = value
		return
	}
	indexed := v.indexed()
	v.Entries = append(v.Entries, Entry{key, value})
	if h, ok := hashOf(key); indexed {
		v.index.size++
		if ok {
			v.index.spots[h] = spot{key, len(v.Entries) - 1}
		}
	}
}

// Delete removes a key of a Dict.
func (v *Value) Delete(key *Value) {
	i := v.find(key)
	if i < 0 {
		return
	}
	indexed := v.indexed()
	v.Entries = slices.Delete(v.Entries, i, i+1)
	h, ok := hashOf(key)
	if !indexed || !ok || v.index.deleted*v.index.deleted > len(v.Entries) {
		v.index = nil
		return
	}
	delete(v.index.spots, h)
	v.index.size--
	v.index.deleted++
}
