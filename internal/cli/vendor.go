package cli

import (
	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/report"
)

func vendorCommand() *cli.Command {
	return &cli.Command{
		Name:      "vendor",
		Usage:     "copy remote sources beside the specs",
		UsageText: "kopshook vendor -f SPEC... DIR",
		Description: `Copies what the lock files pin into DIR, as plain files that people can review, and notes DIR in the lock files: from
then on all commands read the copies, and need neither network nor cache. The copies are verified each time, also by
"sha256sum -c SHA256SUMS". What is no longer locked is removed from DIR. Several
folders of specs may share it: the file LOCKFILES in DIR lists their lock files, and what these pin stays.

Examples:
   kopshook vendor -f examples/gpu vendor`,
		Flags: append([]cli.Flag{specFlag()}, sourceFlags()...),
		Action: func(c *cli.Context) error {
			if c.Args().Len() != 1 {
				return report.Hint("name one folder, and specs with -f", "vendor takes one folder, got %d arguments", c.Args().Len())
			}
			in, err := readSpecs(c, nil)
			if err != nil {
				return err
			}
			sources := in.namedSources()
			changes, err := newLoader(c).Vendor(c.Context, refs(sources), c.Args().First())
			if c.Context.Err() != nil {
				return c.Context.Err()
			}
			if err := in.addSourceErrors(sources, err); err != nil {
				return err
			}
			return writeLocks(c, changes)
		},
	}
}
