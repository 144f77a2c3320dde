package cli

import (
	"bytes"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func editCommand() *cli.Command {
	return &cli.Command{
		Name:      "edit",
		Usage:     "merge hooks into the file of `kops edit ig`",
		UsageText: "EDITOR='kopshook edit -f SPEC' kops edit ig NAME",
		Description: `Is the editor of kops: kops starts it with a temporary file, which it merges the hooks into, in place.

kops drops every line that begins with # when it opens a file again after a rejected save, also inside scripts. Our
parts are made anew each time. When a part of your own has lost its first line, edit says so and refuses.

Example:
   EDITOR='kopshook edit -f examples/gpu/hooks.yaml' kops edit ig gpu-a`,
		Flags: planFlags(),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return report.Hint("kops gives it: set EDITOR='kopshook edit -f SPEC' and run kops edit ig NAME", "edit takes one file, not %d", c.NArg())
			}
			if name := c.Args().First(); name == "-" {
				return report.Hint("use kopshook merge", "edit works on a file in place, not on standard input")
			}
			in, groups, err := plannedChange(c)
			if err != nil {
				return err
			}
			for _, g := range groups {
				in.refuseBeheaded(g)
			}
			if err := in.finish(); err != nil {
				return err
			}
			merged, err := in.merged(groups)
			if err != nil {
				return err
			}
			if bytes.Equal(merged[0].data, in.sources[merged[0].name]) {
				return nil
			}
			return in.write(c.Context, merged)
		},
	}
}

// refuseBeheaded finds parts of the user's own without the first line that says what they are: after a rejected save,
// kops opens the file again without any line that begins with #, and stores it so with the next one
// (kops cmd/kops/edit_cluster.go:332, stripComments).
func (in *inputs) refuseBeheaded(g *plan.Group) {
	for _, p := range g.UserData() {
		if strings.HasPrefix(p.Name, instancegroups.Prefix) {
			continue
		}
		if want := missingHeader(p); want != "" {
			in.report.Errorf(report.Position{File: g.Manifest.Name, Line: g.Line}, "", "leave the editor without saving and edit again, or put "+want+" back as its first line",
				"instance group %q: part %q has lost its first line: kops drops all lines that begin with # after a rejected save", g.Name, p.Name)
		}
	}
}

// missingHeader returns the first line that a part of its type begins with, when it does not.
func missingHeader(p kops.UserData) string {
	heads := map[string][]string{
		"text/x-shellscript":        {"#!", "#cloud-config", "## template"},
		"text/cloud-config":         {"#cloud-config", "## template"},
		"text/cloud-boothook":       {"#cloud-boothook", "#!"},
		"text/cloud-config-archive": {"#cloud-config-archive"},
		"text/part-handler":         {"#part-handler"},
		"text/x-include-url":        {"#include"},
		"text/x-include-once-url":   {"#include"},
	}[p.Type]
	first := strings.TrimLeft(p.Content, " \t\r\n")
	for _, h := range heads {
		if strings.HasPrefix(first, h) {
			return ""
		}
	}
	if len(heads) == 0 {
		return ""
	}
	return heads[0]
}
