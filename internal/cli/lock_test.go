package cli

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve NAME DIR serves a folder on loopback until the script ends, and puts the server's URL into the variable NAME.
// A file called "down" in the folder stops it: it then has no files. Of files called stall* it sends the beginning, and
// then nothing.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	name, dir := args[0], ts.MkAbs(args[1])
	files := http.FileServer(http.Dir(dir))
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(dir + "/down"); err == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/stall") {
			w.Write([]byte("#!/bin/sh\n"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		files.ServeHTTP(w, r)
	}))
	ts.Defer(srv.Close)
	if len(args) > 2 { // tls
		srv.StartTLS()
		cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
		ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), cert, 0o644))
		ts.Setenv("SSL_CERT_FILE", ts.MkAbs("ca.pem"))
	} else {
		srv.Start()
	}
	ts.Setenv(name, srv.URL)
}
