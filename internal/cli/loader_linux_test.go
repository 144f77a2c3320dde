package cli

import (
	"bytes"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/urfave/cli/v2"
)

// Logs of CI hold no bars, nor do files that errors are sent to.
func TestProgressIsShownOnTerminalsOnly(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	_, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, c := range map[string]struct {
		stderr io.Writer
		term   string
		shown  bool
	}{
		"a terminal":                  {terminal, "xterm", true},
		"a terminal, TERM not set":    {terminal, "", true},
		"a terminal that is dumb":     {terminal, "dumb", false},
		"a terminal behind a checker": {&checkedWriter{w: terminal}, "xterm", true},
		"a pipe":                      {pipe, "xterm", false},
		"a pipe behind a checker":     {&checkedWriter{w: pipe}, "xterm", false},
		"a file":                      {null, "xterm", false},
		"a buffer":                    {&bytes.Buffer{}, "xterm", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TERM", c.term)
			app := cli.NewApp()
			app.ErrWriter = c.stderr
			ctx := cli.NewContext(app, flag.NewFlagSet("", flag.ContinueOnError), nil)
			if l := newLoader(ctx); (l.Progress != nil) != c.shown {
				t.Errorf("progress is shown: %t, want %t", l.Progress != nil, c.shown)
			}
		})
	}
}
