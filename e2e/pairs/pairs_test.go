package pairs

import (
	"math/rand/v2"
	"slices"
	"testing"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// Of any hook that the decoder takes, each two values meet in one of the rows.
func TestEveryPairThatTheDecoderTakesIsCovered(t *testing.T) {
	rows := Cover()
	covered := map[Pair]bool{}
	for i, r := range rows {
		if !Accepted(r) {
			t.Errorf("the decoder refuses row %d", i)
		}
		for _, p := range r.Pairs() {
			covered[p] = true
		}
	}
	random, taken := rand.New(rand.NewPCG(1, 2)), 0
	for range 6000 {
		r := make(Row, len(Factors))
		for f := range r {
			if random.IntN(3) > 0 { // few hooks with everything are taken
				r[f] = random.IntN(len(Factors[f].Values))
			}
		}
		if !Accepted(r) {
			continue
		}
		taken++
		for _, p := range r.Pairs() {
			if !covered[p] {
				t.Fatalf("%s: %q never meets %s: %q", Factors[p.F].Name, Factors[p.F].Values[p.V], Factors[p.G].Name, Factors[p.G].Values[p.W])
			}
		}
	}
	if taken < 100 {
		t.Errorf("only %d of the random hooks were taken", taken)
	}
	t.Logf("%d rows cover %d pairs; %d random hooks", len(rows), len(covered), taken)
}

// Each field of hooks is a factor, but for those that say nothing of how others work.
func TestFactorsAreTheFieldsOfHooks(t *testing.T) {
	alone := map[string]bool{"name": true, "weight": true, "timeout": true, "attempts": true, "retryDelay": true, "enabled": true,
		"script": true, "source": true, // these two are the factor work
		"onDrift": true, "undo": true} // of phase daemon, which user data does not have
	factors := map[string]*Factor{}
	for i := range Factors {
		factors[Factors[i].Name] = &Factors[i]
	}
	for _, o := range hookspec.Objects() {
		for _, f := range o.Fields {
			if o.Name != "hook" {
				continue
			}
			factor := factors[f.Name]
			if factor == nil && !alone[f.Name] {
				t.Errorf("field %s is not a factor", f.Name)
			}
			if factor == nil || f.Name == "phase" {
				continue
			}
			for _, v := range f.Enum {
				if !slices.Contains(factor.Values, v) {
					t.Errorf("%s: %s is not among the values", f.Name, v)
				}
			}
		}
	}
	phases := factors["phase"].Values
	for _, p := range hookspec.Phases {
		if p != hookspec.Daemon && !slices.Contains(phases, string(p)) {
			t.Errorf("phase %s is not among the values", p)
		}
	}
}

// Each value of each factor is taken by the decoder in some hook, so that no mistake here leaves it out.
func TestEveryValueIsTaken(t *testing.T) {
	rows := Cover()
	for f := range Factors {
		for v := range Factors[f].Values {
			found := false
			for _, r := range rows {
				found = found || r[f] == v
			}
			if !found {
				t.Errorf("%s: %q is in no row", Factors[f].Name, Factors[f].Values[v])
			}
		}
	}
	var r report.Report
	hookspec.Decode("hooks.yaml", []byte(Spec("pairs", false, rows, 1)), &r)
	if r.HasErrors() {
		t.Errorf("the hooks do not go together: %v", r.Findings)
	}
}
