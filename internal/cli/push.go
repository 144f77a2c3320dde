package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/bucket"
	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func pushCommand() *cli.Command {
	return &cli.Command{
		Name:      "push",
		Usage:     "put hooks with archiveURL into their bucket",
		UsageText: "kopshook push [-f SPEC...] [--dry-run | --dir DIR] FILE...",
		Description: `Writes the archives that the user data of the instance groups names into their buckets. What is there already stays as
it is, and nothing is ever overwritten or removed, since nodes that run and nodes of a rollback read it. Run it before
kops update cluster: a node whose archive is not there does not join.

S3, Google Cloud Storage and Azure are reached as kops reaches its state store, with the same credentials and variables.
For https, and to look at it, --dir writes the archives to a folder instead, each under its SHA-256.

Prints what machines must be allowed, so that they can read the archives, and the secrets and the files of buckets that
hooks name: for AWS as additionalPolicies of the Cluster. With --dir that goes to standard error: the list of the archives
is on standard output.
Exit code 0: all is there, 1: with --dry-run, something is not, 2: a mistake, or an error of the bucket.

Examples:
   kopshook push -f hooks.yaml cluster.yaml
   kopshook push -f examples/bucket --dir out examples/mixed/cluster.yaml`,
		Flags: append(planFlags(),
			&cli.BoolFlag{Name: "dry-run", Usage: "write nothing: only say what is not there"},
			&cli.StringFlag{Name: "dir", Aliases: []string{"d"}, Usage: "write the archives to `DIR` in place of their buckets"},
			groupFlag(), clusterFlag(),
		),
		Action: push,
	}
}

func push(c *cli.Context) error {
	if c.IsSet("dir") && c.Bool("dry-run") {
		return report.Hint("leave out one of them", "--dir and --dry-run do not go together")
	}
	out, err := planned(c, plan.Options{})
	if err != nil {
		return err
	}
	objects, err := archives(out.Groups)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		fmt.Fprintln(c.App.ErrWriter, "kopshook: nothing to push: no hooks of these instance groups have archiveURL")
		fmt.Fprint(c.App.Writer, bucket.Rights(needs(out.Groups)))
		return nil
	}
	if dir := c.String("dir"); dir != "" {
		if err := writeArchives(c, dir, objects); err != nil {
			return err
		}
		fmt.Fprint(c.App.ErrWriter, bucket.Rights(needs(out.Groups)))
		return nil
	}
	missing, err := pushAll(c, objects)
	if err != nil {
		return err
	}
	fmt.Fprint(c.App.Writer, bucket.Rights(needs(out.Groups)))
	if missing {
		return differs
	}
	return nil
}

// archives returns the archives that the groups' nodes read from buckets, each once.
func archives(groups []*plan.Group) (objects []*generator.Object, err error) {
	known := map[string]bool{}
	for _, g := range groups {
		o, err := g.Archive()
		if err != nil {
			return nil, fmt.Errorf("instance group %s: %w", g.Name, err)
		}
		if o != nil && !known[o.Address()] {
			known[o.Address()] = true
			objects = append(objects, o)
		}
	}
	slices.SortFunc(objects, func(a, b *generator.Object) int { return cmp.Compare(a.Address(), b.Address()) })
	return objects, nil
}

// needs returns what the groups' nodes read as themselves.
func needs(groups []*plan.Group) (all []bucket.Need) {
	for _, g := range groups {
		n := bucket.Need{Role: strings.ToLower(g.Role)}
		if n.Role == "controlplane" {
			n.Role = "control-plane"
		}
		if g.Object != nil {
			n.Zone = slices.Concat(g.Object.Spec.Zones, g.Object.Spec.Subnets, []string{""})[0]
		}
		for _, h := range g.Hooks {
			if h.Archive && h.ArchiveURL != "" && h.Phase != generator.Boot {
				n.Address = h.ArchiveURL + "/"
				all = append(all, n)
			}
			for _, f := range h.Files {
				for _, n.Address = range append(slices.Clip(f.URLs), f.Secret) {
					all = append(all, n)
				}
			}
		}
	}
	return all
}

// pushAll pushes, or only looks. What was pushed before an error stays: it is whole, and the next run goes on from there.
func pushAll(c *cli.Context, objects []*generator.Object) (missing bool, err error) {
	b := &bucket.Buckets{}
	for i, o := range objects {
		done := "is there"
		if c.Bool("dry-run") {
			err = b.Check(c.Context, o.URL, o.SHA256)
			if errors.Is(err, bucket.ErrMissing) {
				done, missing, err = "is not there", true, nil
			}
		} else {
			var pushed bool
			if pushed, err = b.Push(c.Context, o); pushed {
				done = "pushed"
			}
		}
		if err != nil {
			return false, err
		}
		fmt.Fprintf(c.App.ErrWriter, "kopshook: %d of %d: %s: %s, %s bytes\n", i+1, len(objects), o.Address(), done, report.Thousands(len(o.Content)))
	}
	return missing, nil
}

// writeArchives writes each object under its SHA-256.
func writeArchives(c *cli.Context, dir string, objects []*generator.Object) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fileError(dir, err)
	}
	for _, o := range objects {
		name := filepath.Join(dir, o.SHA256)
		if _, err := os.Lstat(name); err != nil {
			if err := file.Write(name, o.Content, 0o644); err != nil {
				return fileError(name, err)
			}
		} else if have, err := file.Read(name, int64(len(o.Content))); err != nil || !bytes.Equal(have, o.Content) {
			return report.Hint("remove it: nodes take the bytes of this name only", "%s: holds something else", report.OneLine(name))
		}
		fmt.Fprintf(c.App.Writer, "%s %s\n", name, o.Address())
	}
	return nil
}

// checkPushed reports what the user data of the groups, as it is planned, names and buckets do not have.
func checkPushed(c *cli.Context, groups []*plan.Group) (fine bool, err error) {
	b, known := &bucket.Buckets{}, map[string]bool{}
	fine = true
	for _, g := range groups {
		for _, p := range g.Parts {
			url, sum, ok := generator.InBucket(p.Content)
			if !ok || known[url+sum] {
				continue
			}
			known[url+sum] = true
			switch err := b.Check(c.Context, url, sum); {
			case errors.Is(err, bucket.ErrMissing):
				fmt.Fprintf(c.App.Writer, "%s: %s/%s is not there: run kopshook push\n", g.Name, url, sum)
				fine = false
			case err != nil:
				return false, err
			}
		}
	}
	return fine, nil
}
