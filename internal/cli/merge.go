package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func mergeCommand() *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "merge hooks into instance groups",
		UsageText: "kopshook merge [-f SPEC...] [-w] FILE... | -",
		Description: `Prints the manifests with the hooks' user data merged into spec.additionalUserData; with -w, writes them in place,
all or none. Nothing else in a manifest changes by a byte. The parts that hooks are made of, kopshook-*, are replaced, all
others are kept: merging twice is merging once. On standard error it says what changes, by instance group and hook. --remove takes
all hooks out of the manifests again.

Examples:
   kopshook merge examples/gpu/hooks.yaml examples/mixed/cluster.yaml
   kopshook merge -f examples/gpu -w cluster.yaml
   kops get ig --name my.cluster -o yaml | kopshook merge -f hooks.yaml - | kops replace -f -`,
		Flags: append(planFlags(), pruneFlag(),
			&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "write the files in place instead of printing them"},
			&cli.BoolFlag{Name: "remove", Usage: "remove all parts that hooks are made of, kopshook-*; it takes no hook specs"},
		),
		Action: merge,
	}
}

func merge(c *cli.Context) error {
	if c.Bool("write") && slices.Contains(c.Args().Slice(), "-") {
		return report.Hint("remove -w to print the result", "standard input cannot be written in place")
	}
	out, err := changed(c, plan.Options{Write: true, Remove: c.Bool("remove")}, report.Error)
	if err != nil {
		return err
	}
	if c.Bool("write") {
		return writeMerged(c, out)
	}
	printHookChanges(c.App.ErrWriter, out)
	if isTerminal(c.App.Writer) {
		var text bytes.Buffer
		if err := writeJoined(&text, out); err != nil {
			return err
		}
		return printText(c.App.Writer, text.Bytes())
	}
	return writeJoined(c.App.Writer, out)
}

// writeMerged writes the files in place, and then says what has changed: nothing has where that fails.
func writeMerged(c *cli.Context, out *plan.Output) error {
	if err := writeFiles(c.Context, out.Input.Sources, changedFiles(out.Input.Sources, out.Files)); err != nil {
		return err
	}
	printHookChanges(c.App.ErrWriter, out)
	return nil
}

// changedFiles are those of the files that are not as they were.
func changedFiles(old map[string][]byte, now []plan.Edited) []change {
	var changes []change
	for _, f := range now {
		if data := f.Bytes(); !bytes.Equal(data, old[f.Name]) {
			changes = append(changes, change{f.Name, data})
		}
	}
	return changes
}

// printHookChanges says what merging changes: a line for each hook, with the instance groups in which it changes so.
func printHookChanges(w io.Writer, out *plan.Output) {
	var t tally
	for _, g := range out.Groups {
		for _, c := range g.HookChanges() {
			t.add(c.String(), c.String(), g)
		}
	}
	for _, s := range t.all {
		fmt.Fprintf(w, "%s: %s\n", s.names(), report.OneLine(s.text))
	}
}

// writeJoined writes the edited manifests as one stream, in a form that kops reads: YAML documents split by lines of "---". What
// they begin with is not edited.
func writeJoined(w io.Writer, out *plan.Output) error {
	if len(out.Files) == 1 {
		_, err := out.Files[0].WriteTo(w)
		return err
	}
	for _, f := range out.Files {
		if first := bytes.TrimLeft(out.Input.Sources[f.Name], " \t\r\n"); len(first) > 0 && (first[0] == '{' || first[0] == '[') {
			return report.Hint("merge it by itself, or use -w", "%s: is JSON, which cannot be printed together with other files", display(f.Name))
		}
	}
	last := &lastByte{w: w, last: '\n'}
	for i, f := range out.Files {
		if last.last != '\n' {
			io.WriteString(last, "\n")
		}
		if i > 0 && !bytes.HasPrefix(out.Input.Sources[f.Name], []byte("---\n")) {
			io.WriteString(last, "---\n")
		}
		if _, err := f.WriteTo(last); err != nil {
			return err
		}
	}
	return nil
}

// lastByte remembers the last byte that was written.
type lastByte struct {
	w    io.Writer
	last byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	if n > 0 {
		l.last = p[n-1]
	}
	return n, err
}
