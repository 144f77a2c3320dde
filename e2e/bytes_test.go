//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"kopshook.dev/kopshook/internal/boot"
)

// Issue case 9: what is in a file arrives bit for bit, with owner and mode.
func TestBytesArrive(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	contents := map[string][]byte{
		"empty":        {},
		"no-newline":   []byte("no newline at the end"),
		"newlines":     []byte("\n\n\na\n\n\n"),
		"blank-start":  []byte("   leading\n  spaces\n"),
		"trailing":     []byte("trailing  \nspaces\t\n \n"),
		"tabs":         []byte("\tone\n\t\ttwo\n"),
		"crlf":         []byte("dos\r\nlines\r\n"),
		"utf8":         []byte("gr\u00fc\u00df \u2014 \U0001f600\n"),
		"shell":        []byte("$(reboot) `reboot` ${HOME} %n %i \\ \\n 'q' \"q\" $'x'\n"),
		"yaml":         []byte("a: {b: [*c, &d]}\n---\n... # x\n!!binary |\n"),
		"jinja":        []byte("## template: jinja\n{{ v1.instance_id }}\n"),
		"mime":         []byte("--MIMEBOUNDARY\n--MIMEBOUNDARY--\nContent-Type: text/plain\n"),
		"heredoc":      []byte("EOF\n__EOF_KUBE_ENV\nEND\n"),
		"control":      []byte("\x01\x02\x1b[0m\x7f\n"),
		"all-bytes":    all,
		"big":          bytes.Repeat([]byte("0123456789abcdef\n"), 120),
		"header":       []byte("#cloud-config\n#!/bin/sh\n"),
		"byte-order":   []byte("\xef\xbb\xbfmark\n"),
		"invalid-utf8": []byte("\xff\xfe\xfa\n"),
	}
	onSuites(t, func(t *testing.T, suite string) {
		var hooks strings.Builder
		hooks.WriteString("- name: plain\n  script: |\n    #!/bin/sh\n    /trial/bin/event plain\n  files:\n")
		for name, content := range contents {
			fmt.Fprintf(&hooks, "  - {path: /srv/bytes/%s, contentBase64: %q, mode: \"0640\", owner: \"daemon:www-data\"}\n", name, base64.StdEncoding.EncodeToString(content))
		}
		hooks.WriteString("- name: packed\n  compress: true\n  script: |\n    #!/bin/sh\n    /trial/bin/event packed\n  files:\n")
		for name, content := range contents {
			fmt.Fprintf(&hooks, "  - {path: /srv/packed/%s, contentBase64: %q, mode: \"4755\"}\n", name, base64.StdEncoding.EncodeToString(content))
		}
		// a file that cannot be placed: its parent is a file
		hooks.WriteString(`- name: stuck
  attempts: 1
  onFailure: continue
  script: "#!/bin/sh\n/trial/bin/event stuck"
  files:
  - {path: /etc/hostname/x, content: hi}
- name: unstuck
  weight: 1
  script: "#!/bin/sh\n/trial/bin/event unstuck"
  files:
  - {path: /srv/after, content: "it goes on\n"}
`)
		n := newNode(t, suite, userData(t, parts(t, spec("bytes", hooks.String()))...))
		r := n.boot(boot.Options{}).joins()
		r.happens("packed", "plain", "unstuck", "kubelet-start").never("stuck")
		for name, content := range contents {
			n.hasFile("/srv/bytes/"+name, content, 0o640, 1, 33)
			n.hasFile("/srv/packed/"+name, content, 0o755|fs.ModeSetuid, 0, 0)
		}
		n.hasFile("/srv/after", []byte("it goes on\n"), 0o644, 0, 0)
		n.hasStatus("stuck", "failed", "files: exit status 1")
	})
}

// hasFile expects a file of the node to be just so.
func (n *node) hasFile(path string, content []byte, mode fs.FileMode, uid, gid uint32) {
	n.t.Helper()
	got, err := n.ReadFile(path)
	if err != nil {
		n.t.Error(err)
		return
	}
	if !bytes.Equal(got, content) {
		n.t.Errorf("%s is %q, want %q", path, got, content)
	}
	info, err := n.Stat(path)
	if err != nil {
		n.t.Error(err)
		return
	}
	if info.Mode() != mode {
		n.t.Errorf("%s has mode %v, want %v", path, info.Mode(), mode)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != uid || st.Gid != gid {
		n.t.Errorf("%s belongs to %d:%d, want %d:%d", path, st.Uid, st.Gid, uid, gid)
	}
}

// Issue case 11: no text of a spec is executed but scripts.
func TestHostileSpecExecutesNothing(t *testing.T) {
	onSuites(t, func(t *testing.T, suite string) {
		n := newNode(t, suite, userData(t, parts(t, spec("hostile", `
- name: hostile
  env:
    A: "$(touch /run/pwned)"
    B: "`+"`touch /run/pwned`"+`"
    C: "%n %% %i $HOME ${HOME}"
    D: "'; touch /run/pwned; '"
    E: "\"; touch /run/pwned; \""
    F: "back\\slash \\n \\$ end\\"
    G: "#no comment"
    H: " spaces "
  files:
  - {path: "/srv/a b", content: "$(touch /run/pwned)"}
  - {path: "/srv/$(touch pwned)", content: "x"}
  - {path: "/srv/'q\"q", content: "x"}
  - {path: "/srv/%n", content: "x"}
  - {path: "/srv/-rf", content: "x"}
  script: |
    #!/bin/sh
    for name in A B C D E F G H; do
      eval "printf '%s\n' \"\$$name\""
    done > /srv/env
    [ -e /run/pwned ] || /trial/bin/event clean
`))...))
		r := n.boot(boot.Options{Scenario: "ls /run/pwned /pwned /srv/pwned /root/pwned 2>/dev/null"}).joins().fails().happens("clean", "kubelet-start")
		if r.Scenario != "" {
			t.Errorf("it executed something: %s", r.Scenario)
		}
		want := "$(touch /run/pwned)\n`touch /run/pwned`\n%n %% %i $HOME ${HOME}\n'; touch /run/pwned; '\n\"; touch /run/pwned; \"\n" +
			"back\\slash \\n \\$ end\\\n#no comment\n spaces \n"
		n.hasFile("/srv/env", []byte(want), 0o644, 0, 0)
		n.hasFile("/srv/a b", []byte("$(touch /run/pwned)"), 0o644, 0, 0)
		for _, path := range []string{"/srv/$(touch pwned)", "/srv/'q\"q", "/srv/%n", "/srv/-rf"} {
			n.hasFile(path, []byte("x"), 0o644, 0, 0)
		}
	})
}
