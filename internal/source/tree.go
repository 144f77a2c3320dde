package source

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/report"
)

// tree is what an archive or a commit holds, by slash path from its root, "" being the root itself.
type tree struct {
	nodes map[string]node
	name  string // of the root, when that is a file
	limit int    // of nodes
	// read returns the contents of regular files, together at most limit bytes
	read func(ctx context.Context, paths []string, limit int64) (map[string][]byte, error)
}

type node struct {
	kind   nodeKind
	target string // of a link: relative to its folder
	size   int64  // of a regular file, as far as it is known
}

type nodeKind int

const (
	folder nodeKind = iota
	regular
	link
	special // a device, FIFO, socket or submodule
)

func newTree(limit int) *tree {
	return &tree{nodes: map[string]node{"": {kind: folder}}, limit: limit}
}

// add puts a node and the folders above it into the tree. A name that leads out of the tree, or that stands there
// already, makes the whole of it unfit for use: tools would disagree on what it means.
func (t *tree) add(name string, n node) error {
	clean := path.Clean(strings.TrimSuffix(name, "/"))
	if clean == "." && n.kind == folder {
		return nil
	}
	if name == "" || path.IsAbs(name) || strings.Contains(name, `\`) || !isPlain(name) || slices.Contains(strings.Split(name, "/"), "..") {
		if len(name) > 400 {
			name = name[:400] + "..."
		}
		return report.Hint("do not use it: it was made to write elsewhere", "it holds an entry called %q", name)
	}
	if old, ok := t.nodes[clean]; ok && (old.kind != folder || n.kind != folder) {
		return report.Hint("pack it again", "it holds %q twice", clean)
	}
	for dir := path.Dir(clean); dir != "."; dir = path.Dir(dir) {
		old, ok := t.nodes[dir]
		if ok && old.kind != folder {
			return report.Hint("pack it again", "it holds %q both as a file and as a folder", dir)
		}
		if ok {
			break
		}
		t.nodes[dir] = node{kind: folder}
	}
	t.nodes[clean] = n
	if len(t.nodes) > t.limit {
		return report.Hint("pack the hooks' files alone", "it holds more than %d files", t.limit)
	}
	return nil
}

// maxPath bounds names and links, as Linux does (PATH_MAX). An archive of a few hundred bytes can name a million folders in
// each other, and whoever goes through them one by one does not come to an end.
const maxPath = 4096

// isPlain says whether a name is UTF-8 without characters that control how it is shown, and no longer than file systems
// take it: it is printed, written into tree listings, and becomes that of a file (NAME_MAX).
func isPlain(name string) bool {
	return len(name) < maxPath && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) &&
		!slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return len(part) > 255 })
}

const maxLinks = 40 // as Linux, path_resolution(7)

// resolve follows links in p and returns where it leads. Links that leave the tree are refused.
func (t *tree) resolve(p string) (string, node, error) {
	todo := strings.Split(p, "/")
	at, links := "", 0
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "" {
				return "", node{}, report.Hint("only links inside it are followed", "%q leads out of it", p)
			}
			if at = path.Dir(at); at == "." {
				at = ""
			}
			continue
		}
		next := path.Join(at, part)
		n, ok := t.nodes[next]
		if !ok {
			if next == p {
				return "", node{}, report.Hint("", "it holds no %q", p)
			}
			return "", node{}, report.Hint("", "it holds no %q, which %q leads to", next, p)
		}
		if n.kind != link {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", node{}, report.Hint("", "%q is a link that leads nowhere", p)
		}
		if len(n.target) >= maxPath {
			return "", node{}, report.Hint("", "%q is a link that leads nowhere", p)
		}
		if path.IsAbs(n.target) {
			return "", node{}, report.Hint("only links inside it are followed", "%q leads out of it, to %s", p, n.target)
		}
		todo = append(strings.Split(n.target, "/"), todo...)
	}
	return at, t.nodes[at], nil
}

// match returns the one path that a pattern of path.Match means; a path without wildcards is itself.
func (t *tree) match(pattern string) (string, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		return pattern, nil
	}
	var found []string
	for p := range t.nodes {
		if ok, err := path.Match(pattern, p); err != nil {
			return "", report.Hint("", "%q is no pattern", pattern)
		} else if ok {
			found = append(found, p)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", report.Hint("", "nothing in it matches %q", pattern)
	case 1:
		return found[0], nil
	}
	return "", report.Hint("make the pattern match one path", "%q matches %q and %q", pattern, found[0], found[1])
}

// files reads what inner names: a file, or the regular files of a folder.
func (t *tree) files(ctx context.Context, inner string, limits Limits) (files []File, dir bool, err error) {
	inner, err = t.match(inner)
	if err != nil {
		return nil, false, err
	}
	at, n, err := t.resolve(inner)
	if err != nil {
		return nil, false, err
	}
	wanted := map[string]string{} // file names by where they really lie
	var paths []string
	want := func(name, p string, n node) error {
		switch {
		case n.kind == special:
			return report.Hint("only regular files are read", "%q is no regular file", name)
		case n.size > limits.Bytes:
			return tooLarge(limits.Bytes)
		case len(paths) == limits.Files:
			return report.Hint("name a folder that holds the hook's scripts and nothing else", "%q holds more than %d files", inner, limits.Files)
		}
		wanted[name] = p
		paths = append(paths, p)
		return nil
	}
	if n.kind != folder {
		name := path.Base(inner)
		if inner == "" {
			name = t.name
		}
		if err := want(name, at, n); err != nil {
			return nil, false, err
		}
	} else {
		dir = true
		for p := range t.nodes {
			name := path.Base(p)
			if p == "" || strings.HasPrefix(name, ".") || parentOf(p) != at {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, false, err
			}
			to, n, err := t.resolve(p)
			if err != nil {
				return nil, false, err
			}
			if n.kind == folder {
				continue
			}
			if err := want(name, to, n); err != nil {
				return nil, false, err
			}
		}
		if len(paths) == 0 {
			return nil, false, report.Hint("name a folder of scripts behind //; subfolders and names that begin with a dot do not count", "there are no files in %q of it", "/"+inner)
		}
	}
	slices.Sort(paths)
	contents, err := t.read(ctx, slices.Compact(paths), limits.Bytes)
	if err != nil {
		return nil, false, err
	}
	for name, p := range wanted {
		files = append(files, File{Name: name, Content: contents[p]})
	}
	sortFiles(files)
	return files, dir, nil
}

func parentOf(p string) string {
	if dir := path.Dir(p); dir != "." {
		return dir
	}
	return ""
}

func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
}

func tooLarge(limit int64) error {
	return report.Hint("have the node download it: a file with url: and sha256:, or in phase daemon the script itself",
		"it is larger than %s", size(limit))
}

// size is a number of bytes for people: "512 bytes", "1 MiB".
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.3g MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%.3g KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
