package source

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHTTP(t *testing.T) {
	const script = "#!/bin/sh\necho hello\n"
	want := fmt.Sprintf("x.sh: %q\n", script)
	srv := serve(t, map[string]string{"/x.sh": script})
	if diff := cmp.Diff(want, got(fetchNew(t, srv.URL+"/x.sh", nil))); diff != "" {
		t.Error(diff)
	}
	t.Run("with a good checksum", func(t *testing.T) {
		src := srv.URL + "/x.sh?checksum=sha256:" + hashOf([]byte(script))
		if diff := cmp.Diff(want, got(fetchNew(t, src, nil))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("with a checksum file", func(t *testing.T) {
		srv := serve(t, map[string]string{"/x.sh": script, "/SHA256SUMS": hashOf([]byte("other")) + "  y.sh\n" + hashOf([]byte(script)) + "  x.sh\n"})
		src := srv.URL + "/x.sh?checksum=file:" + srv.URL + "/SHA256SUMS"
		if diff := cmp.Diff(want, got(fetchNew(t, src, nil))); diff != "" {
			t.Error(diff)
		}
		bad := serve(t, map[string]string{"/x.sh": "changed", "/SHA256SUMS": hashOf([]byte(script)) + "  x.sh\n"})
		_, err := fetchNew(t, bad.URL+"/x.sh?checksum=file:"+bad.URL+"/SHA256SUMS", nil)
		wantErr := "the server sends other bytes than checksum= says: want " + hashOf([]byte(script)) + ", got " + hashOf([]byte("changed"))
		if err == nil || !strings.Contains(err.Error(), wantErr) {
			t.Error(err)
		}
	})
	t.Run("a checksum needs no lock file", func(t *testing.T) {
		src := srv.URL + "/x.sh?checksum=sha256:" + hashOf([]byte(script))
		l := testLoader(t)
		spec := specIn(t, nil)
		for range 2 {
			if diff := cmp.Diff(want, got(l.Load(context.Background(), Ref{SpecFile: spec, Source: src}))); diff != "" {
				t.Error(diff)
			}
		}
		l = again(l)
		l.Offline = true
		if diff := cmp.Diff(want, got(l.Load(context.Background(), Ref{SpecFile: spec, Source: src}))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("over TLS", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, script) }))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.StartTLS()
		defer srv.Close()
		src := srv.URL + "/x.sh"
		if diff := cmp.Diff(want, got(fetchNew(t, src, func(l *Loader) { l.transport = srv.Client().Transport }))); diff != "" {
			t.Error(diff)
		}
		_, err := fetchNew(t, src, nil)
		if err == nil || !strings.Contains(err.Error(), "certificate") || strings.Contains(err.Error(), "tried") {
			t.Errorf("without its authority: %v", err)
		}
	})
	t.Run("with a login from netrc", func(t *testing.T) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, pass, _ := r.BasicAuth(); user != "me" || pass != "hidden" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			io.WriteString(w, script)
		}))
		defer srv.Close()
		_, err := fetchNew(t, srv.URL+"/x.sh", nil)
		wantErr := fmt.Sprintf("error: source %q: the server says 401 Unauthorized\nhint: put user and password for the host into ~/.netrc\n", srv.URL+"/x.sh")
		if diff := cmp.Diff(wantErr, got(nil, err)); diff != "" {
			t.Error(diff)
		}
		netrc := filepath.Join(t.TempDir(), "netrc")
		if err := os.WriteFile(netrc, []byte("machine "+strings.TrimPrefix(srv.URL, "http://")+" login me password hidden\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("NETRC", netrc)
		if diff := cmp.Diff(want, got(fetchNew(t, srv.URL+"/x.sh", nil))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("without a home folder", func(t *testing.T) {
		for _, v := range []string{"HOME", "XDG_CACHE_HOME", "NETRC"} {
			t.Setenv(v, "")
			os.Unsetenv(v)
		}
		if diff := cmp.Diff(want, got(fetchNew(t, srv.URL+"/x.sh", func(l *Loader) { l.CacheDir = "" }))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("plain http without checksum warns once, when it is locked", func(t *testing.T) {
		var warnings []string
		if _, err := fetchNew(t, srv.URL+"/x.sh", func(l *Loader) { l.Warn = func(s string) { warnings = append(warnings, s) } }); err != nil {
			t.Fatal(err)
		}
		want := []string{fmt.Sprintf("source %q: comes unencrypted and unchecked the first time: use https, or add checksum=sha256:HEX", srv.URL+"/x.sh")}
		if diff := cmp.Diff(want, warnings); diff != "" {
			t.Error(diff)
		}
	})
}

// What a server may do, and what is said of it.
func TestHTTPBadServers(t *testing.T) {
	blocked := make(chan struct{})
	defer close(blocked)
	block := func(r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-blocked:
		}
	}
	for name, c := range map[string]struct {
		handler  http.HandlerFunc
		want     string
		requests int32 // 0: any number
	}{
		"stalls before it answers": {
			func(w http.ResponseWriter, r *http.Request) { block(r) },
			"the server sent nothing for 50ms (tried 3 times)\n", 0},
		"stalls in the middle": {
			func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "#!/bin/sh\n")
				w.(http.Flusher).Flush()
				block(r)
			},
			"the server sent nothing for 50ms (tried 3 times)\n", 0},
		"redirects for ever": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
			},
			"the server redirects more than 10 times\nhint: give the URL that it redirects to in the end\n", 10},
		"redirects to another scheme": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
			},
			"the server redirects from http to file\nhint: ask its operator, or name another server\n", 1},
		"sends 10 GB, and says so": {
			func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "10737418240") },
			"it is larger than 1 MiB\nhint: embed less; the node can download large files itself: url: and sha256:\n", 1},
		"sends without end": {
			func(w http.ResponseWriter, r *http.Request) {
				b := make([]byte, 1<<16)
				for r.Context().Err() == nil {
					if _, err := w.Write(b); err != nil {
						return
					}
				}
			},
			"it is larger than 1 MiB\nhint: embed less; the node can download large files itself: url: and sha256:\n", 1},
		"sends more than is embedded": {
			func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 5000)) },
			"it is larger than 4096 bytes\nhint: have the node download it: a file with url: and sha256:, or in phase daemon the script itself\n", 1},
		"sends less than it says": {
			func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "100")
				io.WriteString(w, "#!/bin/sh\n")
			},
			"unexpected EOF (tried 3 times)\n", 3},
		"breaks down": {
			func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) },
			"the server says 500 Internal Server Error (tried 3 times)\n", 3},
		"has no such file": {
			func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) },
			"the server says 404 Not Found\nhint: is the URL right? some servers say so too when a login is missing\n", 1},
		"names another getter in X-Terraform-Get": {
			func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Terraform-Get", "git::https://evil.example.com/x")
				w.WriteHeader(404)
			},
			"the server says 404 Not Found\nhint: is the URL right? some servers say so too when a login is missing\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				c.handler(w, r)
			}))
			defer srv.Close()
			src := srv.URL + "/x.sh"
			files, err := fetchNew(t, src, func(l *Loader) {
				if strings.Contains(name, "stalls") {
					l.Limits.Stall = 50 * time.Millisecond
				}
			})
			if diff := cmp.Diff(fmt.Sprintf("error: source %q: ", src)+c.want, got(files, err)); diff != "" {
				t.Error(diff)
			}
			if n := requests.Load(); c.requests != 0 && n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}

	t.Run("leaves https", func(t *testing.T) {
		srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/x", http.StatusFound)
		}))
		defer srv.Close()
		_, err := fetchNew(t, srv.URL+"/x.sh", func(l *Loader) { l.transport = srv.Client().Transport })
		if diff := cmp.Diff(fmt.Sprintf("error: source %q: the server redirects from https to http\nhint: ask its operator, or name another server\n", srv.URL+"/x.sh"), got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("repeats a credential in what cannot be parsed", func(t *testing.T) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://%zz/"+r.URL.Query().Get("token"))
			w.WriteHeader(http.StatusFound)
		}))
		defer srv.Close()
		_, err := fetchNew(t, srv.URL+"/x.sh?token=hidden", nil)
		if err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), `failed to parse Location header "http://%zz/REDACTED"`) {
			t.Error(err)
		}
	})
	t.Run("leads elsewhere", func(t *testing.T) {
		var referers []string
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			referers = append(referers, r.Header["Referer"]...)
			io.WriteString(w, "#!/bin/sh\n")
		}))
		defer other.Close()
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/x.sh", http.StatusFound)
		}))
		defer srv.Close()
		files, err := fetchNew(t, srv.URL+"/x.sh?token=hidden", nil)
		if diff := cmp.Diff("x.sh: \"#!/bin/sh\\n\"\n", got(files, err)); diff != "" {
			t.Error(diff)
		}
		if len(referers) > 0 {
			t.Errorf("the other server is told %q", referers)
		}
	})
	t.Run("recovers", func(t *testing.T) {
		var n atomic.Int32
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			io.WriteString(w, "#!/bin/sh\n")
		}))
		defer srv.Close()
		if diff := cmp.Diff("x.sh: \"#!/bin/sh\\n\"\n", got(fetchNew(t, srv.URL+"/x.sh", nil))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("is not there", func(t *testing.T) {
		srv := httptest.NewServer(http.NotFoundHandler())
		srv.Close()
		_, err := fetchNew(t, srv.URL+"/x.sh", nil)
		if diff := cmp.Diff(fmt.Sprintf("error: source %q: the server refuses connections (tried 3 times)\n", srv.URL+"/x.sh"), got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("has no address", func(t *testing.T) {
		_, err := fetchNew(t, "https://kopshook.invalid/x.sh", nil)
		if err == nil || !strings.Contains(err.Error(), `source "https://kopshook.invalid/x.sh": no address found for host kopshook.invalid`) {
			t.Error(err)
		}
	})
	t.Run("is given up at Ctrl-C", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "#!/bin/sh\n")
			w.(http.Flusher).Flush()
			cancel()
			block(r)
		}))
		defer srv.Close()
		l := testLoader(t)
		_, err := l.Lock(ctx, refsOf(specIn(t, nil), srv.URL+"/x.sh"), nil)
		if err != context.Canceled {
			t.Errorf("error %v", err)
		}
		if left := filesBelow(t, l.CacheDir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	return files
}

func TestCredentialsAreNotShown(t *testing.T) {
	const token, password = "tok3n-value", "p%40ss-w0rd"
	handlers := map[string]http.HandlerFunc{
		"forbidden": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) },
		"echoing": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "gopher://"+token+"/p@ss-w0rd", http.StatusFound)
		},
		"other bytes": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.String()) },
	}
	for name, h := range handlers {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(h)
			defer srv.Close()
			host := strings.TrimPrefix(srv.URL, "http://")
			for _, src := range []string{
				"http://me:" + password + "@" + host + "/x.sh?access_token=" + token + "&checksum=sha256:" + strings.Repeat("00", 32),
				"git::http://me:" + password + "@" + host + "/x.git?ref=v1",
			} {
				var said []string
				l := testLoader(t)
				l.Warn = func(s string) { said = append(said, s) }
				spec := specIn(t, nil)
				if err := lockAll(t, l, spec, src); err == nil {
					t.Fatalf("%s was locked", src)
				} else {
					said = append(said, got(nil, err))
				}
				_, err := again(l).Load(context.Background(), Ref{SpecFile: spec, Source: src})
				said = append(said, got(nil, err))
				for _, s := range said {
					for _, secret := range []string{token, password, "p@ss-w0rd"} {
						if strings.Contains(s, secret) {
							t.Errorf("%q stands in %s", secret, s)
						}
					}
				}
			}
		})
	}
	t.Run("in the lock file", func(t *testing.T) {
		srv := serve(t, map[string]string{"/x.sh": "#!/bin/sh\n"})
		host := strings.TrimPrefix(srv.URL, "http://")
		src := "http://me:" + password + "@" + host + "/x.sh?token=" + token
		l := testLoader(t)
		spec := specIn(t, nil)
		if err := lockAll(t, l, spec, src); err != nil {
			t.Fatal(err)
		}
		lock, err := os.ReadFile(lockPath(spec))
		if err != nil {
			t.Fatal(err)
		}
		if s := string(lock); strings.Contains(s, token) || strings.Contains(s, "w0rd") || !strings.Contains(s, "source: "+srv.URL+"/x.sh?token=REDACTED\n") {
			t.Error(s)
		}
		rotated := strings.Replace(src, token, "another", 1)
		if diff := cmp.Diff("x.sh: \"#!/bin/sh\\n\"\n", got(again(l).Load(context.Background(), Ref{SpecFile: spec, Source: rotated}))); diff != "" {
			t.Error(diff)
		}
	})
}
