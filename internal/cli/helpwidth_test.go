package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHelpFitsTerminals: the help of all commands is at most 80 columns wide, and names each option; that of kopshook names
// each command once.
func TestHelpFitsTerminals(t *testing.T) {
	help := func(args ...string) string {
		var out bytes.Buffer
		if err := newApp(strings.NewReader(""), &out, io.Discard).RunContext(context.Background(), append([]string{"kopshook"}, args...)); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("kopshook %s: %d columns: %s", strings.Join(args, " "), n, line)
			}
		}
		return out.String()
	}
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	all := help("--help")
	for _, c := range app.Commands {
		if c.Hidden {
			continue
		}
		if n := strings.Count(all, "\n   "+c.Name); n != 1 {
			t.Errorf("kopshook --help names %s %d times", c.Name, n)
		}
		if c.SkipFlagParsing {
			continue
		}
		text := help(c.Name, "--help")
		for _, f := range c.Flags {
			if o := describeOption(f); !strings.Contains(text, "   "+o.syntax()) {
				t.Errorf("kopshook %s --help lacks %s", c.Name, o.syntax())
			}
		}
	}
}
