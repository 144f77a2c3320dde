//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/cli"
	"kopshook.dev/kopshook/internal/fakecloud"
	"kopshook.dev/kopshook/internal/signaltest"
)

// unbuilt says of suites at the end of the range why they cannot be built here.
var unbuilt sync.Map

// TestMain looks for what is missing and builds all root file systems at once, before any test waits for one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "try-cloud" {
		fmt.Fprintln(os.Stderr, "cloud:", fakecloud.Play(os.Args[2]))
		os.Exit(1)
	}
	if len(os.Args) > 2 && os.Args[1] == "kopshook" {
		os.Exit(cli.Main(os.Args[1:]))
	}
	signaltest.Attend()
	var building sync.WaitGroup
	var failed sync.Once
	bad := false
	for _, s := range boot.Suites {
		missing := boot.Requirements(s)
		if s.Missing() != "" && s.Name == "noble" {
			fmt.Fprintf(os.Stderr, "e2e: no tests on %s: %s\n", s.Title, s.Missing())
			continue
		}
		for _, text := range missing {
			fmt.Fprintf(os.Stderr, "e2e: missing here: %s\n", text)
			bad = true
		}
		if len(missing) > 0 {
			continue
		}
		building.Go(func() {
			_, err := boot.RootFS(context.Background(), s, nil, os.Stderr)
			switch {
			case err == nil:
			case s.EndOfRange:
				unbuilt.Store(s.Name, fmt.Sprintf("%s is not in the archive as it should be: %v", s.Title, err))
				fmt.Fprintf(os.Stderr, "e2e: NO TESTS ON %s: its archive cannot be used here: %v\n", strings.ToUpper(s.Title), err)
			default:
				fmt.Fprintln(os.Stderr, "e2e:", err)
				failed.Do(func() { bad = true })
			}
		})
	}
	building.Wait()
	if bad {
		os.Exit(1)
	}
	os.Exit(m.Run())
}
