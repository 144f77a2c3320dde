package cli

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/console"
	"kopshook.dev/kopshook/internal/nodestatus"
	"kopshook.dev/kopshook/internal/report"
)

// bootJSON is a boot in `status --console -o json`.
type bootJSON struct {
	Hooks    []nodestatus.Status `json:"hooks"`
	Messages []string            `json:"messages,omitempty"`
}

func statusOfConsole(c *cli.Context) error {
	name := c.String("console")
	text, err := readInput(c.Context, name, c.App.Reader)
	if err != nil {
		return err
	}
	found := console.Parse(text)
	if c.String("output") == "json" {
		out := struct {
			Boots []bootJSON `json:"boots"`
			Cut   int        `json:"cut,omitempty"`
		}{[]bootJSON{}, found.Cut}
		for _, b := range found.Boots {
			hooks := b.Hooks
			if hooks == nil {
				hooks = []nodestatus.Status{}
			}
			out.Boots = append(out.Boots, bootJSON{hooks, b.Messages})
		}
		err = printJSON(c.App.Writer, out)
	} else {
		err = printConsole(c.App.Writer, found)
	}
	if err != nil {
		return err
	}
	if found.Cut > 0 {
		fmt.Fprintf(c.App.ErrWriter, "kopshook: warning: %s not read: cut, or of a newer runtime\n", countedLines(found.Cut))
	}
	last := found.Last()
	if _, err := nodestatus.Parse(text); last == nil && err == nil {
		return report.Hint("leave out --console", "%s: is a status file, not a console", name)
	}
	if last == nil {
		return report.Hint("the console may end before hooks began, or have lost its beginning: clouds keep the last 64 KiB",
			"%s: says nothing of hooks", name)
	}
	if failed, _ := last.Failed(); len(failed)+len(last.Messages) > 0 {
		return differs
	}
	return nil
}

func printConsole(w io.Writer, found *console.Console) error {
	for i, b := range found.Boots {
		if len(found.Boots) > 1 {
			if _, err := fmt.Fprintf(w, "boot %d of %d:\n", i+1, len(found.Boots)); err != nil {
				return err
			}
		}
		for _, m := range b.Messages {
			if _, err := fmt.Fprintln(w, printable(m)); err != nil {
				return err
			}
		}
		if len(b.Hooks) == 0 {
			continue
		}
		if err := printStatuses(w, b.Hooks); err != nil {
			return err
		}
	}
	return nil
}

func countedLines(n int) string {
	if n == 1 {
		return "1 line of a hook was"
	}
	return fmt.Sprintf("%d lines of hooks were", n)
}
