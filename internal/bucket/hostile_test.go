package bucket

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/kops/util/pkg/vfs"
)

// What a server sends without an end, and pages that it sends as errors, do not fill memory or a terminal.
func TestAnswersAreBounded(t *testing.T) {
	var told atomic.Bool
	endless := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			words := make([]byte, 1<<20)
			for range 4 << 10 { // nobody can stop who reads it
				if _, err := w.Write(words); err != nil || told.Load() {
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"an object without an end": {endless(http.StatusOK), "larger than 512 MiB"},
		"an error without an end":  {endless(http.StatusForbidden), "larger than 512 MiB"},
		"a page as an error": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			w.Write([]byte("<Error><Code>AccessDenied</Code><Message>" + strings.Repeat("no ", 10_000) + "</Message></Error>"))
		}, "AccessDenied: no no"},
	} {
		t.Run(name, func(t *testing.T) {
			told.Store(false)
			srv := httptest.NewServer(c.handler)
			defer readersAreGone(t)
			defer srv.Close()
			for name, value := range map[string]string{
				"S3_ENDPOINT": srv.URL, "S3_REGION": "us-east-1", "S3_ACCESS_KEY_ID": "id", "S3_SECRET_ACCESS_KEY": "secret", "AWS_MAX_ATTEMPTS": "1",
			} {
				t.Setenv(name, value)
			}
			b := Buckets{VFS: vfs.NewVFSContext()}
			err := b.Check(t.Context(), "s3://bucket/prefix", "abc")
			told.Store(true)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1200 {
				t.Errorf("got %.200v, want %q in at most 1200 bytes", err, c.want)
			}
		})
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
