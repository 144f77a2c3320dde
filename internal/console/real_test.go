package console

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// real are consoles as nodes wrote them, byte by byte: testdata/SUITE.txt of two boots in a container, SUITE-vm.txt of one
// boot of a virtual machine whose kernel wrote to the same serial port. `make e2e` and `make e2e-vm` write them anew with
// KOPSHOOK_UPDATE_GOLDEN=1 (e2e/console_test.go).
func real(t *testing.T) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d consoles, %v", len(names), err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".txt")] = text
	}
	return all
}

// brief is what a console says, without times.
func brief(c *Console) (list []string) {
	for i, b := range c.Boots {
		for _, s := range b.Hooks {
			list = append(list, fmt.Sprintf("%d %s %s %d %s", i+1, s.Hook, s.State, s.Attempts, s.Reason))
		}
		list = append(list, b.Messages...)
	}
	if c.Cut > 0 {
		list = append(list, fmt.Sprintf("%d cut", c.Cut))
	}
	return list
}

// said is what the boots of these consoles wrote.
func said(name string) []string {
	const failed = "license failed 2 script: exit status 7"
	if strings.HasSuffix(name, "-vm") {
		return []string{"1 noise succeeded 1 ", "1 " + failed}
	}
	return []string{"1 root-ca succeeded 1 ", "1 " + failed, "2 " + failed}
}

var kernelNoise = []byte("[   12.345678] usb 1-1: device descriptor read/64, error -71\r\n")

// TestRealConsoles: of what a cloud makes of a console, nothing changes what it says.
func TestRealConsoles(t *testing.T) {
	for name, text := range real(t) {
		lines := bytes.SplitAfter(text, []byte("\n"))
		for how, changed := range map[string][]byte{
			"as it is":             text,
			"line feeds":           bytes.ReplaceAll(text, []byte("\r"), nil),
			"CRLF, once more":      bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")),
			"a ring buffer":        append(bytes.Repeat([]byte("noise of an older boot\r\n"), 3000), text...),
			"kernel between lines": bytes.Join(lines, kernelNoise),
			"nothing but text":     regexp.MustCompile("\x1b(?:\\[[0-9;:?!]*[A-Za-z]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|.)").ReplaceAll(text, nil),
		} {
			if diff := cmp.Diff(said(name), brief(Parse(changed))); diff != "" {
				t.Errorf("%s, %s (-want +got)\n%s", name, how, diff)
			}
		}
	}
}

// TestRealConsolesWithoutTheirBeginning: a cloud keeps the last bytes, so a console may begin anywhere. While the line of the
// failure is there, it is told, and nothing wrong is.
func TestRealConsolesWithoutTheirBeginning(t *testing.T) {
	for name, text := range real(t) {
		want := said(name)
		last := want[len(want)-1][2:]
		line := bytes.LastIndex(text, []byte(Mark+"{"))
		for from := 0; from < len(text); from += 1999 {
			got := brief(Parse(text[from:]))
			switch {
			case from <= line && (len(got) == 0 || got[len(got)-1][2:] != last):
				t.Fatalf("%s from byte %d of %d: %q, want %q at the end", name, from, len(text), got, last)
			case from > line && got != nil:
				t.Fatalf("%s from byte %d, behind all lines of ours: %q", name, from, got)
			}
		}
	}
}

// TestRealConsolesWithoutTheirEnd: the console of a machine that still writes ends anywhere. What is told of a hook is one of
// the states that it had.
func TestRealConsolesWithoutTheirEnd(t *testing.T) {
	for name, text := range real(t) {
		states := map[string]bool{}
		for _, m := range regexp.MustCompile(`kopshook: \{"hook":"([a-z-]+)".*?"state":"([a-z]+)"`).FindAllSubmatch(text, -1) {
			states[string(m[1])+" "+string(m[2])] = true
		}
		text = text[bytes.Index(text, []byte(Mark+"{")):]
		for to := 0; to < len(text); to += 797 {
			c := Parse(text[:to])
			for _, b := range c.Boots {
				for _, s := range b.Hooks {
					if !states[s.Hook+" "+string(s.State)] || !strings.HasPrefix("script: exit status 7", s.Reason) {
						t.Fatalf("%s up to byte %d: %+v", name, to, s)
					}
				}
			}
		}
	}
}

// TestRealConsolesTorn: a serial port sends 16 bytes at a time, and the kernel writes between them, wherever that is.
func TestRealConsolesTorn(t *testing.T) {
	for name, text := range real(t) {
		want := said(name)
		text = text[max(0, bytes.LastIndex(text, []byte(Mark+"{"))-1000):] // quicker
		at := bytes.LastIndex(text, []byte(Mark+"{"))
		end := at + bytes.IndexByte(text[at:], '\r')
		for first := 0; first < end-at-len(Mark)-1; first += 13 {
			var torn bytes.Buffer
			torn.Write(text[:at])
			rest := text[at:end]
			for cut := len(Mark) + 1 + first; cut < len(rest); cut = 16 {
				torn.Write(rest[:cut])
				torn.Write(kernelNoise)
				rest = rest[cut:]
			}
			torn.Write(rest)
			torn.Write(text[end:])
			if got := brief(Parse(torn.Bytes())); len(got) == 0 || got[len(got)-1][2:] != want[len(want)-1][2:] {
				t.Fatalf("%s, first torn after %d bytes: %q, want %q at the end", name, first, got, want)
			}
		}
	}
}
