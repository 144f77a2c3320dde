// Package pairs makes hooks in which each two values of fields meet that a spec may give one hook together. Package e2e
// boots them.
package pairs

import (
	"slices"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

// Factor is a field, or a choice between fields, and its values. The first value is what a plain hook has.
type Factor struct {
	Name   string
	Values []string
}

// Factors of a hook, but for phase daemon, which is not user data.
var Factors = []Factor{
	{"phase", []string{"pre-nodeup", "pre-kubelet", "post-nodeup", "post-kubelet", "pre-shutdown", "boot", "pre-nodeup, pre-kubelet", "pre-nodeup, post-kubelet"}},
	{"work", []string{"script", "source file", "source folder", "none"}},
	{"verify", []string{"", "yes"}},
	{"files", []string{"", "inline", "url", "inline and url"}},
	{"dropIns", []string{"", "yes"}},
	{"cloudConfig", []string{"", "yes"}},
	{"env", []string{"", "yes"}},
	{"run", []string{"", "once-per-instance", "once-per-image", "every-boot"}},
	{"onFailure", []string{"", "block", "continue"}},
	{"before", []string{"", "yes"}},
	{"rebootExitCodes", []string{"", "yes"}},
	{"cleanup", []string{"", "never", "on-success"}},
	{"compress", []string{"", "true", "false"}},
	{"archive", []string{"", "true"}}, // of the spec
}

// Row is one hook: of each factor the index of its value.
type Row []int

// Value returns the value of a factor.
func (r Row) Value(factor string) string {
	i := slices.IndexFunc(Factors, func(f Factor) bool { return f.Name == factor })
	return Factors[i].Values[r[i]]
}

// Pair is two values of two factors, by their indexes.
type Pair struct{ F, V, G, W int }

// Pairs returns the pairs that meet in the row.
func (r Row) Pairs() []Pair {
	var all []Pair
	for f := range r {
		for g := f + 1; g < len(r); g++ {
			all = append(all, Pair{f, r[f], g, r[g]})
		}
	}
	return all
}

// Has says whether the two values meet in the row.
func (r Row) Has(p Pair) bool { return r[p.F] == p.V && r[p.G] == p.W }

// Accepted says whether the decoder takes such a hook, and the generator what it becomes: only there one sees that a
// source is a folder.
func Accepted(r Row) bool {
	var found report.Report
	docs := hookspec.Decode("hooks.yaml", []byte(Spec("pairs", r.Value("archive") != "", []Row{r}, 0)), &found)
	if found.HasErrors() {
		return false
	}
	var hooks []generator.Hook
	for _, h := range docs[0].Resolve(hookspec.Group{}) {
		switch r.Value("work") {
		case "source file":
			h.Scripts = []generator.Script{{Name: "script", Content: []byte(Script)}}
		case "source folder":
			h.Scripts = []generator.Script{{Name: "10 first", Content: []byte(First)}, {Name: "20-second", Content: []byte(Second)}}
		}
		hooks = append(hooks, h.Hook)
	}
	_, err := generator.Generate(generator.InstanceGroup{}, "v1", hooks)
	return err == nil
}

// possible returns a row with the two values that the decoder takes, or nil: in each phase, with each kind of work that
// the hook may have beside the two.
func possible(p Pair) Row {
	fillers := [][2]int{{index("work"), 0}, {index("files"), 1}, {index("dropIns"), 1}, {index("cloudConfig"), 1}}
	for phase := range Factors[index("phase")].Values {
		for _, filler := range fillers {
			r := make(Row, len(Factors))
			r[index("phase")], r[filler[0]] = phase, filler[1]
			r[p.F], r[p.G] = p.V, p.W
			if Accepted(r) {
				return r
			}
		}
	}
	return nil
}

func index(factor string) int {
	return slices.IndexFunc(Factors, func(f Factor) bool { return f.Name == factor })
}

// Cover returns rows in which all pairs meet that the decoder takes: the same ones each time.
func Cover() []Row {
	missing := map[Pair]bool{}
	var order []Pair
	with := map[Pair]Row{}
	for f := range Factors {
		for g := f + 1; g < len(Factors); g++ {
			for v := range Factors[f].Values {
				for w := range Factors[g].Values {
					p := Pair{f, v, g, w}
					if r := possible(p); r != nil {
						missing[p], with[p] = true, r
						order = append(order, p)
					}
				}
			}
		}
	}
	gain := func(r Row) (n int) {
		for _, p := range r.Pairs() {
			if missing[p] {
				n++
			}
		}
		return n
	}
	var rows []Row
	for _, p := range order {
		if !missing[p] {
			continue
		}
		best := with[p]
		for f := range Factors {
			for v := range Factors[f].Values {
				next := slices.Clone(best)
				next[f] = v
				if next.Has(p) && gain(next) > gain(best) && Accepted(next) {
					best = next
				}
			}
		}
		for _, met := range best.Pairs() {
			delete(missing, met)
		}
		rows = append(rows, best)
	}
	return rows
}

// Phases of the row's hook, in the order in which the spec says them.
func (r Row) Phases() []string { return strings.Split(r.Value("phase"), ", ") }
