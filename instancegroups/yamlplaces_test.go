package instancegroups

import "testing"

// Where the text does not hold what the scalar says, the end that was found is not believed: a comment could be lost.
func TestTheEndOfABlockScalarIsComparedWithItsValue(t *testing.T) {
	src := []byte("a:\n  b: |\n    one\n    two\n  # a comment\n  c: d\n")
	d, err := parseYAML(elided{text: src})
	if err != nil {
		t.Fatal(err)
	}
	scalar := d.root().Content[1].Content[1]
	if end, ok := d.blockScalarEnd(scalar, 2); end != 4 || !ok {
		t.Errorf("it ends at %d, %t", end, ok)
	}
	for _, value := range []string{"one\n", "one\ntwo\n# a comment\n", "one two three\n", ""} {
		scalar.Value = value
		if end, ok := d.blockScalarEnd(scalar, 2); ok {
			t.Errorf("with %q it ends at %d", value, end)
		}
	}
}
