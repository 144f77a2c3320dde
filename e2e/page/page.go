// Package page takes commands out of the pages of docs, for boots: what people read is what is tried.
package page

import (
	"os"
	"strings"
	"testing"
)

// Commands returns the "sh node" blocks of a page by the heading that they stand under.
func Commands(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	commands, heading, inside := map[string]string{}, "", false
	for line := range strings.Lines(string(text)) {
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
