//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
)

// nodeCommands returns the "sh node" blocks of a page by the heading that they stand under.
func nodeCommands(t *testing.T, name string) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	commands, heading, inside := map[string]string{}, "", false
	for line := range strings.Lines(string(page)) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = strings.TrimSpace(line) == "```sh node"
		case inside:
			commands[heading] += line
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	return commands
}

const license = `
- name: license
  attempts: 2
  retryDelay: 1s
  script: |
    #!/bin/sh
    /trial/bin/event license
    echo "looking for a license"
    [ -e /etc/license ] || { echo "there is no license in /etc/license" >&2; exit 7; }
- name: driver
  weight: 10
  script: |
    #!/bin/sh
    /trial/bin/event driver
`

// untilJoined waits in a scenario until the kubelet is up.
const untilJoined = `
for i in $(seq 300); do systemctl is-active --quiet kubelet && break; sleep 0.1; done
systemctl is-active kubelet > /dev/null && /trial/bin/event joined
`

// docs/troubleshooting.md: what it says to look at is there, and what it says to do does it.
func TestTroubleshooting(t *testing.T) {
	commands := nodeCommands(t, "troubleshooting.md")
	command := func(heading string) string {
		if commands[heading] == "" {
			t.Fatalf("docs/troubleshooting.md has no commands under %q", heading)
		}
		return commands[heading]
	}
	look := ""
	for _, heading := range []string{"2. The hooks", "3. Why it failed", "4. What waits", "5. cloud-init", "6. nodeup"} {
		look += "echo '== " + heading + "'\n" + command(heading)
	}
	again := command("Run one hook again")
	onSuites(t, func(t *testing.T, suite string) {
		data := userData(t, parts(t, spec("license", license))...)

		n := newNode(t, suite, data)
		r := n.boot(boot.Options{Scenario: look + "touch /etc/license\n" + command("Retry") + untilJoined + again})
		r.happens("license", "license", "settled", "license", "driver", "nodeup-start", "kubelet-start", "joined", "license")
		for _, text := range []string{
			"kopshook-license.service", "there is no license in /etc/license", `"state":"failed"`, "Assertion failed",
			"AssertPathExists=/run/kopshook/ok/license",
		} {
			r.contains("output of the commands", r.Scenario, text)
		}
		r.contains("console", r.Console, "there is no license in /etc/license")

		skipped := newNode(t, suite, data)
		skipped.boot(boot.Options{Scenario: command("Skip a hook and let the node join") + untilJoined}).
			happens("license", "license", "settled", "driver", "nodeup-start", "kubelet-start", "joined")
		skipped.hasStatus("license", "skipped", "")
		skipped.boot(boot.Options{}).joins().fails().never("license", "driver")

		released := newNode(t, suite, data)
		released.boot(boot.Options{Scenario: command("Release a node without its hooks") + untilJoined}).
			happens("license", "license", "settled", "nodeup-start", "kubelet-start", "joined").never("driver")
	})
}
