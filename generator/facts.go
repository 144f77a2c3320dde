package generator

import (
	"bytes"
	"slices"
)

// facts are the variables that a helper of its own sets (templates/v1/facts.sh), so that only hooks which ask for them
// carry it.
var facts = [][]byte{[]byte("KOPSHOOK_API_ENDPOINT"), []byte("KOPSHOOK_OPERATION"), []byte("KOPSHOOK_SHUTDOWN")}

// asks says whether the hook names one of facts: in a script, in verify, or in a file that it places.
func (h *hook) asks() bool {
	if h.Phase == Boot {
		return false
	}
	names := func(content []byte) bool {
		return slices.ContainsFunc(facts, func(name []byte) bool { return bytes.Contains(content, name) })
	}
	return names(h.Verify) || slices.ContainsFunc(h.Scripts, func(s Script) bool { return names(s.Content) }) ||
		slices.ContainsFunc(h.Files, func(f File) bool { return names(f.Content) })
}
