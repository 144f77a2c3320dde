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
		Description: `Prints the JSON Schema (draft 7) of hook specs. Editors with the YAML language server take it from the first line of a
spec: a comment with yaml-language-server: $schema= and the address or the path of the schema.

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
