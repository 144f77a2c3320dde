package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	getter "github.com/hashicorp/go-getter/v2"

	"kopshook.dev/kopshook/internal/report"
)

// fetched is what came of an address.
type fetched struct {
	files    []File
	dir      bool   // files are those of a folder
	revision string // commit, of git; digest of the manifest, of a registry
	raw      []byte // what checksum= is about, when the address carries one
}

// getters are those that addresses are detected with; fetchOnce makes them anew, with limits, for each download.
func getters() []getter.Getter {
	return []getter.Getter{
		&gitGetter{GitGetter: getter.GitGetter{Detectors: gitDetectors}},
		&bucketGetter{},
		&getter.HttpGetter{},
	}
}

func kindOf(g getter.Getter) kind {
	switch g.(type) {
	case *gitGetter:
		return kindGit
	case *bucketGetter:
		return kindBucket
	}
	return kindHTTP
}

// fetch brings a source over the network, at revision if that is not empty.
func (l *Loader) fetch(ctx context.Context, a *address, revision string) (f *fetched, err error) {
	err = l.patiently(ctx, a, func(ctx context.Context, item *progressItem) (err error) {
		f, err = l.fetchOnce(ctx, a, revision, item)
		return err
	})
	return f, err
}

// patiently asks a server for something of an address, and again when the failure may pass.
func (l *Loader) patiently(ctx context.Context, a *address, ask func(context.Context, *progressItem) error) error {
	if err := l.allowed(a); err != nil {
		return err
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	limits := l.limits
	item := l.progress.start(a.key)
	defer item.done()
	timed, cancel := context.WithTimeoutCause(ctx, limits.Time, fmt.Errorf("not finished after %s", limits.Time))
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := ask(timed, item)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if timed.Err() != nil {
			err = context.Cause(timed) // libraries say "context deadline exceeded", if not something worse
		} else if attempt < limits.Attempts && isTemporary(err) {
			item.restart()
			if wait(timed, limits.Backoff<<(attempt-1)) {
				continue
			}
		}
		return a.failure(err, attempt)
	}
}

// allowed refuses a repository on this machine, unless it lies in AllowPaths: a spec could name any.
func (l *Loader) allowed(a *address) error {
	path, ok := strings.CutPrefix(a.url, "file://")
	if !ok {
		return nil
	}
	path, _, _ = strings.Cut(path, "?")
	r := localReader{base: os.DevNull, allow: l.AllowPaths}
	root, _, err := r.open(path, a.key)
	if err != nil {
		return report.Hint("allow its folder with --allow-path, if it is there", "source %q is a repository on this machine", a.key)
	}
	return root.Close()
}

// wait waits unless ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *Loader) fetchOnce(ctx context.Context, a *address, revision string, item *progressItem) (*fetched, error) {
	dir, cleanUp, err := l.cache.tempDir()
	if err != nil {
		return nil, err
	}
	defer cleanUp()
	dst := filepath.Join(dir, "fetched")
	if a.kind == kindGit {
		g := &gitGetter{GitGetter: getter.GitGetter{Detectors: gitDetectors}, limits: l.limits, ref: a.ref, revision: revision, item: item}
		if err := get(ctx, g, "git::"+a.url, dst, getter.ModeDir); err != nil {
			return nil, err
		}
		t, err := g.tree(ctx, dst)
		if err != nil {
			return nil, err
		}
		files, isDir, err := t.files(ctx, a.inner, l.limits)
		return &fetched{files: files, dir: isDir, revision: g.commit}, err
	}
	if a.kind == kindOCI {
		return l.fetchOCI(ctx, a, revision, dir, item)
	}
	if a.kind == kindBucket {
		err = l.fetchBucket(ctx, a, dst, item)
	} else {
		err = get(ctx, newHTTPGetter(l.transport, l.limits, item), a.url, dst, getter.ModeFile)
	}
	if err != nil {
		return nil, err
	}
	return l.openDownload(ctx, a, dst)
}

// get runs go-getter with one getter. Archives are left as they are, and inner paths were taken off before: its own
// ways to unpack and copy follow links, or turn them into empty files.
func get(ctx context.Context, g getter.Getter, src, dst string, mode getter.Mode) error {
	client := &getter.Client{Getters: []getter.Getter{g}, Decompressors: map[string]getter.Decompressor{}, DisableSymlinks: true}
	_, err := client.Get(ctx, &getter.Request{Src: src, Dst: dst, GetMode: mode})
	return err
}

// fetchBucket fetches the object at the address, else those below it.
func (l *Loader) fetchBucket(ctx context.Context, a *address, dst string, item *progressItem) error {
	g := &bucketGetter{vfs: l.vfs, limits: l.limits, item: item}
	if !strings.HasSuffix(a.url, "/") { // there may be an empty object of that name, which stands for the folder
		err := get(ctx, g, a.url, dst, getter.ModeFile)
		if !errors.Is(err, fs.ErrNotExist) || a.archive != "" || a.pin != "" {
			return err
		}
		os.Remove(dst)
	}
	return get(ctx, g, a.url, dst, getter.ModeDir)
}

// openDownload reads what was downloaded to dst: a file, an archive, or a folder of objects.
func (l *Loader) openDownload(ctx context.Context, a *address, dst string) (*fetched, error) {
	info, err := os.Lstat(dst)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		files, err := readObjects(dst, l.limits)
		return &fetched{files: files, dir: true}, err
	}
	f, err := os.Open(dst)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := &fetched{}
	if a.archive == "" {
		c := newCollector(l.limits.Bytes)
		if err := c.read("", f); err != nil {
			return nil, err
		}
		out.files = []File{{Name: a.name, Content: c.contents[""]}}
	} else {
		t, err := openArchive(ctx, f, a.name, a.archive, l.limits)
		if err != nil {
			return nil, err
		}
		if out.files, out.dir, err = t.files(ctx, a.inner, l.limits); err != nil {
			return nil, err
		}
	}
	if a.pin != "" {
		if out.raw, err = os.ReadFile(dst); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readObjects reads the files that bucketGetter wrote.
func readObjects(dir string, limits Limits) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	c := newCollector(limits.Bytes)
	var files []File
	for _, e := range entries {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		err = c.read(e.Name(), f)
		f.Close()
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: e.Name(), Content: c.contents[e.Name()]})
	}
	sortFiles(files)
	return files, nil
}

// isTemporary says whether a failure may pass.
func isTemporary(err error) bool {
	var own interface{ temporary() bool }
	if errors.As(err, &own) {
		return own.temporary()
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return !dns.IsNotFound
	}
	var cert *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	if errors.As(err, &cert) || errors.As(err, &authority) || report.Remedy(err) != "" || errors.Is(err, syscall.ENOSPC) || errors.Is(err, fs.ErrPermission) {
		return false
	}
	var op net.Error
	return errors.As(err, &op) || errors.Is(err, errStalled) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrShortWrite)
}

// mostWords is how many characters of a server's words an error repeats: the clients of buckets take a page of 1 MiB for one.
const mostWords = 1000

// failure says that a source could not be fetched: in the words of the cause, without URLs, which may hold credentials.
func (a *address) failure(err error, attempts int) error {
	remedy := report.Remedy(err)
	var sum *getter.ChecksumError
	var u *url.Error
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	msg := ""
	switch {
	case errors.As(err, &sum):
		msg = fmt.Sprintf("the server sends other bytes than checksum= says: want %x, got %x", sum.Expected, sum.Actual)
		remedy = "find out from its publisher which is right"
	case errors.As(err, &dns):
		msg = "no address found for host " + dns.Name
		remedy = "check the host name and your network; with --offline only vendored and cached sources are used"
	case errors.As(err, &cert):
		msg = cert.Error()
		remedy = "add its authority to this machine's certificates, or name a bundle in SSL_CERT_FILE"
	case errors.Is(err, syscall.ECONNREFUSED):
		msg = "the server refuses connections"
	case errors.As(err, &u):
		msg = u.Err.Error()
	case a.kind == kindBucket && errors.Is(err, fs.ErrNotExist):
		msg = "there is no such object, and none below it"
		if a.archive != "" {
			msg = "there is no such object"
		}
		remedy = "is the URL right? an archive is followed by // and a path in it"
	case errors.Is(err, syscall.ENOSPC):
		msg = "no space left on the disk"
		remedy = "free some in the cache folder; TMPDIR and XDG_CACHE_HOME name others"
	default:
		msg = err.Error()
	}
	if attempts > 1 {
		msg += fmt.Sprintf(" (tried %d times)", attempts)
	}
	return report.Hint(remedy, "source %q: %s", a.key, report.Cut(a.scrub(msg), mostWords))
}
