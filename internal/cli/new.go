package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/examples"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
)

func newCommand() *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "write a spec to begin with, or a recipe: GPU drivers, certificates, disks, agents",
		UsageText: "kopshook new [--group NAME...] [--name NAME] [-o FILE] [RECIPE]\n   kopshook new --list",
		Description: `Writes RECIPE.yaml into the current folder, or hooks.yaml when no recipe is named: a whole spec with its scripts, to be
read, changed and kept in git. The file is yours: an upgrade of kopshook does not change it, so it changes no node. A file that is
there is never replaced. docs/recipes/ has a page for each recipe.

Examples:
   kopshook new --list
   kopshook new nvidia-driver --group gpu-a
   kopshook new -o -`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "list", Usage: "print the recipes"},
			&cli.StringSliceFlag{Name: "group", Aliases: []string{"g"}, Usage: "select the instance groups of this `NAME`, which may be a glob; may be repeated"},
			&cli.StringFlag{Name: "name", Usage: "the spec's `NAME`, and the file's"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "the `FILE` to write, - for standard output; with --list: text or json"},
		},
		BashComplete: func(c *cli.Context) {
			for _, name := range examples.Names() {
				fmt.Fprintln(c.App.Writer, name)
			}
		},
		Action: newAction,
	}
}

func newAction(c *cli.Context) error {
	if c.NArg() > 1 {
		return report.Hint("write them one by one", "more than one recipe is named")
	}
	recipe, output := c.Args().First(), c.String("output")
	if c.Bool("list") {
		if recipe != "" || c.IsSet("group") || c.IsSet("name") {
			return report.Hint("leave out one of them", "--list goes with -o only")
		}
		return listRecipes(c.App.Writer, output)
	}
	file := "hooks.yaml"
	if recipe == "" {
		recipe = examples.Starter
	} else {
		file = recipe + ".yaml"
	}
	text, ok := examples.Read(recipe)
	if !ok {
		remedy := "kopshook new --list shows them all"
		if near := report.Nearest(recipe, examples.Names()); near != "" {
			remedy = fmt.Sprintf("did you mean `kopshook new %s`?", near)
		}
		return report.Hint(remedy, "there is no recipe %q", recipe)
	}
	text, err := adapt(text, c.String("name"), c.StringSlice("group"))
	if err != nil {
		return err
	}
	switch {
	case output == "-":
		_, err := io.WriteString(c.App.Writer, text)
		return err
	case output != "":
		file = output
	case c.String("name") != "":
		file = c.String("name") + ".yaml"
	}
	if err := createSpec(file, text); err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, `%[1]s is written: read it, and see that its selector names your instance groups. Then, with your other specs
if you have any:
   kops get ig --name CLUSTER -o yaml > ig.yaml
   kopshook merge -w %[2]s ig.yaml
   kopshook check %[2]s ig.yaml
   sudo kopshook try --group GROUP ig.yaml
`, report.Clean(file), report.Clean(shell.File(file)))
	return nil
}

func listRecipes(w io.Writer, format string) error {
	list := examples.List()
	switch format {
	case "", "text":
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "RECIPE\tWHAT IT IS FOR")
		for _, r := range list {
			fmt.Fprintf(t, "%s\t%s\n", r.Name, r.Summary)
		}
		return t.Flush()
	case "json":
		return printJSON(w, list)
	}
	return report.Hint("with --list it is text or json", "unknown output format %q", format)
}

// adapt gives a recipe another name, and a selector of groups; empty ones leave it as it is. Nothing else changes, so
// comments stay.
func adapt(text, name string, groups []string) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return "", err
	}
	lines := strings.SplitAfter(text, "\n")
	if len(groups) > 0 {
		spec := doc.Content[0].Content[yamlIndex(doc.Content[0], "spec")+1]
		at := yamlIndex(spec, "selector")
		first, next := spec.Content[at].Line-1, spec.Content[at+2].Line-1
		quoted := make([]string, len(groups))
		for i, g := range groups {
			quoted[i] = fmt.Sprintf("%q", g)
		}
		selector := "  selector:\n    names: [" + strings.Join(quoted, ", ") + "]\n"
		lines = append(append(lines[:first:first], selector), lines[next:]...)
	}
	if name != "" {
		metadata := doc.Content[0].Content[yamlIndex(doc.Content[0], "metadata")+1]
		lines[metadata.Content[yamlIndex(metadata, "name")].Line-1] = fmt.Sprintf("  name: %q\n", name)
	}
	text = strings.Join(lines, "")
	var r report.Report
	hookspec.Decode("the recipe", []byte(text), &r)
	for _, f := range r.Findings {
		return "", report.Hint(f.Remedy, "%s", f.Message)
	}
	return text, nil
}

// yamlIndex is where a key stands in a mapping's contents; its value comes next.
func yamlIndex(mapping *yaml.Node, key string) int {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	panic("no key " + key + " in a recipe") // TestRecipes has them all
}

// schemaFile is the name that the docs give to the output of `kopshook schema`.
const schemaFile = "hooks.schema.json"

// createSpec writes specs into a file that is not there yet. When the schema lies beside it, each document names it for
// editors.
func createSpec(name, text string) error {
	if _, err := os.Stat(filepath.Join(filepath.Dir(name), schemaFile)); err == nil {
		line := "# yaml-language-server: $schema=" + schemaFile + "\n"
		text = line + strings.ReplaceAll(text, "\n---\n", "\n---\n"+line)
	}
	return create(name, text)
}

func isThere(name string) error {
	return report.Hint("write to another file with -o FILE, or to standard output with -o -", "%s: is there already", name)
}

// create writes a file that is not there yet, whole or not at all.
func create(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return isThere(name)
	}
	if err != nil {
		return fileError(name, err)
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(name)
		return fileError(name, err)
	}
	return nil
}
