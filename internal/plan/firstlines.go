package plan

import (
	"strings"

	"kopshook.dev/kopshook/generator"
)

// FirstLines finds parts of the user's own without the first line that says what they are: after a rejected save,
// kops opens the file again without any line that begins with #, and stores it so with the next one
// (kops cmd/kops/edit_cluster.go:332, stripComments).
func FirstLines(out *Output) {
	for _, g := range out.Groups {
		for _, p := range g.Own() {
			if want := missingHeader(p); want != "" {
				out.Report.Errorf(g.position(), "", "leave the editor without saving and edit again, or put "+want+" back as its first line",
					"instance group %q: part %q has lost its first line: kops drops all lines that begin with # after a rejected save", g.Name, p.Name)
			}
		}
	}
}

// missingHeader returns the first line that a part of its type begins with, when it does not.
func missingHeader(p generator.UserData) string {
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
