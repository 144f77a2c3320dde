package source

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	getter "github.com/hashicorp/go-getter/v2"
	"k8s.io/kops/util/pkg/vfs"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// bucketGetter reads S3 and Google Cloud Storage with kops' own client: who can reach a state store can read hooks,
// with the same credentials and variables (S3_ENDPOINT for other S3 servers), and no second SDK is linked in.
type bucketGetter struct {
	vfs    *vfs.VFSContext
	limits Limits
	item   *progressItem
}

// Detect takes s3:// and gs://, and go-getter's s3:: and gcs::.
func (g *bucketGetter) Detect(req *getter.Request) (bool, error) {
	if req.Forced != "" {
		return req.Forced == "s3" || req.Forced == "gcs", nil
	}
	u, err := url.Parse(req.Src)
	return err == nil && (u.Scheme == "s3" || u.Scheme == "gs"), nil
}

// Mode is not asked for: see fetchBucket.
func (g *bucketGetter) Mode(context.Context, *url.URL) (getter.Mode, error) {
	return getter.ModeFile, nil
}

// GetFile writes an object to req.Dst.
func (g *bucketGetter) GetFile(ctx context.Context, req *getter.Request) error {
	p, err := g.path(req)
	if err != nil {
		return err
	}
	return g.download(ctx, p, req.Dst)
}

// Get writes the objects directly below a prefix into the new folder req.Dst.
func (g *bucketGetter) Get(ctx context.Context, req *getter.Request) error {
	p, err := g.path(req)
	if err != nil {
		return err
	}
	children, err := file.Await(ctx, p.ReadDir)
	if err != nil {
		return err
	}
	if len(children) == 0 {
		return fs.ErrNotExist
	}
	if err := os.MkdirAll(req.Dst, 0o700); err != nil {
		return err
	}
	taken := 0
	for _, child := range children {
		name := path.Base(child.Path())
		if strings.HasSuffix(child.Path(), "/") || strings.HasPrefix(name, ".") {
			continue
		}
		if !isPlain(name) {
			return fmt.Errorf("it holds an object called %q", name)
		}
		if taken++; taken > g.limits.Files {
			return report.Hint("name a prefix that holds the hook's scripts and nothing else", "it holds more than %d objects", g.limits.Files)
		}
		if err := g.download(ctx, child, filepath.Join(req.Dst, name)); err != nil {
			return err
		}
	}
	return nil
}

func (g *bucketGetter) path(req *getter.Request) (vfs.Path, error) {
	u := *req.URL()
	u.RawQuery = ""
	return g.vfs.BuildVfsPath(u.Scheme + "://" + u.Host + u.Path)
}

func (g *bucketGetter) download(ctx context.Context, p vfs.Path, dst string) error {
	f, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := &boundedWriter{ctx: ctx, w: f, left: g.limits.Download, limit: g.limits.Download, item: g.item}
	_, err = file.Await(ctx, func() (any, error) {
		defer f.Close()
		_, err := p.WriteTo(w)
		if w.err != nil {
			return nil, w.err // the SDKs wrap it beyond recognition
		}
		return nil, err
	})
	return err
}

// boundedWriter ends with an error after limit bytes, or when ctx does.
type boundedWriter struct {
	ctx         context.Context
	w           io.Writer
	left, limit int64
	item        *progressItem
	err         error
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	b.item.add(int64(len(p)))
	switch b.left -= int64(len(p)); {
	case b.ctx.Err() != nil:
		b.err = context.Cause(b.ctx)
	case b.left < 0:
		b.err = tooMuch(b.limit)
	default:
		return b.w.Write(p)
	}
	return 0, b.err
}
