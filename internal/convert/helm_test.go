package convert

import (
	"slices"
	"testing"

	"kopshook.dev/kopshook/internal/clusterhooks"
)

// TestHelmsWordsHaveOneMeaning: a hook that is converted runs when exec runs one with Helm's word for it. What is to run in a
// cluster before there is one is the exception.
func TestHelmsWordsHaveOneMeaning(t *testing.T) {
	seen := 0
	for _, a := range clusterhooks.Aliases {
		if a.System != "Helm" {
			continue
		}
		seen++
		got := helmEvents[a.Name]
		want := a.Events
		if a.Name == "pre-install" {
			want = []clusterhooks.Event{clusterhooks.AfterCreate}
		}
		if !slices.Equal(want, []clusterhooks.Event{clusterhooks.Event(got.event)}) {
			t.Errorf("%s: exec takes it for %q, convert for %q", a.Name, a.Events, got.event)
		}
	}
	if seen != len(helmEvents) {
		t.Errorf("exec knows %d of Helm's words, convert %d", seen, len(helmEvents))
	}
}
