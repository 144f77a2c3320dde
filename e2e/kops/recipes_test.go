//go:build e2e

package kops

import (
	"context"
	"os"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/nodestatus"
)

// recipe is a spec of examples/recipes.
func recipe(name string) string {
	text, err := os.ReadFile("../../examples/recipes/" + name + ".yaml")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// readsMirrors is what docs/recipes/registry-mirror.md says of the instance group.
func readsMirrors(manifest string) string {
	return strings.Replace(manifest, "\nspec:\n", `
spec:
  containerd:
    configAdditions:
      plugins."io.containerd.cri.v1.images".registry.config_path: /etc/containerd/certs.d
`, 1)
}

var (
	mirrorGroup     = group("mirror", readsMirrors, spec(network), recipe("registry-mirror"))
	mirrorLostGroup = group("mirror-lost", nil, spec(network), recipe("registry-mirror"))
)

// TestRegistryMirror: the recipe looks at the configuration that nodeup wrote for containerd.
func TestRegistryMirror(t *testing.T) {
	for _, c := range []struct {
		name, group string
		state       nodestatus.State
	}{
		{"with the line of its page", mirrorGroup, nodestatus.Succeeded},
		{"without it", mirrorLostGroup, nodestatus.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, c.group, suites[0].Name)
			// as on a machine: in a container the recipe does not insist
			if err := n.WriteFile(boot.File{Path: "/usr/local/bin/systemd-detect-virt", Content: []byte("#!/bin/sh\nexit 1\n"), Mode: 0o755}); err != nil {
				t.Fatal(err)
			}
			n.boot(boot.Options{End: boot.Cut, Until: func(ctx context.Context) {
				if n.ready(ctx) == nil {
					t.Error("the node was not Ready in time")
				}
			}})
			if got := n.state("registry-mirror-read"); got != c.state {
				t.Errorf("registry-mirror-read is %s, want %s", got, c.state)
			}
			if got := n.state("registry-mirror"); got != nodestatus.Failed {
				t.Errorf("registry-mirror is %s, though there is no mirror", got)
			}
		})
	}
}
