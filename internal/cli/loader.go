package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/source"
)

// sourceFlags are the options of all commands that read sources.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "allow-path", Usage: "let sources lie below `DIR` too; may be repeated"},
		&cli.BoolFlag{Name: "offline", Usage: "fetch nothing: use what is cached or vendored"},
	}
}

func newLoader(c *cli.Context) *source.Loader {
	l := &source.Loader{
		AllowPaths: c.StringSlice("allow-path"),
		Offline:    c.Bool("offline"),
		Warn:       func(msg string) { fmt.Fprintf(c.App.ErrWriter, "kopshook: warning: %s\n", msg) },
	}
	if isTerminal(c.App.ErrWriter) {
		l.Progress = c.App.ErrWriter
	}
	return l
}
