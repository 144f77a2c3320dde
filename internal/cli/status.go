package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/console"
	"kopshook.dev/kopshook/internal/nodestatus"
	"kopshook.dev/kopshook/internal/report"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "say what the hooks of nodes did, and why machines did not become nodes",
		UsageText: `kopshook status [-o text|json] [FILE|FOLDER...]
kopshook status --console FILE|-
kopshook status --cluster NAME [--watch]`,
		Description: `Without options, prints the status files of a node's hooks, in the order in which they ran. The files are copied from a
node, or read on it: without arguments they are those in ` + nodestatus.Dir + `.

--console reads the text of a machine's console instead, from anywhere: a node that never joined has no other way to
say why. --cluster asks the cloud for the machines of a kops cluster, takes away those that are nodes, and reads the
consoles of the others: which hook failed or still runs, on which attempt, why, and for how long. It asks AWS, Google
Cloud and OpenStack; of other clouds, copy the console to a file.

Exits 1 when a hook has failed.

Examples:
   kopshook status examples/status
   kopshook status -o json examples/status/agent.json
   kopshook status --console examples/status/console.txt`,
		Flags: []cli.Flag{formatFlag("text", "json"),
			&cli.StringFlag{Name: "console", Usage: "read the text of a console from `FILE`; - is standard input"},
			&cli.StringFlag{Name: "cluster", Usage: "ask the cloud for the machines of the cluster `NAME`"},
			&cli.StringFlag{Name: "state", EnvVars: []string{"KOPS_STATE_STORE"}, Usage: "with --cluster: kops' state store, `STORE`"},
			&cli.StringFlag{Name: "group", Aliases: []string{"g"}, Usage: "with --cluster: only machines of the instance group `NAME`"},
			&cli.BoolFlag{Name: "all", Usage: "with --cluster: list the machines that are nodes as well"},
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "with --cluster: go on until all machines that run are nodes"},
		},
		Action: statusAction,
	}
}

func statusAction(c *cli.Context) error {
	if f := c.String("output"); f != "text" && f != "json" {
		return unknownFormat(c)
	}
	of := "its arguments"
	for _, option := range []string{"console", "cluster"} {
		switch {
		case !c.IsSet(option):
		case of != "its arguments":
			return report.Hint("use one of the two", "--console and --cluster exclude each other")
		case c.Args().Present():
			return report.Hint("leave one of the two out", "--%s does not go with files: %s", option, c.Args().First())
		default:
			of = option
		}
	}
	for _, option := range []string{"group", "all", "watch"} {
		if c.IsSet(option) && of != "cluster" {
			return report.Hint("add --cluster NAME", "--%s is for --cluster only", option)
		}
	}
	if c.Bool("watch") && c.String("output") == "json" {
		return report.Hint("call it again and again without --watch", "--watch does not print JSON")
	}
	switch of {
	case "console":
		return statusOfConsole(c)
	case "cluster":
		return statusOfCluster(c)
	}
	return statusOfFiles(c)
}

func statusOfFiles(c *cli.Context) error {
	files, err := statusFiles(c.Args().Slice())
	if err != nil {
		return err
	}
	list, err := readStatuses(c, files)
	if err != nil {
		return err
	}
	nodestatus.Sort(list)
	if c.String("output") == "json" {
		err = printJSON(c.App.Writer, list)
	} else {
		err = printStatuses(c.App.Writer, list)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(s nodestatus.Status) bool { return s.State == nodestatus.Failed }) {
		return differs
	}
	return nil
}

// statusFiles lists the files that the arguments name; of a folder, its status files.
func statusFiles(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{nodestatus.Dir}
	}
	var files []string
	add := func(name string) { // a file and its folder may both be named
		same := func(other string) bool { return filepath.Clean(other) == filepath.Clean(name) }
		if !slices.ContainsFunc(files, same) {
			files = append(files, name)
		}
	}
	for _, name := range args {
		if name == "-" {
			add(name)
			continue
		}
		info, err := os.Stat(name)
		if os.IsNotExist(err) && name == nodestatus.Dir {
			return nil, report.Hint("run it on a node, or name status files copied from one", "%s: no hook has run on this machine", name)
		}
		if err != nil {
			return nil, fileError(name, err)
		}
		if !info.IsDir() {
			add(name)
			continue
		}
		found, err := filepath.Glob(filepath.Join(name, "*.json"))
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(name string) bool { // a FIFO would be waited for
			info, err := os.Stat(name)
			return err == nil && !info.Mode().IsRegular()
		})
		if len(found) == 0 {
			return nil, report.Hint("name status files copied from a node", "%s: holds no status files", name)
		}
		for _, name := range found {
			add(name)
		}
	}
	return files, nil
}

// readStatuses reads all files and says all that is wrong with them.
func readStatuses(c *cli.Context, files []string) ([]nodestatus.Status, error) {
	in := &inputs{stderr: c.App.ErrWriter}
	list := []nodestatus.Status{}
	for _, name := range files {
		data, err := readInput(c.Context, name, c.App.Reader)
		if err != nil {
			in.Report.AddError(report.Position{}, "", err)
			continue
		}
		s, err := nodestatus.Parse(data)
		if err != nil && console.Parse(data).Last() != nil {
			err = report.Hint("give it with --console", "is a console, not a status file")
		}
		if err != nil {
			in.Report.AddError(report.Position{File: display(name)}, "", err)
			continue
		}
		list = append(list, s)
	}
	return list, in.finish()
}

func printStatuses(w io.Writer, list []nodestatus.Status) error {
	var b bytes.Buffer
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "HOOK\tPHASE\tSTATE\tATTEMPTS\tTOOK\tUPDATED\tREASON")
	for _, s := range list {
		// of a line that was cut nothing but its beginning is known
		attempts, took, updated := "", "", ""
		if s.Attempts > 0 || !s.UpdatedAt.IsZero() {
			attempts = fmt.Sprint(s.Attempts)
		}
		if !s.UpdatedAt.IsZero() {
			updated = s.UpdatedAt.UTC().Format("2006-01-02 15:04:05Z")
		}
		if !s.StartedAt.IsZero() && !s.UpdatedAt.Before(s.StartedAt) { // the node's clock may have been set meanwhile
			took = s.UpdatedAt.Sub(s.StartedAt).Round(time.Second).String()
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable(s.Hook), printable(s.Phase), s.State, attempts, took, updated, printable(s.Reason))
	}
	tw.Flush()
	_, err := io.WriteString(w, trimmedLines(b.String())) // a reason that is empty leaves spaces
	return err
}

// printable keeps what a node wrote from moving the cursor of whoever reads it.
func printable(s string) string { return report.OneLine(strings.ReplaceAll(s, "\t", " ")) }
