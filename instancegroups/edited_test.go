package instancegroups_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"
)

// A file is edited more than once, and places in it are asked for in between: the first edit frees what it takes to find them.
func TestEditedAgainAsAtFirst(t *testing.T) {
	parts := func(seed int) func(int) []kops.UserData { return func(int) []kops.UserData { return hooks(2, seed) } }
	for name, data := range map[string][]byte{"YAML": manifest(3), "JSON": manifestJSON(3), "with user data": merge(t, manifest(3), parts(1))} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, string(data))
			line, col := f.Groups()[1].Position("spec", "image")
			first, err := f.Edit()
			if err != nil {
				t.Fatal(err)
			}
			if l, c := f.Groups()[1].Position("spec", "image"); l != line || c != col || l < 1 {
				t.Errorf("the image is at %d:%d after an edit, and at %d:%d before", l, c, line, col)
			}
			if diff := cmp.Diff(string(data), string(first.Bytes())); diff != "" {
				t.Errorf("an edit that changes nothing:\n%s", diff)
			}
			for seed := range 3 {
				for _, g := range f.Groups() {
					g.SetUserData(hooks(2, seed))
				}
				got, err := f.Bytes()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(merge(t, data, parts(seed))), string(got)); diff != "" {
					t.Errorf("edit %d:\n%s", seed, diff)
				}
			}
			if diff := cmp.Diff(string(data), string(first.Bytes())); diff != "" {
				t.Errorf("the first edit is not what it was:\n%s", diff)
			}
		})
	}
}

func TestWriteToSaysWhatWasWritten(t *testing.T) {
	f := parse(t, string(manifest(100)))
	for _, g := range f.Groups() {
		g.SetUserData(hooks(5, 0))
	}
	e, err := f.Edit()
	if err != nil {
		t.Fatal(err)
	}
	want := e.Bytes()
	var all bytes.Buffer
	if n, err := e.WriteTo(&all); err != nil || n != int64(len(want)) || !bytes.Equal(all.Bytes(), want) {
		t.Errorf("WriteTo writes %d bytes of %d, says %d and %v", all.Len(), len(want), n, err)
	}
	full := errors.New("no space left")
	for _, room := range []int{0, 1, 1 << 16, len(want) - 1} {
		w := &small{room: room, err: full}
		if n, err := e.WriteTo(w); err != full || n != int64(room) || !bytes.Equal(w.Bytes(), want[:room]) {
			t.Errorf("with room for %d bytes, WriteTo writes %d, says %d and %v", room, w.Len(), n, err)
		}
	}
}

// small is a writer with room for so many bytes.
type small struct {
	bytes.Buffer
	room int
	err  error
}

func (s *small) Write(p []byte) (int, error) {
	n := min(len(p), s.room-s.Len())
	s.Buffer.Write(p[:n])
	if n < len(p) {
		return n, s.err
	}
	return n, nil
}

func (s *small) WriteString(text string) (int, error) { return s.Write([]byte(text)) }
