package hookspec

// Matches says whether all that the selector names matches g, as it does for overrides. A nil selector matches nothing.
func (s *Selector) Matches(g Group) bool { return s.matches(g) }
