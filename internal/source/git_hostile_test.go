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
	to := ""
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, to+strings.TrimPrefix(req.URL.Path, "/hooks.git")+"?"+req.URL.RawQuery, http.StatusFound)
	}))
	defer srv.Close()
	src := "git::" + srv.URL + "/hooks.git//top"
	to = plain
	_, err := fetchNew(t, src, nil)
	if said := got(nil, err); err == nil || !strings.HasSuffix(said, "hint: the server redirects from https to http: ask its operator, or name another server\n") ||
		strings.Contains(said, "tried") {
		t.Errorf("from https to http: %s", said)
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.handler().ServeHTTP(w, req)
	}))
	defer secure.Close()
	to = secure.URL + "/hooks.git"
	if files, err := fetchNew(t, src, nil); err != nil || got(files, nil) != "top: \"#!/bin/sh\\n\"\n" {
		t.Errorf("from https to https: %s", got(files, err))
	}
}
