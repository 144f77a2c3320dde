package adopt_test

import (
	"testing"

	"kopshook.dev/kopshook/internal/cloudinit"
)

// TestWhatKeepsHooksAwayIsNamed: not what else is lost in the parts that stay.
func TestWhatKeepsHooksAwayIsNamed(t *testing.T) {
	out := adoptParts(t, "Node", []cloudinit.Part{
		script("00.sh", "#!/bin/sh\necho hi\n"),
		config("01.yaml", "write_files:\n- {path: /etc/own, owner: 'app:app', content: x}\n- {path: /etc/src, source: {uri: 'https://x/y'}}\n"),
		{Name: "03.include", Type: "text/x-include-url", Content: "https://example.com/foo\n"},
	})
	want := `hooks would not arrive next to what stays: in 01.yaml, /etc/own is lost: its owner "app" is no user that exists by then, and an entry that fails stops write_files; fix that first`
	if got := out.Kept[0]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
