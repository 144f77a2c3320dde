package cloudinit

import (
	"slices"
	"strings"
)

// Hinders returns the loss for which the parts from number from on do not do all that they say, or for which kops' own
// script does not run: what is to blame for it stands in By, or else at its own place. It is nil when they arrive.
// What only the node can tell does not count.
func (r *Result) Hinders(from int) *Loss {
	for i := range r.Lost {
		l := r.Lost[i]
		if !r.hinders(&l, from) {
			continue
		}
		if l.By.Part < 0 && l.At.Part < from {
			l.By = l.At
		}
		return &l
	}
	return nil
}

func (r *Result) hinders(l *Loss, from int) bool {
	switch l.Kind {
	case LostAll, LostInit:
		return true
	case Unpredictable:
		return false
	case LostCommands: // of all parts, wherever it is told of
		key, _, _ := strings.Cut(l.Path, "[")
		return l.At.Part >= from || slices.ContainsFunc(r.Parts, func(f Fate) bool {
			return f.Part >= from && f.Config != nil && f.Config.Get(key) != nil
		})
	case Overwritten: // kops' own part is number -1
		return l.At.Part >= from || l.At.Part < 0 && l.By.Part >= 0
	}
	return l.At.Part >= from
}
