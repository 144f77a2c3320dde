package cli

import (
	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/schema"
)

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name:      "schema",
		Usage:     "print the JSON Schema of hook specs, for editors",
		UsageText: "kopshook schema",
		Description: `Prints the JSON Schema (draft 7) of hook specs. Keep it as hooks.schema.json in the folder of the specs: then kopshook new
and kopshook adopt write a first line that names it. Editors with the YAML language server read this line; write it into
your other specs too: # yaml-language-server: $schema=hooks.schema.json

A schema cannot say all that kopshook checks: kopshook lint has the last word.

Example:
   kopshook schema > hooks.schema.json`,
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return report.Hint("to check specs, use kopshook lint", "schema takes no files")
			}
			out, err := schema.Print()
			if err != nil {
				return err
			}
			_, err = c.App.Writer.Write(out)
			return err
		},
	}
}
