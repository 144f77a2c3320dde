package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// What fits into a terminal can be read there: columns stay columns, and nothing is cut in a pipe.
func TestListsFitIntoTheTerminal(t *testing.T) {
	workFolder(t)
	t.Setenv("NO_COLOR", "1")
	var specs, groups strings.Builder
	specs.WriteString("apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: the-hooks-of-all-groups}\nspec:\n  selector: {}\n  hooks:\n")
	for i := range 3 {
		fmt.Fprintf(&specs, "  - {name: install-what-the-nodes-of-the-team-need-%d, timeout: 20m, script: \"#!/bin/sh\\n\"}\n", i)
	}
	for i := range 8 {
		fmt.Fprintf(&groups, "---\napiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: workers-with-a-long-name-%d}\nspec: {role: Node}\n", i)
	}
	for name, text := range map[string]string{"specs.yaml": specs.String(), "groups.yaml": groups.String()} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"list", "diff", "check", "explain"} {
		args := []string{"kopshook", command, "specs.yaml", "groups.yaml"}
		for _, width := range []uint16{60, 80, 100, 200} {
			tty, shown := newTerminal(t)
			if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: width}); err != nil {
				t.Fatal(err)
			}
			Run(context.Background(), args, strings.NewReader(""), tty, io.Discard)
			out := strings.ReplaceAll(shown(), "\r\n", "\n")
			if !strings.Contains(strings.Join(strings.Fields(out), " "), "maybe too late") {
				t.Fatalf("%s says no verdict: %s", command, out)
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > int(width) && !strings.HasPrefix(line, "  + /") { // a path on the node stays whole
					t.Errorf("%s on %d columns has a line of %d: %s", command, width, n, line)
				}
			}
			if cut := strings.Contains(out, "…"); cut && (width == 200 || command == "diff" || command == "check") {
				t.Errorf("%s on %d columns cuts names", command, width)
			}
		}
		var plain strings.Builder
		Run(context.Background(), args, strings.NewReader(""), &plain, io.Discard)
		for _, whole := range []string{"install-what-the-nodes-of-the-team-need-2", "workers-with-a-long-name-0"} {
			if strings.Contains(plain.String(), "…") || !strings.Contains(plain.String(), whole) {
				t.Errorf("in a pipe %s cuts names, or lacks %s:\n%s", command, whole, plain.String())
			}
		}
	}
}
