package source

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An answer that is an error, or breaks off, is never taken for the source.
func TestBucketsThatMisbehave(t *testing.T) {
	refuse := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/b/") {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				io.WriteString(w, `{"error": {"code": `+fmt.Sprint(status)+`, "message": "`+code+`"}}`)
				return
			}
			w.WriteHeader(status)
			io.WriteString(w, "<Error><Code>"+code+"</Code><Message>words of the server</Message></Error>")
		}
	}
	var told atomic.Bool // the command has said its word
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		s3, gs  string // what the error says
	}{
		"403": {refuse(http.StatusForbidden, "AccessDenied"), "StatusCode: 403, RequestID: , HostID: , api error AccessDenied: words of the server", "HTTP response code 403"},
		"404": {refuse(http.StatusNotFound, "NoSuchBucket"), "StatusCode: 404, RequestID: , HostID: , api error NoSuchBucket", "there is no such object, and none below it"},
		"500 with a page": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, "<html>\x1b[2J\n::error::made up")
		}, "StatusCode: 500", "HTTP response code 500"},
		"breaks off": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "#!/bin/sh\n")
		}, "unexpected EOF", "unexpected EOF"},
		"never ends": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			words := make([]byte, 1<<20)
			for range 4 << 10 { // nobody can stop who reads it
				if _, err := w.Write(words); err != nil || told.Load() {
					return
				}
			}
		}, "the answer is larger than 512 MiB", "HTTP response code 403"},
		"hangs up": {func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, "EOF", "EOF"},
	} {
		for _, scheme := range []string{"s3", "gs"} {
			t.Run(scheme+": "+name, func(t *testing.T) {
				told.Store(false)
				srv := httptest.NewServer(c.handler)
				defer readersAreGone(t)
				defer srv.Close()
				t.Setenv("S3_ENDPOINT", srv.URL)
				t.Setenv("S3_REGION", "us-east-1")
				t.Setenv("S3_ACCESS_KEY_ID", "id")
				t.Setenv("S3_SECRET_ACCESS_KEY", "secret")
				t.Setenv("AWS_MAX_ATTEMPTS", "1")
				use := useBuckets(t, srv)
				files, err := fetchNew(t, scheme+"://bucket/x.sh", use)
				told.Store(true)
				want := map[string]string{"s3": c.s3, "gs": c.gs}[scheme]
				if said := got(files, err); err == nil || len(files) > 0 || !strings.HasPrefix(said, `error: source "`+scheme+`://bucket/x.sh": `) || !strings.Contains(said, want) || len(said) > 1200 {
					t.Errorf("%s, want %q", said, want)
				}
			})
		}
	}
}

// readersAreGone waits until nobody reads an answer without an end any more: what that takes of memory would count for the next.
func readersAreGone(t *testing.T) {
	stacks := make([]byte, 4<<20)
	for deadline := time.Now().Add(time.Minute); strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "io.ReadAll("); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("an answer is still read")
		}
	}
}
