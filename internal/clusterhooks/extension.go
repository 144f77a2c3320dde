package clusterhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"kopshook.dev/kopshook/internal/report"
)

const (
	// defaultHandlerTimeout and maxHandlerTimeout are Cluster API's (internal/runtime/client/client.go).
	defaultHandlerTimeout = 10 * time.Second
	maxHandlerTimeout     = 30 * time.Second

	// maxAnswer bounds what is read of an answer.
	maxAnswer = 1 << 20

	// maxHandlers and maxMessage bound what is made of one.
	maxHandlers = 100
	maxMessage  = 1000
)

// client calls the handlers of one extension server.
type client struct {
	base     *url.URL
	settings map[string]string
	http     *http.Client
	tls      *tls.Config
	inside   *inside // what it takes from a cluster, nil for nothing
}

// tlsFiles holds the bytes that make a client: PEM, nil where there are none.
type tlsFiles struct {
	ca, cert, key []byte
	serverName    string
}

// newClient makes a client for the server at base. Without a CA the system's are trusted.
func newClient(base string, files tlsFiles, settings map[string]string) (*client, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: files.serverName}
	if files.ca != nil {
		if err := trust(config, files.ca, "the CA bundle"); err != nil {
			return nil, err
		}
	}
	if files.cert != nil {
		pair, err := tls.X509KeyPair(files.cert, files.key)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return &client{base: u, settings: settings, tls: config, http: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxAnswer},
		CheckRedirect: func(req *http.Request, _ []*http.Request) error {
			return fmt.Errorf("redirects to %s", req.URL.Redacted())
		},
	}}, nil
}

// trust makes the certificates of a PEM file the only ones that count.
func trust(config *tls.Config, pem []byte, what string) error {
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return report.Hint("give PEM: -----BEGIN CERTIFICATE-----", "%s holds no certificate", what)
	}
	return nil
}

func (c *client) close() {
	c.http.CloseIdleConnections()
	if c.inside != nil && c.inside.tunnel != nil {
		c.inside.tunnel.Close()
	}
}

// callError is a call that gave no valid answer. failurePolicy: Ignore is about these, and not about an extension that
// answers Failure.
type callError struct{ error }

func (e callError) Unwrap() error { return e.error }

// discover asks which handlers the server has, and sets their defaults.
func (c *client) discover(ctx context.Context) ([]handler, error) {
	return c.discoverWithin(ctx, defaultHandlerTimeout)
}

func (c *client) discoverWithin(ctx context.Context, timeout time.Duration) ([]handler, error) {
	req := discoveryRequest{APIVersion: runtimeGroup + "/" + runtimeVersion, Kind: "DiscoveryRequest"}
	resp, err := c.call(ctx, timeout, req, "discovery")
	if err != nil {
		return nil, err
	}
	if resp.Status == statusFailure {
		return nil, fmt.Errorf("it answered Failure: %s", resp.Message)
	}
	if err := checkHandlers(resp.Handlers); err != nil {
		return nil, callError{err}
	}
	// its own server lists them in random order
	slices.SortFunc(resp.Handlers, func(a, b handler) int { return strings.Compare(a.Name, b.Name) })
	return resp.Handlers, nil
}

// checkHandlers holds a discovery against Cluster API's rules (internal/runtime/client/client.go,
// defaultAndValidateDiscoveryResponse).
func checkHandlers(handlers []handler) error {
	if len(handlers) > maxHandlers {
		return fmt.Errorf("it has %d handlers; kopshook calls at most %d", len(handlers), maxHandlers)
	}
	label := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	seen := map[string]bool{}
	var errs []error
	for _, h := range handlers {
		if !label.MatchString(h.Name) {
			errs = append(errs, fmt.Errorf("handler name %q is not a DNS label", h.Name))
		}
		if seen[h.Name] {
			errs = append(errs, fmt.Errorf("there are two handlers called %q", h.Name))
		}
		seen[h.Name] = true
		if t := h.TimeoutSeconds; t != nil && (*t < 0 || *t > int32(maxHandlerTimeout.Seconds())) {
			errs = append(errs, fmt.Errorf("timeoutSeconds of handler %q is %d; it must be between 0 and 30", h.Name, *t))
		}
		if p := h.FailurePolicy; p != nil && *p != policyFail && *p != policyIgnore {
			errs = append(errs, fmt.Errorf("failurePolicy of handler %q is %q; it must be Fail or Ignore", h.Name, *p))
		}
		if v := h.RequestHook.APIVersion; v != runtimeGroup+"/"+runtimeVersion {
			errs = append(errs, fmt.Errorf("handler %q speaks %q; kopshook speaks %s/%s", h.Name, v, runtimeGroup, runtimeVersion))
		}
	}
	return errors.Join(errs...)
}

func (h *handler) timeout() time.Duration {
	if h.TimeoutSeconds == nil || *h.TimeoutSeconds == 0 {
		return defaultHandlerTimeout
	}
	return time.Duration(*h.TimeoutSeconds) * time.Second
}

func (h *handler) ignoresErrors() bool {
	return h.FailurePolicy != nil && *h.FailurePolicy == policyIgnore
}

// callHandler calls a handler once. The answer's status is Success; retryAfterSeconds may ask to come again.
func (c *client) callHandler(ctx context.Context, h *handler, event Event, cluster *Cluster) (*response, error) {
	hook := runtimeHooks[event]
	resp, err := c.call(ctx, h.timeout(), hookRequestFor(event, cluster, c.settings), strings.ToLower(hook.name), strings.ToLower(h.Name))
	if err != nil {
		return nil, err
	}
	switch {
	case resp.Status == statusFailure:
		return nil, fmt.Errorf("it answered Failure: %s", resp.Message)
	case resp.RetryAfterSeconds < 0:
		return nil, callError{fmt.Errorf("its answer has retryAfterSeconds %d", resp.RetryAfterSeconds)}
	case !hook.blocking:
		resp.RetryAfterSeconds = 0
	}
	return resp, nil
}

// call posts a request and decodes the answer.
func (c *client) call(ctx context.Context, timeout time.Duration, request any, path ...string) (*response, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if err := c.connect(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, callError{err}
	}
	u := c.base.JoinPath(append([]string{runtimeGroup, runtimeVersion}, path...)...)
	u.RawQuery = url.Values{"timeout": {timeout.String()}}.Encode()
	callCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(callCtx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.transportError(ctx, err, timeout)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.transportError(ctx, err, timeout)
	case resp.StatusCode != http.StatusOK:
		return nil, callError{fmt.Errorf("it answered %s: %s", resp.Status, excerpt(answer))}
	case len(answer) > maxAnswer:
		return nil, callError{fmt.Errorf("its answer is larger than %d MiB", maxAnswer>>20)}
	}
	var r response
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, callError{fmt.Errorf("its answer is no Runtime SDK response: %s", excerpt(answer))}
	}
	if r.APIVersion != "" && r.APIVersion != runtimeGroup+"/"+runtimeVersion {
		return nil, callError{fmt.Errorf("its answer is of %q; kopshook speaks %s/%s", r.APIVersion, runtimeGroup, runtimeVersion)}
	}
	if r.Status != statusSuccess && r.Status != statusFailure {
		return nil, callError{fmt.Errorf("its answer has the status %q, neither Success nor Failure: %s", r.Status, excerpt(answer))}
	}
	r.Message = oneLine(r.Message, maxMessage)
	return &r, nil
}

// transportError says why there was no answer. An interrupt is none of the extension's faults.
func (c *client) transportError(ctx context.Context, err error, timeout time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var (
		unknownCA x509.UnknownAuthorityError
		wrongName x509.HostnameError
		invalid   x509.CertificateInvalidError
		remedy    = "look whether the extension server runs at " + c.base.Redacted()
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s", timeout)
	case errors.As(err, &unknownCA):
		remedy = "give the CA that signed its certificate as caBundle, caFile or caSecret"
	case errors.As(err, &wrongName):
		remedy = "give the name that its certificate is for as serverName"
	case errors.As(err, &invalid):
		remedy = "renew its certificate"
	case c.inside != nil && c.inside.tunnel != nil:
		remedy = "look at the pod: does the server listen on the port of its Service?"
	}
	return callError{report.Hint(remedy, "%w", err)}
}

// excerpt is the beginning of an answer, on one line.
func excerpt(b []byte) string {
	if s := oneLine(string(b), 200); s != "" {
		return s
	}
	return "(nothing)"
}

// oneLine is a text on one line, at most so many characters of it.
func oneLine(s string, most int) string {
	return report.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " "), most)
}
