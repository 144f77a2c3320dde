package cli

import (
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve NAME DIR serves a folder on loopback until the script ends, and puts the server's URL into the variable NAME.
// A file called "down" in the folder stops it: it then has no files.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	name, dir := args[0], ts.MkAbs(args[1])
	files := http.FileServer(http.Dir(dir))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(dir + "/down"); err == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		files.ServeHTTP(w, r)
	}))
	ts.Defer(srv.Close)
	ts.Setenv(name, srv.URL)
}
