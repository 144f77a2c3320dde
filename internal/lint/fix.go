package lint

import (
	"bytes"
	"cmp"
	"slices"
)

// Apply makes the edits of findings in a file. Edits that touch others are left out: the next run makes them.
func Apply(file string, src []byte, findings []Finding) (fixed []byte, made int) {
	var edits []Edit
	for _, f := range findings {
		if len(f.Fix) == 0 || slices.ContainsFunc(f.Fix, func(e Edit) bool { return e.File != file || overlaps(edits, e) }) {
			continue
		}
		edits = append(edits, f.Fix...)
		made++
	}
	slices.SortFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	var out bytes.Buffer
	last := 0
	for _, e := range edits {
		out.Write(src[last:e.Start])
		out.WriteString(e.New)
		last = e.End
	}
	out.Write(src[last:])
	return out.Bytes(), made
}

func overlaps(edits []Edit, e Edit) bool {
	return slices.ContainsFunc(edits, func(o Edit) bool { return e.Start <= o.End && o.Start <= e.End })
}
