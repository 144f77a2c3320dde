package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/bucket"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// openPushed reads what the manifests name in buckets, of the groups that change: the fields of hooks there are compared then. What
// is not there any more is said.
func openPushed(c *cli.Context, groups []*plan.Group) error {
	b, known := &bucket.Buckets{}, map[string][]generator.File{}
	for _, g := range groups {
		url, sum := g.InBucket()
		if !g.Changes() || !hookspec.IsArchive(url, sum) {
			continue
		}
		files, ok := known[url+sum]
		if !ok {
			o, err := b.Get(c.Context, url, sum)
			switch {
			case errors.Is(err, bucket.ErrMissing):
				fmt.Fprintf(c.App.ErrWriter, "kopshook: %s/%s is not there: what hooks were is not known\n", report.OneLine(url), sum)
			case err != nil:
				return err
			default:
				if files, err = o.Files(); err != nil {
					return err
				}
			}
			known[url+sum] = files
		}
		g.Open(files)
	}
	return nil
}
