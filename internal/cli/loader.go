package cli

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/report"
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
		Warn:       func(msg string) { fmt.Fprintf(c.App.ErrWriter, "kopshook: warning: %s\n", report.OneLine(msg)) },
	}
	if isTerminal(c.App.ErrWriter) && os.Getenv("TERM") != "dumb" {
		l.Progress = c.App.ErrWriter
	}
	return l
}

// offlineFlags are those of commands that other programs start again and again: they fetch only when asked to.
func offlineFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "allow-path", Usage: "let sources lie below `DIR` too; may be repeated"},
		&cli.BoolFlag{Name: "fetch", Usage: "fetch remote sources that are neither vendored nor cached"},
	}
}

// newOfflineLoader is newLoader for them.
func newOfflineLoader(c *cli.Context, fetch bool) *source.Loader {
	l := newLoader(c)
	l.Offline = !fetch
	l.Online = "run it once with --fetch"
	return l
}
