package source

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slowServer answers every request with a byte after each pause. It is no real one: time is that of synctest's bubble.
type slowServer struct {
	bytes int // 0: without end
	pause time.Duration
}

func (s slowServer) RoundTrip(req *http.Request) (*http.Response, error) {
	r, w := io.Pipe()
	go func() {
		for i := 0; s.bytes == 0 || i < s.bytes; i++ {
			select {
			case <-req.Context().Done():
				w.CloseWithError(req.Context().Err())
				return
			case <-time.After(s.pause):
			}
			if _, err := io.WriteString(w, "x"); err != nil {
				return
			}
		}
		w.Close()
	}()
	return &http.Response{StatusCode: 200, Status: "200 OK", Proto: "HTTP/1.1", ContentLength: -1, Body: r, Request: req, Header: http.Header{}}, nil
}

// Limits of time, exactly: just below them all is well.
func TestTimeThatASourceMayTake(t *testing.T) {
	const src = "https://example.com/x.sh"
	for name, c := range map[string]struct {
		server      slowServer
		stall, time time.Duration
		want        string
		after       time.Duration
	}{
		"is not counted while something comes": {slowServer{20, 9 * time.Second}, 10 * time.Second, time.Hour,
			fmt.Sprintf("x.sh: %q\n", strings.Repeat("x", 20)), 180 * time.Second},
		"ends with silence": {slowServer{20, 11 * time.Second}, 10 * time.Second, time.Hour,
			fmt.Sprintf("error: source %q: the server sent nothing for 10s (tried 3 times)\n", src), 30 * time.Second},
		"ends in all": {slowServer{0, time.Second}, 10 * time.Second, time.Minute,
			fmt.Sprintf("error: source %q: not finished after 1m0s\n", src), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				files, err := fetchNew(t, src, func(l *Loader) {
					l.transport, l.Limits.Stall, l.Limits.Time = c.server, c.stall, c.time
				})
				if diff := cmp.Diff(c.want, got(files, err)); diff != "" {
					t.Error(diff)
				}
				if took := time.Since(start).Round(time.Second); took != c.after {
					t.Errorf("it took %s, want %s", took, c.after)
				}
			})
		})
	}
}

func TestProgressOfAFetchIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var terminal strings.Builder
		if _, err := fetchNew(t, "https://example.com/x.sh", func(l *Loader) {
			l.transport, l.Progress = slowServer{3, time.Second}, &terminal
		}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !strings.Contains(terminal.String(), "fetching https://example.com/x.sh 2 bytes\n") {
			t.Errorf("shown: %q", terminal.String())
		}
	})
}
