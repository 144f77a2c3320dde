package source

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A server may redirect git from https to https, and not to http.
func TestGitLeavesNoHTTPS(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"top": "#!/bin/sh\n"})
	plain := strings.TrimPrefix(r.serve(nil), "git::")
	t.Setenv("GIT_SSL_NO_VERIFY", "1")
	// redirects gives a source at a server that sends everybody on to another one.
	redirects := func(to string) string {
		srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, to+strings.TrimPrefix(req.URL.Path, "/hooks.git")+"?"+req.URL.RawQuery, http.StatusFound)
		}))
		t.Cleanup(srv.Close)
		return "git::" + srv.URL + "/hooks.git//top"
	}
	_, err := fetchNew(t, redirects(plain), nil)
	if said := got(nil, err); err == nil || !strings.HasSuffix(said, "hint: the server redirects from https to http: ask its operator, or name another server\n") ||
		strings.Contains(said, "tried") {
		t.Errorf("from https to http: %s", said)
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.handler().ServeHTTP(w, req)
	}))
	defer secure.Close()
	if files, err := fetchNew(t, redirects(secure.URL+"/hooks.git"), nil); err != nil || got(files, nil) != "top: \"#!/bin/sh\\n\"\n" {
		t.Errorf("from https to https: %s", got(files, err))
	}
}
