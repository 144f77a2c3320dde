package cli

import (
	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func editCommand() *cli.Command {
	return &cli.Command{
		Name:      "edit",
		Usage:     "merge hooks into the file of `kops edit ig`",
		UsageText: "EDITOR='kopshook edit -f SPEC' kops edit ig NAME",
		Description: `Acts as the editor of kops edit ig: kops starts it with a temporary file, and it merges the hooks into this file.

kops drops every line that begins with # when it opens a file again after a rejected save, also inside scripts. Our
parts are made anew each time. When a part of your own has lost its first line, edit says so and refuses.

Example:
   EDITOR='kopshook edit -f examples/gpu/hooks.yaml' kops edit ig gpu-a`,
		Flags: append(planFlags(), pruneFlag()),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return report.Hint("kops gives it: set EDITOR='kopshook edit -f SPEC' and run kops edit ig NAME", "edit takes one file, not %d", c.NArg())
			}
			if name := c.Args().First(); name == "-" {
				return report.Hint("use kopshook merge", "edit works on a file in place, not on standard input")
			}
			out, err := changed(c, plan.Options{Write: true, OneGroup: true}, report.Error, plan.FirstLines)
			if err != nil {
				return err
			}
			return writeMerged(c, out)
		},
	}
}
