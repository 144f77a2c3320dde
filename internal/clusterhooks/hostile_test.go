package clusterhooks

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Extension servers that misbehave: each is an error that failurePolicy is about, in few words, and soon.
func TestExtensionsThatMisbehave(t *testing.T) {
	const soon = 200 * time.Millisecond // the limit of a call that gets no answer however long it waits
	handlers := func(n int) string {
		h := `{"name": "h%d", "requestHook": {"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "BeforeClusterDelete"}},`
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, h, i)
		}
		return `{"status": "Success", "handlers": [` + strings.TrimSuffix(b.String(), ",") + `]}`
	}
	noAnswer := "no answer within " + soon.String()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	drip := func(w http.ResponseWriter, r *http.Request, text string) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"never answers":             {func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, noAnswer},
		"sends a byte now and then": {func(w http.ResponseWriter, r *http.Request) { drip(w, r, " ") }, noAnswer},
		"sends notes before it does": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			<-r.Context().Done()
		}, noAnswer},
		"sends headers without end": {func(w http.ResponseWriter, r *http.Request) {
			for i := range 40 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 64<<10))
			}
		}, "net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 1048576 bytes; aborted"},
		"sends much in little": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(make([]byte, 100<<20))
			z.Close()
		}, "its answer is larger than 1 MiB"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "redirects to " + other.URL},
		"says that all is moved":    {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) }, "it answered 304 Not Modified: (nothing)"},
		"says nothing":              {func(w http.ResponseWriter, r *http.Request) {}, "its answer is no Runtime SDK response: (nothing)"},
		"sends a page":              {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>\n::error::x\r\x00") }, "its answer is no Runtime SDK response: <html> ::error::x \x00"},
		"sends a list":              {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "[]") }, "its answer is no Runtime SDK response: []"},
		"nests":                     {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("[", 500_000)) }, "its answer is no Runtime SDK response: " + strings.Repeat("[", 200) + "..."},
		"has 100,000 handlers":      {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, handlers(100_000)) }, "its answer is larger than 1 MiB"},
		"has thousands of handlers": {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, handlers(5000)) }, "it has 5000 handlers; kopshook calls at most 100"},
		"breaks off": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "{")
		}, "unexpected EOF"},
		"hangs up": {func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body) // before that the server does not notice that nobody listens
				c.handler(w, r)
			}))
			srv.Config.ErrorLog = log.New(io.Discard, "", 0)
			srv.Start()
			defer srv.Close()
			client, err := newClient(srv.URL, tlsFiles{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.close()
			limit := time.Minute
			if c.want == noAnswer {
				limit = soon
			}
			_, err = client.discoverWithin(t.Context(), limit)
			var call callError
			if !errors.As(err, &call) || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
}

// An answer may be as large as the limit, and no byte larger.
func TestAnswersExactlyAtTheLimit(t *testing.T) {
	for size, want := range map[int]bool{maxAnswer: true, maxAnswer + 1: false} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			const answer = `{"status": "Success"}`
			io.WriteString(w, answer+strings.Repeat(" ", size-len(answer)))
		}))
		defer srv.Close()
		client, err := newClient(srv.URL, tlsFiles{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer client.close()
		if _, err := client.discover(t.Context()); (err == nil) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestMessagesOfExtensionsAreOneLine(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"status": "Failure", "message": "no\n::error::made up %s"}`, strings.Repeat("x", 5000))
	}))
	defer srv.Close()
	client, err := newClient(srv.URL, tlsFiles{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.close()
	_, err = client.discover(t.Context())
	if want := "it answered Failure: no ::error::made up " + strings.Repeat("x", maxMessage-20) + "..."; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
