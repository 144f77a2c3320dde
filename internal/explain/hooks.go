package explain

import (
	"fmt"
	"strings"
	"time"

	"kopshook.dev/kopshook/internal/waits"
)

// Hook is a hook as its unit tells it.
type Hook = waits.Hook

// tries says how often a hook is tried, and how long: "3 x 20m".
func tries(h *Hook) string {
	if h.Attempts <= 1 {
		return "up to " + short(h.Timeout)
	}
	return fmt.Sprintf("up to %d × %s", h.Attempts, short(h.Timeout))
}

// short prints a duration without its zeros.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
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
