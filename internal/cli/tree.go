package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// treeFile is a file of the tree form: a path below the tree's top and bytes.
type treeFile struct {
	path    string
	content []byte
}

func renderTree(c *cli.Context, out *plan.Output) error {
	files, err := tree(out)
	if err != nil {
		return err
	}
	if dir := c.String("dir"); dir != "" {
		return writeTree(dir, files)
	}
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "-- %s --\n%s", f.path, f.content)
		if n := len(f.content); n > 0 && f.content[n-1] != '\n' {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return printText(c.App.Writer, b.Bytes())
}

// tree lays out what lands on the nodes, for reviewers: a file that is the same on all nodes that have it stands once,
// below all/; one that differs stands below each group's name. GROUP/files.txt lists what the group's nodes get, in
// order, with mode and owner, and where the node gets what is not in the tree. Options that choose groups leave out files
// of others, and move none.
func tree(merged *plan.Output) ([]treeFile, error) {
	groups := merged.All
	perGroup := map[*plan.Group][]generator.File{}
	first := map[string][]byte{}
	differs := map[string]bool{}
	for _, g := range groups {
		if len(g.Hooks) == 0 {
			continue
		}
		files, err := generator.Files(generator.InstanceGroup{Cluster: g.Cluster, Name: g.Name, Role: g.Role}, g.Runtime, g.GeneratorHooks())
		if err != nil {
			return nil, err
		}
		perGroup[g] = files
		for _, f := range files {
			if have, ok := first[f.Path]; !ok {
				first[f.Path] = f.Content
			} else if !bytes.Equal(have, f.Content) {
				differs[f.Path] = true
			}
		}
	}
	var out []treeFile
	done := map[string]bool{}
	for _, g := range merged.Groups {
		if len(perGroup[g]) == 0 {
			continue
		}
		var list strings.Builder
		for _, f := range perGroup[g] {
			place := "all"
			if differs[f.Path] {
				place = folder(g, groups)
			}
			if len(f.URLs) > 0 || f.Secret != "" { // there are no bytes to look at
				fmt.Fprintf(&list, "%04o %s %s %s\n", f.Mode, f.Owner, f.Path, strings.TrimSpace(strings.Join(append([]string{f.SHA256}, append(f.URLs, f.Secret)...), " ")))
				continue
			}
			fmt.Fprintf(&list, "%04o %s %s %s\n", f.Mode, f.Owner, f.Path, place)
			if path := place + f.Path; !done[path] {
				done[path] = true
				out = append(out, treeFile{path, f.Content})
			}
		}
		out = append(out, treeFile{folder(g, groups) + "/files.txt", []byte(list.String())})
	}
	slices.SortFunc(out, func(a, b treeFile) int { return strings.Compare(a.path, b.path) })
	return out, nil
}

// folder is where the tree keeps a group's own files: its name, below its cluster's where another group has that name.
func folder(g *plan.Group, groups []*plan.Group) string {
	for _, other := range groups {
		if other != g && other.Name == g.Name {
			return g.Cluster + "/" + g.Name
		}
	}
	return g.Name
}

// writeTree writes the files below dir, which must be empty or not there: what an earlier run left would mislead.
func writeTree(dir string, files []treeFile) (err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return report.Hint("remove it first, or name another folder", "%s: is not empty", dir)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fileError(dir, err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir) // it was empty or is ours: nothing half done stays
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fileError(dir, err)
	}
	defer root.Close()
	for _, f := range files {
		if err := root.MkdirAll(filepath.Dir(f.path), 0o777); err != nil {
			return fileError(filepath.Join(dir, f.path), err)
		}
		if err := root.WriteFile(f.path, f.content, 0o666); err != nil {
			return fileError(filepath.Join(dir, f.path), err)
		}
	}
	return nil
}
