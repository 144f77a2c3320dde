package kubetest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// API is an API server that knows Services, Pods and Secrets, by kind, and forwards ports of its pods.
type API struct {
	*httptest.Server

	mu      sync.Mutex
	objects []map[string]any
	asked   []string
	gone    chan struct{} // closed when the pods of all port-forwards are
}

// Start serves the objects of a YAML stream, to whoever shows the token.
func Start(text string) (*API, error) {
	a := &API{gone: make(chan struct{})}
	if err := a.Set(text); err != nil {
		return nil, err
	}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(a.serve))
	a.Server.Config.ErrorLog = log.New(io.Discard, "", 0)
	a.Server.StartTLS() // tokens are shown to servers with certificates only
	return a, nil
}

// Set puts other objects into the place of all.
func (a *API) Set(text string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.objects = nil
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o map[string]any
		if err := dec.Decode(&o); err != nil {
			if err.Error() == "EOF" {
				return nil
			}
			return err
		}
		if o != nil {
			a.objects = append(a.objects, o)
		}
	}
}

// Drop ends all port-forwards, as a kubelet does when a pod goes.
func (a *API) Drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.gone)
	a.gone = make(chan struct{})
}

// Asked returns the paths that were asked for.
func (a *API) Asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.asked...)
}

const token = "of-the-test"

// Kubeconfig is how to reach the API, in a context of some name that is the current one.
func (a *API) Kubeconfig(context string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: %q, context: {cluster: c, user: u}}]
current-context: %q
`, a.URL, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})), token, context, context)
}

func (a *API) serve(w http.ResponseWriter, req *http.Request) {
	a.mu.Lock()
	objects, gone := a.objects, a.gone
	a.asked = append(a.asked, req.URL.Path)
	a.mu.Unlock()
	if req.Header.Get("Authorization") != "Bearer "+token {
		fail(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	// /api/v1/namespaces/NAMESPACE/RESOURCE[/NAME[/portforward]]
	p := strings.Split(strings.TrimPrefix(req.URL.Path, "/api/v1/namespaces/"), "/")
	if len(p) < 2 {
		fail(w, http.StatusNotFound, "the server could not find the requested resource")
		return
	}
	selector, err := labels.Parse(req.URL.Query().Get("labelSelector"))
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	items := []map[string]any{}
	for _, o := range objects {
		data, _ := json.Marshal(o)
		var meta struct {
			Kind     string
			Metadata metav1.ObjectMeta
		}
		json.Unmarshal(data, &meta)
		if meta.Metadata.Namespace != p[0] || strings.ToLower(meta.Kind)+"s" != p[1] || !selector.Matches(labels.Set(meta.Metadata.Labels)) {
			continue
		}
		if len(p) == 2 || meta.Metadata.Name == p[2] {
			items = append(items, o)
		}
	}
	switch {
	case len(p) == 2:
		json.NewEncoder(w).Encode(map[string]any{"kind": "List", "items": items})
	case len(items) == 0:
		fail(w, http.StatusNotFound, fmt.Sprintf("%s %q not found", p[1], p[2]))
	case len(p) == 4 && p[3] == "portforward":
		servePortForward(w, req, gone)
	default:
		json.NewEncoder(w).Encode(items[0])
	}
}

func fail(w http.ResponseWriter, code int, message string) {
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "status": "Failure", "message": message, "code": code})
}

// Main is a program: it serves the objects of the file OBJECTS and writes a kubeconfig to the file KUBECONFIG, until its
// standard input ends.
func Main(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%s OBJECTS KUBECONFIG", args[0])
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	a, err := Start(string(text))
	if err != nil {
		return err
	}
	defer a.Close()
	if err := os.WriteFile(args[2], []byte(a.Kubeconfig("management")), 0o600); err != nil {
		return err
	}
	_, err = os.Stdin.Read(make([]byte, 1))
	_ = err // its end is the end
	return nil
}
