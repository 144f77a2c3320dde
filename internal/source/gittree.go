package source

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"kopshook.dev/kopshook/internal/report"
)

// tree reads the table of contents of the commit that Get fetched into dir.
func (g *gitGetter) tree(ctx context.Context, dir string) (*tree, error) {
	t := newTree(g.limits.Entries)
	blobs := map[string]string{} // object ids by path
	cmd := g.command(ctx, dir, "ls-tree", "-r", "-z", "-l", "--full-tree", g.commit)
	stderr := headWriter{limit: maxGitMessage}
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err = func() error {
		var links []string
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString(0)
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			// MODE SP TYPE SP OBJECT SP SIZE TAB PATH NUL
			meta, name, _ := strings.Cut(strings.TrimSuffix(line, "\x00"), "\t")
			f := strings.Fields(meta)
			if len(f) != 4 {
				return fmt.Errorf("git ls-tree: cannot read %q", line)
			}
			n := node{kind: regular}
			n.size, _ = strconv.ParseInt(f[3], 10, 64)
			switch f[0] {
			case "120000":
				n = node{kind: link}
				links = append(links, name)
			case "160000":
				n = node{kind: special}
			}
			if err := t.add(name, n); err != nil {
				return err
			}
			blobs[name] = f[2]
		}
		return g.targets(ctx, dir, t, links, blobs)
	}()
	if err != nil {
		cmd.Cancel()
		cmd.Wait()
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, &gitError{cause: err, stderr: strings.TrimSpace(stderr.String())}
	}
	t.read = func(ctx context.Context, paths []string, limit int64) (map[string][]byte, error) {
		c := newCollector(limit)
		err := g.blobs(ctx, dir, c, paths, blobs)
		for _, p := range paths {
			if bytes.HasPrefix(c.contents[p], []byte("version https://git-lfs.github.com/spec/")) {
				return nil, report.Hint("store it in git itself: kopshook does not fetch from LFS", "%q is a Git LFS pointer", p)
			}
		}
		return c.contents, err
	}
	return t, nil
}

// targets reads where links lead: their blobs.
func (g *gitGetter) targets(ctx context.Context, dir string, t *tree, links []string, blobs map[string]string) error {
	c := newCollector(int64(len(links)+1) * 4096)
	if err := g.blobs(ctx, dir, c, links, blobs); err != nil {
		return err
	}
	for _, name := range links {
		t.nodes[name] = node{kind: link, target: string(c.contents[name])}
	}
	return nil
}

// blobs reads the blobs of paths into c.
func (g *gitGetter) blobs(ctx context.Context, dir string, c *collector, paths []string, ids map[string]string) error {
	if len(paths) == 0 {
		return nil
	}
	var in bytes.Buffer
	for _, p := range paths {
		fmt.Fprintln(&in, ids[p])
	}
	cmd := g.command(ctx, dir, "cat-file", "--batch")
	cmd.Stdin = &in
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		cmd.Cancel()
		cmd.Wait()
	}()
	r := bufio.NewReader(out)
	for _, p := range paths {
		// OBJECT SP TYPE SP SIZE LF CONTENTS LF
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		f := strings.Fields(line)
		if len(f) != 3 || f[1] != "blob" {
			return fmt.Errorf("git cat-file: cannot read %q", line)
		}
		n, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return err
		}
		if err := c.read(p, io.LimitReader(r, n)); err != nil {
			return err
		}
		if _, err := r.Discard(1); err != nil {
			return err
		}
	}
	return nil
}
