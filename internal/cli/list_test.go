package cli

import (
	"bytes"
	"strings"
	"testing"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/plan"
)

// TestMatrixIsOneLineForEachHook: no name moves the cursor, or begins a line that a pipeline takes for a command.
func TestMatrixIsOneLineForEachHook(t *testing.T) {
	evil := "a\n::error::b\tc\x1b[31m\u202e"
	groups := []*plan.Group{{Group: &instancegroups.Group{Name: evil}}}
	rows := []*listRow{{Hook: evil, Phase: "boot", Spec: evil, Groups: []listPlace{{Name: evil, Place: 1}}}}
	var b bytes.Buffer
	if err := printMatrix(&b, groups, rows, 0); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 2 || strings.ContainsAny(b.String(), "\t\x1b\u202e") {
		t.Errorf("%d lines: %q", n, b.String())
	}
}
