package lint

import (
	"testing"

	"kopshook.dev/kopshook/internal/report"
)

// TestEditsThatTouchAreMadeOneAfterTheOther: edits that overlap, or meet, would damage the file.
func TestEditsThatTouchAreMadeOneAfterTheOther(t *testing.T) {
	const src = "0123456789"
	edit := func(start, end int, text string) Edit { return Edit{File: "a.yaml", Start: start, End: end, New: text} }
	finding := func(edits ...Edit) Finding {
		return Finding{Finding: report.Finding{Code: "KH040"}, Fix: edits}
	}
	for _, c := range []struct {
		name     string
		findings []Finding
		want     string
		made     int
	}{
		{"apart, in any order", []Finding{finding(edit(6, 7, "b")), finding(edit(1, 2, "a"))}, "0a2345b789", 2},
		{"the same twice", []Finding{finding(edit(1, 2, "a")), finding(edit(1, 2, "a"))}, "0a23456789", 1},
		{"one inside of the other", []Finding{finding(edit(1, 8, "a")), finding(edit(3, 4, "b"))}, "0a89", 1},
		{"one around the other", []Finding{finding(edit(3, 4, "b")), finding(edit(1, 8, "a"))}, "012b456789", 1},
		{"they share an end", []Finding{finding(edit(1, 4, "a")), finding(edit(3, 6, "b"))}, "0a456789", 1},
		{"they meet", []Finding{finding(edit(1, 3, "a")), finding(edit(3, 5, "b"))}, "0a3456789", 1},
		{"two insertions at one place", []Finding{finding(edit(3, 3, "a")), finding(edit(3, 3, "b"))}, "012a3456789", 1},
		{"all edits of a finding or none", []Finding{finding(edit(5, 6, "a")), finding(edit(1, 2, "b"), edit(5, 6, "c"))}, "01234a6789", 1},
		{"another file", []Finding{finding(Edit{File: "b.yaml", Start: 1, End: 2, New: "x"})}, src, 0},
		{"partly another file", []Finding{finding(edit(1, 2, "a"), Edit{File: "b.yaml", Start: 1, End: 2, New: "x"})}, src, 0},
		{"no fix", []Finding{finding()}, src, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, made := Apply("a.yaml", []byte(src), c.findings)
			if string(got) != c.want || made != c.made {
				t.Errorf("got %q with %d made, want %q with %d", got, made, c.want, c.made)
			}
		})
	}
}
