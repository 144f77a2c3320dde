package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/plan"
)

// groupFlag and clusterFlag choose instance groups.
func groupFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "group", Aliases: []string{"g"},
		Usage: "only the instance group whose `NAME`, or CLUSTER/NAME, matches this glob; may be repeated"}
}

func clusterFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "cluster", Usage: "only instance groups of the cluster whose `NAME` matches this glob; may be repeated"}
}

// labels names groups.
func labels(groups []*plan.Group) []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.Label())
	}
	return names
}

// chooseOne is what to do where there are several instance groups, by their labels, and a command takes one.
func chooseOne(labels []string) string {
	if slices.ContainsFunc(labels, func(l string) bool { return strings.Contains(l, "/") }) {
		return "choose one with --group CLUSTER/NAME, or with --cluster too"
	}
	return "choose one with --group NAME"
}
