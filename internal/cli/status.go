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

	"kopshook.dev/kopshook/internal/nodestatus"
	"kopshook.dev/kopshook/internal/report"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "print the status files of a node's hooks",
		UsageText: "kopshook status [-o text|json] [FILE|FOLDER...]",
		Description: `Prints what the hooks of a node came to, in the order in which they ran. The files are copied from a node, or read
on it: without arguments they are those in ` + nodestatus.Dir + `. Exits 1 when a hook has failed.

Examples:
   kopshook status examples/status
   kopshook status -o json examples/status/agent.json`,
		Flags: []cli.Flag{formatFlag("text", "json")},
		Action: func(c *cli.Context) error {
			if f := c.String("output"); f != "text" && f != "json" {
				return unknownFormat(c)
			}
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
		},
	}
}

// statusFiles lists the files that the arguments name; of a folder, its status files.
func statusFiles(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{nodestatus.Dir}
	}
	var files []string
	for _, name := range args {
		info, err := os.Stat(name)
		if os.IsNotExist(err) && name == nodestatus.Dir {
			return nil, report.Hint("run it on a node, or name status files copied from one", "%s: no hook has run on this machine", name)
		}
		if err != nil {
			return nil, fileError(name, err)
		}
		if !info.IsDir() {
			files = append(files, name)
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
		files = append(files, found...)
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
			in.report.AddError(report.Position{}, "", err)
			continue
		}
		s, err := nodestatus.Parse(data)
		if err != nil {
			in.report.AddError(report.Position{File: name}, "", err)
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
		took := s.UpdatedAt.Sub(s.StartedAt).Round(time.Second)
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", printable(s.Hook), printable(s.Phase), s.State, s.Attempts, took,
			s.UpdatedAt.UTC().Format("2006-01-02 15:04:05Z"), printable(s.Reason))
	}
	tw.Flush()
	for line := range strings.Lines(b.String()) { // a reason that is empty leaves spaces
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// printable keeps what a node wrote from moving the cursor of whoever reads it.
func printable(s string) string { return report.OneLine(strings.ReplaceAll(s, "\t", " ")) }
