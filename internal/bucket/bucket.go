// Package bucket puts what nodes read into buckets, and looks whether it is there. It goes through kops' own vfs: who
// can write a state store can push, with the same credentials and variables.
package bucket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/kops/util/pkg/vfs"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// Buckets reads and writes buckets. The zero value is ready for use.
type Buckets struct {
	VFS    *vfs.VFSContext // nil makes one
	Client *http.Client    // for https; nil makes one
}

// ErrMissing is what Check returns where nothing is.
var ErrMissing = errors.New("it is not there")

// Check looks whether the object at URL/sum is there, whole. Its error is ErrMissing, or says what else is wrong.
func (b *Buckets) Check(ctx context.Context, url, sum string) error {
	_, err := b.Get(ctx, url, sum)
	return err
}

// Get returns the object at URL/sum. Its errors are those of Check.
func (b *Buckets) Get(ctx context.Context, url, sum string) (*generator.Object, error) {
	data, err := b.read(ctx, url+"/"+sum)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, report.Hint("somebody wrote another file there: remove it, and push", "%s/%s: its sha256 is %x", url, sum, got)
	}
	return &generator.Object{URL: url, SHA256: sum, Content: data}, nil
}

// Push puts an object where nodes read it, unless it is there already. Nothing is overwritten.
func (b *Buckets) Push(ctx context.Context, o *generator.Object) (pushed bool, err error) {
	if err := b.Check(ctx, o.URL, o.SHA256); !errors.Is(err, ErrMissing) {
		return false, err
	}
	if strings.HasPrefix(o.URL, "https:") {
		return false, report.Hint("write it to a folder with --dir, and upload it as you upload other files", "%s: kopshook cannot write to a server", o.Address())
	}
	p, err := b.path(o.Address())
	if err != nil {
		return false, err
	}
	_, err = file.Await(ctx, func() (any, error) { return nil, p.CreateFile(ctx, bytes.NewReader(o.Content), nil) })
	if errors.Is(err, fs.ErrExist) { // somebody else was faster
		return false, b.Check(ctx, o.URL, o.SHA256)
	}
	if err != nil {
		return false, refused(ctx, "writing", o.Address(), err)
	}
	return true, b.Check(ctx, o.URL, o.SHA256)
}

func (b *Buckets) path(address string) (vfs.Path, error) {
	if b.VFS == nil {
		b.VFS = vfs.NewVFSContext()
	}
	return b.VFS.BuildVfsPath(address)
}

func (b *Buckets) read(ctx context.Context, address string) ([]byte, error) {
	if strings.HasPrefix(address, "https:") {
		return b.download(ctx, address)
	}
	p, err := b.path(address)
	if err != nil {
		return nil, err
	}
	data, err := file.Await(ctx, func() ([]byte, error) { return p.ReadFile(ctx) })
	switch {
	case err == nil:
		return data, nil
	case os.IsNotExist(err) || errors.Is(err, fs.ErrNotExist):
		return nil, ErrMissing
	}
	return nil, refused(ctx, "reading", address, err)
}

// download reads what a server has.
func (b *Buckets) download(ctx context.Context, address string) ([]byte, error) {
	if b.Client == nil {
		b.Client = &http.Client{Timeout: 5 * time.Minute}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r, err := b.Client.Do(req)
	if err != nil {
		return nil, refused(ctx, "reading", address, err)
	}
	defer r.Body.Close()
	switch {
	case r.StatusCode == http.StatusNotFound:
		return nil, ErrMissing
	case r.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("reading %s: %s", address, r.Status)
	}
	return io.ReadAll(io.LimitReader(r.Body, 65<<20))
}

func refused(ctx context.Context, doing, address string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !strings.Contains(err.Error(), address) {
		err = fmt.Errorf("%s %s: %w", doing, address, err)
	}
	if words := report.Cut(err.Error(), 1000); words != err.Error() { // the whole page of a server
		err = errors.New(words)
	}
	if strings.HasPrefix(address, "https://") {
		return err
	}
	return report.Hint("it takes the rights to list the bucket, and to read and write objects; kops' own variables choose credentials and region", "%w", err)
}
