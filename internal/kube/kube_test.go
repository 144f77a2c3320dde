package kube_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/kube"
	"kopshook.dev/kopshook/internal/kube/kubetest"
	"kopshook.dev/kopshook/internal/report"
)

// objects are a Service with a pod that is ready, and others that are not, on a port of this machine.
func objects(port string) string {
	return fmt.Sprintf(`
kind: Service
metadata: {namespace: tools, name: extension}
spec: {selector: {app: extension}, ports: [{port: 80, targetPort: 1}, {port: 443, targetPort: web, protocol: TCP}, {port: %[1]s}]}
---
kind: Service
metadata: {namespace: tools, name: outside}
spec: {ports: [{port: 443}]}
---
kind: Service
metadata: {namespace: tools, name: starts}
spec: {selector: {app: starts}, ports: [{port: 443}]}
---
kind: Service
metadata: {namespace: tools, name: other-port}
spec: {selector: {app: extension}, ports: [{port: 443, targetPort: metrics}]}
---
kind: Pod
metadata: {namespace: tools, name: a-goes, labels: {app: extension}, deletionTimestamp: "2026-01-01T00:00:00Z"}
status: {conditions: [{type: Ready, status: "True"}]}
---
kind: Pod
metadata: {namespace: tools, name: b-starts, labels: {app: extension}}
status: {conditions: [{type: Ready, status: "False"}]}
---
kind: Pod
metadata: {namespace: tools, name: c-other, labels: {app: other}}
status: {conditions: [{type: Ready, status: "True"}]}
---
kind: Pod
metadata: {namespace: tools, name: d-ready, labels: {app: extension}}
spec: {containers: [{name: a, ports: [{name: web, containerPort: %[1]s}]}]}
status: {conditions: [{type: Initialized, status: "True"}, {type: Ready, status: "True"}]}
---
kind: Secret
metadata: {namespace: tools, name: ca}
data: {ca.crt: aGVsbG8=}
`, port)
}

func start(t *testing.T, text string) *kubetest.API {
	t.Helper()
	server, err := kubetest.Start(text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(server.Kubeconfig("management")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	return server
}

// A Service is reached by a port-forward to a pod of it that is ready, on the port that the Service leads to; another pod takes
// the place of one that is gone.
func TestTunnelReachesAReadyPod(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }))
	defer web.Close()
	_, port, _ := net.SplitHostPort(web.Listener.Addr().String())
	server := start(t, objects(port))
	api, err := kube.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	tunnel := api.Tunnel("tools", "extension", 443)
	defer tunnel.Close()
	if _, err := tunnel.Dial(); err == nil {
		t.Error("it dials before it is open")
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return tunnel.Dial() }}}
	for range 3 {
		if err := tunnel.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		resp, err := client.Get("http://extension.tools.svc/")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(text) != "hello" || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
	}
	// the pod goes, and another is in its place
	if err := server.Set(strings.ReplaceAll(objects(port), "d-ready", "e-later")); err != nil {
		t.Fatal(err)
	}
	server.Drop()
	const forward, later = "/api/v1/namespaces/tools/pods/d-ready/portforward", "/api/v1/namespaces/tools/pods/e-later/portforward"
	for deadline := time.Now().Add(time.Minute); !slices.Contains(server.Asked(), later); time.Sleep(5 * time.Millisecond) {
		if err := tunnel.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("the tunnel does not see that its pod is gone")
		}
	}
	resp, err := client.Get("http://extension.tools.svc/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	asked := strings.Join(server.Asked(), " ")
	if n := strings.Count(asked, "/services/"); n != 2 || !strings.Contains(asked, forward) {
		t.Errorf("asked for the Service %d times: %s", n, asked)
	}
}

func TestWhatIsWrongWithAService(t *testing.T) {
	start(t, objects("9"))
	api, err := kube.Connect("management")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		port         int
		want, remedy string
	}{
		{"nothing", 443, `cannot get Service tools/nothing from context "management": 404 Not Found services "nothing" not found`,
			"is context management the cluster that it is in? Name another with --context"},
		{"extension", 8443, "Service tools/extension has no port 8443", "say the port of the service: 80, 443, 9"},
		{"outside", 443, "Service tools/outside selects no pods: there is none to reach it by", "make the server reachable and give its `url:`"},
		{"starts", 443, "Service tools/starts has no ready pod (0 are there)", "look at `kubectl --context management --namespace tools get pods`"},
		{"other-port", 443, `Service tools/other-port: pod d-ready has no port called "metrics"`, ""},
	} {
		err := api.Tunnel("tools", c.name, c.port).Open(t.Context())
		if err == nil || err.Error() != c.want || report.Remedy(err) != c.remedy {
			t.Errorf("%s: %v (%s)\nwant %s (%s)", c.name, err, report.Remedy(err), c.want, c.remedy)
		}
	}
}

func TestSecretKey(t *testing.T) {
	start(t, objects("9"))
	api, err := kube.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	if ca, err := api.SecretKey(t.Context(), "tools", "ca", "ca.crt"); string(ca) != "hello" || err != nil {
		t.Errorf("%q, %v", ca, err)
	}
	var got []string
	for _, key := range [][2]string{{"ca", "tls.crt"}, {"none", "ca.crt"}} {
		_, err := api.SecretKey(t.Context(), "tools", key[0], key[1])
		got = append(got, fmt.Sprint(err))
	}
	want := []string{"the Secret tools/ca has no tls.crt", `cannot get Secret tools/none from context "management": 404 Not Found secrets "none" not found`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestContexts(t *testing.T) {
	start(t, "")
	if _, err := kube.Connect("other"); err == nil || err.Error() != `the kubeconfig has no context "other"` {
		t.Error(err)
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if _, err := kube.Connect(""); err == nil || err.Error() != "the kubeconfig has no current context" {
		t.Error(err)
	}
	if err := os.WriteFile(os.Getenv("KUBECONFIG"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.Connect(""); err == nil || !strings.HasPrefix(err.Error(), "cannot read the kubeconfig: ") {
		t.Error(err)
	}
}
