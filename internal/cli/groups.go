package cli

import "github.com/urfave/cli/v2"

// groupFlag and clusterFlag choose instance groups.
func groupFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "group", Aliases: []string{"g"},
		Usage: "only the instance group whose `NAME`, or CLUSTER/NAME, matches this glob; may be repeated"}
}

func clusterFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "cluster", Usage: "only instance groups of the cluster whose `NAME` matches this glob; may be repeated"}
}
