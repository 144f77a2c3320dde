package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	getter "github.com/hashicorp/go-getter/v2"

	"kopshook.dev/kopshook/internal/report"
)

const maxRedirects = 10

// newHTTPGetter returns go-getter's getter for one download. Its own limits have gaps (a body without a length is
// silently cut at MaxBytes, ReadTimeout bounds the whole download), so the limits are those of the transport.
func newHTTPGetter(base http.RoundTripper, limits Limits, item *progressItem) *getter.HttpGetter {
	if base == nil {
		base = http.DefaultTransport
	}
	_, noHome := os.UserHomeDir()
	return &getter.HttpGetter{
		Netrc:                 noHome == nil || os.Getenv("NETRC") != "",
		Header:                http.Header{"User-Agent": {"kopshook"}},
		DoNotCheckHeadFirst:   true, // it asks whether a download can be resumed; ours are new
		XTerraformGetDisabled: true, // a server must not choose another getter
		Client: &http.Client{
			Transport:     &transport{base: base, limits: limits, item: item},
			CheckRedirect: checkRedirect,
		},
	}
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return report.Hint("give the URL that it redirects to in the end", "the server redirects more than %d times", maxRedirects)
	}
	req.Header.Del("Referer") // it carries the query, and a token in it, to the next server
	if from, to := via[len(via)-1].URL.Scheme, req.URL.Scheme; to != "https" && to != from {
		return report.Hint("ask its operator, or name another server", "the server redirects from %s to %s", from, to)
	}
	return nil
}

// transport bounds a download: its bytes, and the time without any. Answers that are errors are errors here, but for
// those that whoever asks wants to read.
type transport struct {
	base   http.RoundTripper
	limits Limits
	item   *progressItem
	reads  func(status int) bool
}

var errStalled = errors.New("the server sent nothing")

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stalled := fmt.Errorf("%w for %s", errStalled, t.limits.Stall)
	timer := time.AfterFunc(t.limits.Stall, func() { cancel(stalled) })
	stop := func() {
		timer.Stop()
		cancel(nil)
	}
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cause := context.Cause(ctx)
		stop()
		if cause != nil {
			return nil, cause
		}
		return nil, err
	}
	if resp.StatusCode >= 400 && (t.reads == nil || !t.reads(resp.StatusCode)) {
		stop()
		resp.Body.Close()
		return nil, &statusError{code: resp.StatusCode}
	}
	if resp.ContentLength > t.limits.Download {
		stop()
		resp.Body.Close()
		return nil, tooMuch(t.limits.Download)
	}
	t.item.expect(resp.ContentLength)
	resp.Body = &body{ReadCloser: resp.Body, transport: t, ctx: ctx, timer: timer, stop: stop, left: t.limits.Download}
	return resp, nil
}

type body struct {
	io.ReadCloser
	transport *transport
	ctx       context.Context
	timer     *time.Timer
	stop      func()
	left      int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.timer.Reset(b.transport.limits.Stall)
	b.transport.item.add(int64(n))
	if b.left -= int64(n); b.left < 0 {
		return 0, tooMuch(b.transport.limits.Download)
	}
	if err != nil && err != io.EOF {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

func (b *body) Close() error {
	b.stop()
	return b.ReadCloser.Close()
}

func tooMuch(limit int64) error {
	return report.Hint("embed less; the node can download large files itself: url: and sha256:", "it is larger than %s", size(limit))
}

// statusError is an answer of a server that is no success.
type statusError struct {
	code     int
	registry string // its host, if it is one
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the server says %d %s", e.code, http.StatusText(e.code))
}

func (e *statusError) temporary() bool {
	return e.code == http.StatusRequestTimeout || e.code == http.StatusTooManyRequests || e.code >= 500 && e.code != http.StatusNotImplemented
}

func (e *statusError) Hint() string {
	if e.registry != "" {
		return e.registryHint()
	}
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "put user and password for the host into ~/.netrc"
	case http.StatusNotFound, http.StatusGone:
		return "is the URL right? some servers say so too when a login is missing"
	}
	return ""
}
