package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// azureStorage plays the blob service of one account, as Azurite 3.35 answers: to whoever has the token, in memory.
type azureStorage struct {
	mu    sync.Mutex
	blobs map[string][]byte
}

func (s *azureStorage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(status int, code string) {
		w.Header().Set("x-ms-error-code", code)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		io.WriteString(w, "<?xml version=\"1.0\"?><Error><Code>"+code+"</Code><Message>no</Message></Error>")
	}
	container, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch data, ok := s.blobs[r.URL.Path]; {
	case r.Host != "example.blob.core.windows.net" || r.Header.Get("Authorization") != "Bearer t0ken" || r.Header.Get("x-ms-version") == "":
		refuse(http.StatusForbidden, "AuthenticationFailed")
	case container == "private":
		refuse(http.StatusForbidden, "AuthorizationPermissionMismatch")
	case r.Method == http.MethodPut && r.URL.Query().Get("restype") == "container":
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPut && r.Header.Get("x-ms-blob-type") == "BlockBlob":
		s.blobs[r.URL.Path], _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodGet && ok:
		w.Write(data)
	case r.Method == http.MethodGet:
		refuse(http.StatusNotFound, "BlobNotFound")
	default:
		refuse(http.StatusBadRequest, "UnsupportedHttpVerb")
	}
}

// azure stands between the script's programs and Azure: a proxy on loopback that leads all of them to azureStorage. The
// script has the program az, whose login is used.
func azure(ts *testscript.TestScript, _ bool, _ []string) {
	storage := httptest.NewUnstartedServer(&azureStorage{blobs: map[string][]byte{}})
	cert := certificateFor(ts, "example.blob.core.windows.net")
	storage.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	storage.StartTLS()
	ts.Defer(storage.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there, err := net.Dial("tcp", storage.Listener.Addr().String())
		if r.Method != http.MethodConnect || err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { io.Copy(there, here); there.Close() }()
		io.Copy(here, there)
		here.Close()
	}))
	ts.Defer(proxy.Close)
	file := filepath.Join(ts.Getenv("WORK"), "azure.pem")
	ts.Check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}), 0o600))
	ts.Setenv("SSL_CERT_FILE", file)
	ts.Setenv("HTTPS_PROXY", proxy.URL)
	ts.Setenv("AZURE_TOKEN_CREDENTIALS", "AzureCLICredential")
	ts.Setenv("PATH", filepath.Join(ts.Getenv("WORK"), "bin")+string(os.PathListSeparator)+ts.Getenv("PATH"))
}

// certificateFor makes a certificate for a host, signed by itself.
func certificateFor(ts *testscript.TestScript, host string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{host}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
