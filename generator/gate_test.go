package generator

import (
	"slices"
	"testing"
)

// A hook waits for the one before it where both hold up the same: within a phase, and before the kubelet. Hooks of
// pre-shutdown have their order in their units.
func TestHooksThatWaitForTheOneBefore(t *testing.T) {
	want := [][2]Phase{{Boot, Boot}, {PreNodeup, PreNodeup}, {PreNodeup, PreKubelet}, {PreKubelet, PreKubelet}, {PostNodeup, PostNodeup}, {PostKubelet, PostKubelet}}
	for i, p := range phases {
		for _, next := range phases[i:] {
			if got := chained(p, next); got != slices.Contains(want, [2]Phase{p, next}) {
				t.Errorf("%s, then %s: %v", p, next, got)
			}
		}
	}
}

func TestTheFirstHookThatHoldsWaitsForTheArchive(t *testing.T) {
	for _, c := range []struct {
		phases []Phase
		want   []string
	}{
		{[]Phase{PreNodeup, PreNodeup}, []string{kopsConfiguration, kubelet, "kopshook-a.service"}},
		{[]Phase{Boot, PreKubelet}, []string{kopsConfiguration, kubelet, "kopshook-b.service"}},
		{[]Phase{PostNodeup, PreShutdown}, []string{kopsConfiguration, kubelet}},
	} {
		m, err := newModel(gpuGroup, "v1", inBucket([]Hook{newHook("a", c.phases[0], "#!/bin/sh\n"), newHook("b", c.phases[1], "#!/bin/sh\n")}))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.gate[0].units; m.gate[0].hook != "archive" || !slices.Equal(got, c.want) {
			t.Errorf("%v: for %s wait %q, want %q", c.phases, m.gate[0].hook, got, c.want)
		}
	}
}

// A bootcmd has no files: they are in no archive, and nothing reads a bucket for it.
func TestHooksOfPhaseBootLieInNoBucket(t *testing.T) {
	if parts := mustGenerate(t, gpuGroup, inBucket([]Hook{newHook("a", Boot, "#!/bin/sh\n")})...); len(parts) != 1 || parts[0].Name != "kopshook-500-a.yaml" {
		t.Errorf("got %v", parts)
	}
}
