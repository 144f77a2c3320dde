// Package golden is for tests: it compares what is made with golden files, or writes them anew. There is one way to have
// that: make golden.
package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update says whether tests write golden files, and what else is made by tests, instead of comparing them.
func Update() bool { return os.Getenv("KOPSHOOK_UPDATE_GOLDEN") != "" }

// Check compares got with a golden file, or writes it.
func Check(t testing.TB, file string, got []byte) {
	t.Helper()
	if Update() {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run make golden", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-golden +got); run make golden if that is meant:\n%s", file, diff)
	}
}
