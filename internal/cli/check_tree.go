package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// checkTree prints where a folder is not what render -o tree writes. Where options choose groups, other files in it are left
// alone, but for those in the folders of these groups.
func checkTree(c *cli.Context, dir string, out *plan.Output) (same bool, err error) {
	files, err := tree(out)
	if err != nil {
		return false, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, fileError(dir, err)
	}
	defer root.Close()
	wrong := map[string]string{}
	for _, f := range files {
		wrong[f.path] = "is not there"
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		i, known := slices.BinarySearchFunc(files, path, func(f treeFile, path string) int { return bytes.Compare([]byte(f.path), []byte(path)) })
		if !known {
			if len(out.Groups) < len(out.All) && !slices.ContainsFunc(out.Groups, func(g *plan.Group) bool { return strings.HasPrefix(path, folder(g, out.All)+"/") }) {
				return nil
			}
			wrong[path] = "is not of these specs and instance groups"
			return nil
		}
		delete(wrong, path)
		// a link, a folder or a device is not what was written, whatever it leads to
		if data, err := file.ReadIn(root, filepath.FromSlash(path), int64(len(files[i].content))); !entry.Type().IsRegular() || err != nil || !bytes.Equal(data, files[i].content) {
			wrong[path] = "differs"
		}
		return nil
	})
	if err != nil {
		return false, fileError(dir, err)
	}
	for _, path := range slices.Sorted(maps.Keys(wrong)) {
		fmt.Fprintf(c.App.Writer, "%s: %s\n", report.OneLine(filepath.Join(dir, path)), wrong[path])
	}
	if len(wrong) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "kopshook: %s is not what the specs say: remove it, then write it again with kopshook render -o tree --dir\n", report.OneLine(dir))
	}
	return len(wrong) == 0, nil
}
