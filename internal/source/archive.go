package source

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"kopshook.dev/kopshook/internal/report"
)

// packings are the endings that go-getter unpacks, longest first where one ends in another.
var packings = []string{"tar.gz", "tgz", "tar.bz2", "tbz2", "tar.xz", "txz", "tar.zst", "tzst", "tar", "zip", "gz", "bz2", "xz", "zst"}

// packing says how a downloaded file is packed: by archive= or by its name. It is "" for a file used as it is.
func packing(name, param string) (string, error) {
	switch param {
	case "false", "0":
		return "", nil
	case "", "true", "1":
		for _, p := range packings {
			if strings.HasSuffix(name, "."+p) {
				return p, nil
			}
		}
		return "", nil
	}
	for _, p := range packings {
		if p == param {
			return p, nil
		}
	}
	return "", fmt.Errorf("archive=%s is none of %s", param, strings.Join(packings, ", "))
}

// openArchive reads the table of contents of an archive. Nothing is unpacked to disk: links, devices and names that
// lead elsewhere have nothing to act on. name is what a single compressed file is called.
func openArchive(ctx context.Context, f *os.File, name, packing string, limits Limits) (*tree, error) {
	t := newTree(limits.Entries)
	var err error
	switch {
	case packing == "zip":
		err = t.indexZip(ctx, f, limits)
	case strings.Contains(packing, "tar") || strings.HasPrefix(packing, "t"):
		err = t.indexTar(ctx, f, packing, limits)
	default:
		t.single(f, strings.TrimSuffix(name, "."+packing), packing, limits)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (t *tree) indexTar(ctx context.Context, f *os.File, packing string, limits Limits) error {
	each := func(do func(*tar.Header, io.Reader) error) error {
		r, err := decompress(ctx, f, packing, limits.Unpacked)
		if err != nil {
			return err
		}
		defer r.Close()
		for tr := tar.NewReader(r); ; {
			h, err := tr.Next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return broken(err)
			}
			if err := do(h, tr); err != nil {
				return err
			}
		}
	}
	t.read = func(_ context.Context, paths []string, limit int64) (map[string][]byte, error) {
		c := newCollector(limit)
		wanted := map[string]bool{}
		for _, p := range paths {
			wanted[p] = true
		}
		err := each(func(h *tar.Header, r io.Reader) error {
			if p := path.Clean(h.Name); wanted[p] && h.Typeflag == tar.TypeReg {
				return c.read(p, r)
			}
			return nil
		})
		return c.contents, err
	}
	return each(func(h *tar.Header, _ io.Reader) error {
		n := node{kind: special}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			return nil // a comment, as git archive writes it
		case tar.TypeDir:
			n.kind = folder
		case tar.TypeReg:
			n = node{kind: regular, size: h.Size}
		case tar.TypeSymlink:
			n = node{kind: link, target: h.Linkname}
		case tar.TypeLink: // named from the root
			up := strings.Repeat("../", strings.Count(path.Clean(h.Name), "/"))
			n = node{kind: link, target: up + strings.TrimPrefix(h.Linkname, "/")}
		}
		return t.add(h.Name, n)
	})
}

func (t *tree) indexZip(ctx context.Context, f *os.File, limits Limits) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return broken(err)
	}
	entries := map[string]*zip.File{}
	for _, e := range z.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := node{kind: special}
		switch mode := e.Mode(); {
		case strings.HasSuffix(e.Name, "/") || mode.IsDir():
			n.kind = folder
		case mode.IsRegular():
			n = node{kind: regular, size: int64(min(e.UncompressedSize64, 1<<62))}
		case mode&fs.ModeSymlink != 0:
			c := newCollector(4096)
			if err := c.readZip("", e); err != nil {
				return err
			}
			n = node{kind: link, target: string(c.contents[""])}
		}
		if err := t.add(e.Name, n); err != nil {
			return err
		}
		entries[path.Clean(e.Name)] = e
	}
	t.read = func(_ context.Context, paths []string, limit int64) (map[string][]byte, error) {
		c := newCollector(limit)
		for _, p := range paths {
			if err := c.readZip(p, entries[p]); err != nil {
				return nil, err
			}
		}
		return c.contents, nil
	}
	return nil
}

// single makes a tree of one compressed file: the root is the file.
func (t *tree) single(f *os.File, name, packing string, limits Limits) {
	t.nodes[""] = node{kind: regular}
	t.name = name
	t.read = func(ctx context.Context, _ []string, limit int64) (map[string][]byte, error) {
		r, err := decompress(ctx, f, packing, limits.Unpacked)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		c := newCollector(limit)
		return c.contents, c.read("", r)
	}
}

// collector reads files, together at most left bytes.
type collector struct {
	left, limit int64
	contents    map[string][]byte
}

func newCollector(limit int64) *collector {
	return &collector{left: limit, limit: limit, contents: map[string][]byte{}}
}

func (c *collector) read(name string, r io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(r, c.left+1))
	if err != nil {
		return broken(err)
	}
	if int64(len(b)) > c.left {
		return tooLarge(c.limit)
	}
	c.left -= int64(len(b))
	c.contents[name] = b
	return nil
}

func (c *collector) readZip(name string, e *zip.File) error {
	r, err := e.Open()
	if err != nil {
		return broken(err)
	}
	defer r.Close()
	return c.read(name, r)
}

// decompress reads f from its beginning, unpacked, at most limit bytes.
func decompress(ctx context.Context, f *os.File, packing string, limit int64) (io.ReadCloser, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	in := bufio.NewReader(f)
	var r io.Reader
	var err error
	closer := func() error { return nil }
	switch packing {
	case "tar":
		r = in
	case "tar.gz", "tgz", "gz":
		r, err = gzip.NewReader(in)
	case "tar.bz2", "tbz2", "bz2":
		r = bzip2.NewReader(in)
	case "tar.xz", "txz", "xz":
		r, err = xz.NewReader(in)
	case "tar.zst", "tzst", "zst":
		var z *zstd.Decoder
		z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err == nil {
			r, closer = z, func() error { z.Close(); return nil }
		}
	default:
		err = fmt.Errorf("unknown packing %q", packing)
	}
	if err != nil {
		return nil, broken(err)
	}
	return &bounded{ctx: ctx, r: r, left: limit, limit: limit, close: closer}, nil
}

// bounded ends with an error when more than limit bytes come, or when ctx does.
type bounded struct {
	ctx         context.Context
	r           io.Reader
	left, limit int64
	close       func() error
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &bombError{b.limit}
	}
	return n, err
}

func (b *bounded) Close() error { return b.close() }

type bombError struct{ limit int64 }

func (e *bombError) Error() string { return "it unpacks to more than " + size(e.limit) }

// broken says that an archive cannot be read, unless it was we who stopped.
func broken(err error) error {
	var bomb *bombError
	if errors.As(err, &bomb) {
		return report.Hint("pack the hooks' files alone", "%w", bomb)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return report.Hint("compare it with what its publisher says; archive=false uses a file as it is", "it cannot be unpacked: %w", err)
}
