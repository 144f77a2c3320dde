//go:build unix

package clusterhooks_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kopshook.dev/kopshook/internal/kube/kubetest"
)

// startExtension starts a server of runtime extensions that behaves as named, and writes a spec that names it:
// extension MODE SPEC [LINE...]. The lines go below the extension, into the spec. It notes the calls that it gets in
// $LOG. Servers that behave well are Cluster API's own: see capitest.
func startExtension(ts *testscript.TestScript, _ bool, args []string) {
	mode, spec := args[0], args[1]
	server := newExtension(ts, mode)
	if mode != "plain-http" {
		server.StartTLS()
	} else {
		server.Start()
	}
	ts.Defer(server.Close)
	url := strings.Replace(server.URL, "http://", "https://", 1)
	ca := ""
	if cert := server.Certificate(); cert != nil && mode != "unknown-ca" {
		file := ts.MkAbs("ca.pem")
		ts.Check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), 0o600))
		ca = "      caFile: ca.pem\n"
	}
	if mode == "down" {
		server.Close()
	}
	text := fmt.Sprintf("apiVersion: kopshook.dev/v1alpha1\nkind: ClusterHooks\nmetadata:\n  name: extensions\nspec:\n  selector: {}\n  extensions:\n"+
		"  - name: ext\n    clientConfig:\n      url: %s\n%s", url, ca)
	for _, line := range args[2:] {
		text += line + "\n"
	}
	ts.Check(os.WriteFile(ts.MkAbs(spec), []byte(text), 0o600))
}

// newExtension makes a server that behaves as named; it is not started.
func newExtension(ts *testscript.TestScript, mode string) *httptest.Server {
	file := ts.Getenv("LOG")
	var calls atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		path := strings.TrimPrefix(req.URL.Path, "/hooks.runtime.cluster.x-k8s.io/v1alpha1/")
		noteTo(file, "extension: "+path)
		if path == "discovery" && mode == "discovery-hangs" {
			<-req.Context().Done()
			return
		}
		if path == "discovery" {
			extensionDiscovery(w, mode)
			return
		}
		if mode == "all" || mode == "all-block" {
			var q struct {
				Kind, FromKubernetesVersion, ToKubernetesVersion, KubernetesVersion string
				Cluster                                                             struct {
					Metadata struct{ Name string }
					Spec     struct{ Topology struct{ Version string } }
				}
			}
			if err := json.Unmarshal(body, &q); err != nil {
				panic(err)
			}
			versions := strings.TrimSpace(q.FromKubernetesVersion + " " + q.ToKubernetesVersion + q.KubernetesVersion)
			noteTo(file, fmt.Sprintf("  %s of %s %s (%s)", q.Kind, q.Cluster.Metadata.Name, q.Cluster.Spec.Topology.Version, versions))
		}
		extensionAnswer(w, req, mode, int(calls.Add(1)), body)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	return server
}

// startService starts a server like startExtension's behind a Service called extension, in the namespace tools of a stand-in for an
// API server, with its CA in the Secret extension-ca there: service MODE. KUBECONFIG leads to it.
func startService(ts *testscript.TestScript, _ bool, args []string) {
	server := newExtension(ts, args[0])
	cert, ca := certificateFor(ts, "extension.tools.svc")
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.StartTLS()
	ts.Defer(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	ts.Check(err)
	if args[0] == "down" {
		server.Close()
	}
	api, err := kubetest.Start(fmt.Sprintf(`
kind: Service
metadata: {namespace: tools, name: extension}
spec: {selector: {app: extension}, ports: [{port: 443, targetPort: %s}]}
---
kind: Pod
metadata: {namespace: tools, name: extension-1, labels: {app: extension}}
status: {conditions: [{type: Ready, status: "True"}]}
---
kind: Secret
metadata: {namespace: tools, name: extension-ca}
data: {ca.crt: %s}
`, port, base64.StdEncoding.EncodeToString(ca)))
	ts.Check(err)
	ts.Defer(api.Close)
	ts.Check(os.WriteFile(ts.MkAbs("kubeconfig"), []byte(api.Kubeconfig("management")), 0o600))
	ts.Setenv("KUBECONFIG", ts.MkAbs("kubeconfig"))
}

// certificateFor makes a certificate for a name, which is its own CA.
func certificateFor(ts *testscript.TestScript, name string) (tls.Certificate, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func noteTo(file, line string) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

func extensionDiscovery(w http.ResponseWriter, mode string) {
	handler := map[string]any{"name": "gate",
		"requestHook": map[string]any{"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "BeforeClusterDelete"}}
	answer := map[string]any{"status": "Success", "handlers": []any{handler}}
	switch mode {
	case "discovery-garbage":
		fmt.Fprint(w, "<html>It works!</html>")
		return
	case "discovery-500":
		http.Error(w, "no such page", http.StatusInternalServerError)
		return
	case "discovery-failure":
		answer = map[string]any{"status": "Failure", "message": "not ready"}
	case "other-version":
		handler["requestHook"].(map[string]any)["apiVersion"] = "hooks.runtime.cluster.x-k8s.io/v1beta1"
	case "slow":
		handler["timeoutSeconds"] = 1 // for it alone: an answer may be late on a busy machine
	case "slow-let-go":
		handler["requestHook"].(map[string]any)["hook"] = "AfterControlPlaneUpgrade"
	case "all", "all-block":
		var handlers []any
		for _, hook := range []string{"BeforeClusterDelete", "AfterClusterUpgrade", "AfterControlPlaneUpgrade", "BeforeClusterUpgrade", "AfterControlPlaneInitialized", "BeforeClusterCreate"} {
			handlers = append(handlers, map[string]any{"name": strings.ToLower(hook),
				"requestHook": map[string]any{"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": hook}})
		}
		answer["handlers"] = handlers
	case "bad-handlers":
		bad := map[string]any{"name": "Bad_Name", "timeoutSeconds": 31, "failurePolicy": "Maybe", "requestHook": handler["requestHook"]}
		answer["handlers"] = []any{handler, handler, bad}
	}
	if strings.HasSuffix(mode, "-ignored") {
		handler["failurePolicy"] = "Ignore"
	}
	json.NewEncoder(w).Encode(answer)
}

func extensionAnswer(w http.ResponseWriter, req *http.Request, mode string, call int, body []byte) {
	success := map[string]any{"status": "Success", "message": "", "retryAfterSeconds": 0}
	switch strings.TrimSuffix(mode, "-ignored") {
	case "slow":
		select {
		case <-req.Context().Done():
		case <-time.After(time.Minute):
		}
	case "garbage":
		fmt.Fprint(w, "{]")
	case "status":
		fmt.Fprint(w, `{"status": "Maybe"}`)
	case "negative":
		fmt.Fprint(w, `{"status": "Success", "retryAfterSeconds": -1}`)
	case "answer-version":
		fmt.Fprint(w, `{"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1beta1", "kind": "BeforeClusterDeleteResponse", "status": "Success"}`)
	case "redirect":
		http.Redirect(w, req, "https://127.0.0.1:1/elsewhere", http.StatusFound)
	case "endless":
		for n := 0; n < 64; n++ { // 64 MiB of it
			if _, err := w.Write([]byte(strings.Repeat(" ", 1<<20))); err != nil {
				return
			}
		}
	case "failure":
		fmt.Fprint(w, `{"status": "Failure", "message": "not on a Friday"}`)
	case "blocks-for-ever", "all-block":
		fmt.Fprintf(w, `{"status": "Success", "message": "call %d", "retryAfterSeconds": 1}`, call)
	case "slow-let-go":
		if call < 3 {
			success["retryAfterSeconds"] = 1
		}
		json.NewEncoder(w).Encode(success)
	case "echo":
		var q map[string]any
		json.Unmarshal(body, &q)
		success["message"] = fmt.Sprint(q["settings"])
		fallthrough
	default:
		json.NewEncoder(w).Encode(success)
	}
}
