package instancegroups_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/golden"
)

// standardParts are what the table tests merge: one part that kops prints as a block scalar, one that it cannot.
var standardParts = []kops.UserData{
	{Name: "kopshook-000-gate.sh", Type: "text/cloud-boothook", Content: "#!/bin/sh\necho gate\n"},
	{Name: "kopshook-500-gpu.yaml", Type: "text/cloud-config", Content: "#cloud-config\nruncmd:\n- echo \"a\tb\"\n"},
}

// TestMerge runs testdata/merge: "in" becomes "out"; taking the parts out again gives "removed", or "in" when it is not
// there; "warnings" is what Parse has to say.
func TestMerge(t *testing.T) {
	eachArchive(t, "testdata/merge", func(t *testing.T, a *archive) {
		in := a.get("in")
		f, err := instancegroups.Parse("ig.yaml", in)
		if err != nil {
			t.Fatal(err)
		}
		a.check(t, "warnings", []byte(lines(f.Warnings())))
		out := mustSet(t, in, standardParts)
		a.check(t, "out", out)
		removed := mustSet(t, out, nil)
		if !bytes.Equal(removed, in) || a.get("removed") != nil {
			a.check(t, "removed", removed)
		}
		checkMerge(t, in, out, standardParts)
	})
}

// TestRefused runs testdata/refused: "in" gives the errors in "errors" and the warnings in "warnings".
func TestRefused(t *testing.T) {
	eachArchive(t, "testdata/refused", func(t *testing.T, a *archive) {
		out, err := set(a.get("in"), standardParts)
		if err == nil {
			t.Fatalf("no error, but:\n%s", out)
		}
		checkErrors(t, err)
		a.check(t, "errors", []byte(err.Error()+"\n"))
	})
}

func lines(errs []*instancegroups.Error) string {
	var b strings.Builder
	for _, err := range errs {
		b.WriteString(err.Error() + "\n")
	}
	return b.String()
}

type archive struct {
	*txtar.Archive
	path    string
	changed bool
}

func eachArchive(t *testing.T, dir string, test func(t *testing.T, a *archive)) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("nothing in %s: %v", dir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			parsed, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			a := &archive{Archive: parsed, path: path}
			test(t, a)
			if a.changed {
				if err := os.WriteFile(path, txtar.Format(a.Archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func (a *archive) get(name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// check compares a result with a file of the archive. An empty result has no file.
func (a *archive) check(t *testing.T, name string, got []byte) {
	t.Helper()
	want := a.get(name)
	if bytes.Equal(got, want) {
		return
	}
	if !golden.Update() {
		t.Errorf("%s of %s (-want +got):\n%s", name, a.path, cmp.Diff(string(want), string(got)))
		return
	}
	a.changed = true
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = got
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: got})
}
