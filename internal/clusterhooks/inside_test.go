package clusterhooks

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kopshook.dev/kopshook/internal/kube"
	"kopshook.dev/kopshook/internal/kube/kubetest"
)

// A server that cannot be reached inside of its cluster gives no answer: failurePolicy is about that.
func TestAServiceThatIsGoneIsACallWithoutAnswer(t *testing.T) {
	server, err := kubetest.Start("")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(server.Kubeconfig("management")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	api, err := kube.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*ClientConfig{
		"its Service": {Service: &Service{Namespace: "tools", Name: "extension", Port: 443}},
		"its Secret":  {CASecret: "tools/ca"},
	} {
		c, err := newClient("https://extension.tools.svc", tlsFiles{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.goInside(api, config)
		_, err = c.discover(t.Context())
		var call callError
		if !errors.As(err, &call) {
			t.Errorf("%s is gone: %v is not about the call", name, err)
		}
		c.close()
	}
}
