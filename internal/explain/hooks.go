package explain

import (
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// Hook is a hook as its unit tells it.
type Hook = waits.Hook

// tries says how often a hook is tried, and how long: "up to 3 × 20m", and whether an image may have done it.
func tries(h *Hook) string {
	text := "up to " + report.Duration(h.Timeout)
	if h.Attempts > 1 {
		text = fmt.Sprintf("up to %d × %s", h.Attempts, report.Duration(h.Timeout))
	}
	if h.PerImage {
		text += ", once per image"
	}
	return text
}

// alsoWait names the further units that wait for a hook, "" when there are none.
func alsoWait(h *Hook) string {
	switch len(h.Before) {
	case 0:
		return ""
	case 1:
		return h.Before[0] + " waits for it too"
	}
	return strings.Join(h.Before, ", ") + " wait for it too"
}

// bootHook finds the name of a boot hook in the command that runs it, or "".
func bootHook(command string) string {
	_, rest, ok := strings.Cut(command, "KOPSHOOK_HOOK=")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "'")
	name, _, _ = strings.Cut(name, " ")
	return name
}
