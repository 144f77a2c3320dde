package source

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"kopshook.dev/kopshook/internal/report"
)

// unpackAnnotation is what `oras push` writes for a folder, which it packs as .tar.gz under the folder's name.
const unpackAnnotation = "io.deis.oras.content.unpack"

// artifact makes a tree of the layers of a manifest: of one layer, the file that it is or the archive's contents; of
// several, files by their titles. inner is what is meant of the tree.
func (r *ociRepo) artifact(ctx context.Context, a *address, m *ocispec.Manifest, dir string) (t *tree, inner string, err error) {
	total := int64(0)
	for _, layer := range m.Layers {
		if layer.Size < 0 || layer.Size > r.limits.Download-total {
			return nil, "", tooMuch(r.limits.Download)
		}
		total += layer.Size
	}
	switch {
	case len(m.Layers) == 0:
		return nil, "", report.Hint("push files with `oras push`", "it has no layers")
	case len(m.Layers) == 1:
		return r.oneLayer(ctx, a, m.Layers[0], dir)
	case a.archive != "":
		return nil, "", report.Hint("leave it out, or push one file", "archive= is for artifacts of one layer, and this one has %d", len(m.Layers))
	}
	t = newTree(r.limits.Entries)
	c := newContents(t)
	for i, layer := range m.Layers {
		title := layer.Annotations[ocispec.AnnotationTitle]
		switch {
		case title == "":
			return nil, "", report.Hint("push files with `oras push`, or an image of one layer", "layer %d of %d has no title (%.80q): of images only those of one layer are read", i+1, len(m.Layers), layer.MediaType)
		case layer.Annotations[unpackAnnotation] == "true":
			sub, err := r.unpack(ctx, layer, title, "tar.gz", filepath.Join(dir, strconv.Itoa(i)))
			if err != nil {
				return nil, "", err
			}
			err = c.merge(sub)
			if err != nil {
				return nil, "", err
			}
		default:
			if err := c.add(title, r.file(layer), layer.Size); err != nil {
				return nil, "", err
			}
		}
	}
	return t, a.inner, nil
}

func (r *ociRepo) oneLayer(ctx context.Context, a *address, layer ocispec.Descriptor, dir string) (*tree, string, error) {
	title := layer.Annotations[ocispec.AnnotationTitle]
	packed, err := packing(title, a.archive)
	if err != nil {
		return nil, "", err
	}
	switch {
	case layer.Annotations[unpackAnnotation] == "true":
		packed = "tar.gz"
	case title == "" && a.archive == "":
		packed = packingOf(layer.MediaType)
	}
	if packed != "" {
		t, err := r.unpack(ctx, layer, orDefault(title, a.name), packed, filepath.Join(dir, "layer"))
		return t, a.inner, err
	}
	t := newTree(r.limits.Entries)
	name := orDefault(title, a.name)
	if a.inner != "" {
		return t, a.inner, newContents(t).add(name, r.file(layer), layer.Size)
	}
	t.nodes[""], t.name, t.read = node{kind: regular, size: layer.Size}, name, r.file(layer) // the root is the file
	return t, "", nil
}

// packingOf says how a layer without a title is packed: image layers, and archives such as those of Flux and Helm.
func packingOf(mediaType string) string {
	switch {
	case !strings.Contains(mediaType, "tar"):
		return ""
	case strings.HasSuffix(mediaType, "gzip"):
		return "tar.gz"
	case strings.HasSuffix(mediaType, "zstd"):
		return "tar.zst"
	}
	return "tar"
}

// unpack downloads a layer to a new file and reads its table of contents.
func (r *ociRepo) unpack(ctx context.Context, layer ocispec.Descriptor, name, packed, file string) (*tree, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	r.opened = append(r.opened, f) // the tree reads it later
	if err := r.blob(ctx, layer, f); err != nil {
		return nil, err
	}
	return openArchive(ctx, f, name, packed, r.limits)
}

func (r *ociRepo) close() {
	for _, f := range r.opened {
		f.Close()
	}
}

// reader reads files of a tree, together at most limit bytes.
type reader func(ctx context.Context, paths []string, limit int64) (map[string][]byte, error)

// file reads a layer that is a file.
func (r *ociRepo) file(layer ocispec.Descriptor) reader {
	return func(ctx context.Context, paths []string, limit int64) (map[string][]byte, error) {
		if layer.Size > limit {
			return nil, tooLarge(r.limits.Bytes)
		}
		var b bytes.Buffer
		if err := r.blob(ctx, layer, &b); err != nil {
			return nil, err
		}
		return map[string][]byte{paths[0]: b.Bytes()}, nil
	}
}

// contents is who reads which file of a tree.
type contents struct {
	tree    *tree
	readers []reader
	of      map[string]int // index of the reader, by path
}

func newContents(t *tree) *contents {
	c := &contents{tree: t, of: map[string]int{}}
	t.read = func(ctx context.Context, paths []string, limit int64) (map[string][]byte, error) {
		each := map[int][]string{}
		for _, p := range paths {
			each[c.of[p]] = append(each[c.of[p]], p)
		}
		all := map[string][]byte{}
		for _, i := range slices.Sorted(maps.Keys(each)) {
			some, err := c.readers[i](ctx, each[i], limit)
			if err != nil {
				return nil, err
			}
			for p, content := range some {
				all[p] = content
				limit -= int64(len(content))
			}
		}
		return all, nil
	}
	return c
}

func (c *contents) add(name string, r reader, size int64) error {
	if err := c.tree.add(name, node{kind: regular, size: size}); err != nil {
		return err
	}
	c.of[path.Clean(name)] = len(c.readers)
	c.readers = append(c.readers, r)
	return nil
}

func (c *contents) merge(sub *tree) error {
	for _, p := range slices.Sorted(maps.Keys(sub.nodes)) {
		if p == "" {
			continue
		}
		if err := c.tree.add(p, sub.nodes[p]); err != nil {
			return err
		}
		c.of[p] = len(c.readers)
	}
	c.readers = append(c.readers, sub.read)
	return nil
}
