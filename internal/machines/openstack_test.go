package machines

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/report"
)

// nova plays Keystone, which wants the password, and Nova, which wants Keystone's token; answer is Nova's part.
func nova(t *testing.T, answer http.HandlerFunc) (Cloud, error) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OS_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("POST /v3/auth/tokens", func(w http.ResponseWriter, r *http.Request) {
		var login struct {
			Auth struct {
				Identity struct {
					Password struct {
						User struct{ Name, Password string }
					}
				}
				Scope struct{ Project struct{ Name string } }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&login); err != nil {
			t.Error(err)
		}
		user := login.Auth.Identity.Password.User
		if user.Name != "operator" || user.Password != "not-a-secret" || login.Auth.Scope.Project.Name != "a-project" {
			http.Error(w, `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-Subject-Token", "a-token")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token": {"expires_at": "2100-01-01T00:00:00.000000Z", "catalog": [{"type": "compute", "name": "nova", "endpoints": [
			{"interface": "public", "region": "RegionTwo", "region_id": "RegionTwo", "url": "http://127.0.0.1:1/"},
			{"interface": "public", "region": "RegionOne", "region_id": "RegionOne", "url": "%s/compute/v2.1"}]}]}}`, s.URL)
	})
	mux.HandleFunc("/compute/v2.1/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Auth-Token") != "a-token" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	})
	t.Setenv("HOME", t.TempDir())
	t.Setenv("OS_AUTH_URL", s.URL+"/v3")
	t.Setenv("OS_USERNAME", "operator")
	t.Setenv("OS_PASSWORD", "not-a-secret")
	t.Setenv("OS_DOMAIN_NAME", "Default")
	t.Setenv("OS_PROJECT_NAME", "a-project")
	t.Setenv("OS_REGION_NAME", "RegionOne")
	return openNova()
}

func openNova() (Cloud, error) {
	c := &kops.Cluster{}
	c.Spec.CloudProvider.Openstack = &kops.OpenstackSpec{}
	cloud, err := Of(context.Background(), c, Options{})
	if o, ok := cloud.(*openstackCloud); ok && err == nil {
		o.wait = func(context.Context, time.Duration) error { return nil }
	}
	return cloud, err
}

func server(id, status, cluster string) string {
	return fmt.Sprintf(`{"id": %q, "name": "nodes-x", "status": %q, "created": "2026-11-22T03:00:00Z", "OS-EXT-AZ:availability_zone": "nova",
		"metadata": {"KubernetesCluster": %q, "KopsInstanceGroup": "nodes"}}`, id, status, cluster)
}

func TestMachinesOfOpenStack(t *testing.T) {
	c, err := nova(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/compute/v2.1/servers/detail" {
			t.Errorf("path %s", r.URL.Path)
		}
		if r.URL.Query().Get("marker") == "" {
			fmt.Fprintf(w, `{"servers": [%s, %s], "servers_links": [{"rel": "next", "href": "http://%s%s?limit=500&marker=b"}]}`,
				server("a", "ACTIVE", "main.example.com"), server("b", "ACTIVE", "other.example.com"), r.Host, r.URL.Path)
			return
		}
		fmt.Fprintf(w, `{"servers": [%s, %s]}`, server("c", "SHUTOFF", "main.example.com"), server("d", "ERROR", "main.example.com"))
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Machines(context.Background(), "main.example.com")
	if err != nil {
		t.Fatal(err)
	}
	var want []Machine
	for _, m := range [][2]string{{"a", "running"}, {"c", "stopped"}, {"d", "error"}} {
		want = append(want, Machine{ID: m[0], InstanceGroup: "nodes", Zone: "nova", State: m[1],
			Launched: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC), ProviderID: "openstack:///" + m[0]})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConsoleOfOpenStack(t *testing.T) {
	busy := 2
	c, err := nova(t, func(w http.ResponseWriter, r *http.Request) {
		if busy--; busy >= 0 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/compute/v2.1/servers/a/action" || !strings.Contains(string(body), "os-getConsoleOutput") {
			t.Errorf("%s %s", r.URL.Path, body)
		}
		io.WriteString(w, `{"output": "kopshook: hello\n"}`)
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Console(context.Background(), Machine{ID: "a"})
	if err != nil || string(got) != "kopshook: hello\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOpenStackThatRefuses(t *testing.T) {
	again := `{"servers": [` + server("a", "ACTIVE", "main.example.com") + `], "servers_links": [{"rel": "next", "href": "http://%s/compute/v2.1/servers/detail?marker=a"}]}`
	for _, test := range []struct {
		name         string
		answer       http.HandlerFunc
		want, remedy string
	}{
		{"no right", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"forbidden": {"code": 403, "message": "Policy doesn't allow it"}}`, http.StatusForbidden)
		}, "OpenStack: HTTP status 403: {", "os_compute_api:os-console-output"},
		{"too often", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "slow down", http.StatusTooManyRequests) }, "OpenStack: HTTP status 429: slow down", "in a minute"},
		{"the same servers for ever", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, again, r.Host) }, "again and again", ""},
		{"nobody there", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, `OpenStack: Get "http`, "OS_AUTH_URL"},
		{"a page of a proxy", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>login</html>") }, "OpenStack: ", ""},
		{"without an end", func(w http.ResponseWriter, _ *http.Request) {
			for piece := strings.Repeat(" ", 1<<20); ; {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}, "an answer is larger than 67108864 bytes", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := nova(t, test.answer)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Machines(context.Background(), "main.example.com")
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(report.Remedy(err), test.remedy) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, %s", err, report.Remedy(err))
			}
		})
	}
}

func TestOpenStackWithoutALogin(t *testing.T) {
	nobody := func(http.ResponseWriter, *http.Request) { t.Error("Nova is asked") }
	for _, test := range []struct{ name, variable, value, want, remedy string }{
		{"wrong password", "OS_PASSWORD", "wrong", "OpenStack: HTTP status 401", "source your openrc file again"},
		{"no region", "OS_REGION_NAME", "", "OpenStack: region not provided", "OS_REGION_NAME"},
		{"another region", "OS_REGION_NAME", "RegionThree", "region RegionThree has no compute service", "OS_REGION_NAME"},
		{"no variables", "OS_AUTH_URL", "", "OpenStack: Missing environment variable [OS_AUTH_URL]", "openrc"},
	} {
		if _, err := nova(t, nobody); err != nil {
			t.Fatal(err)
		}
		t.Setenv(test.variable, test.value)
		_, err := openNova()
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(report.Remedy(err), test.remedy) {
			t.Errorf("%s: got %v, %s", test.name, err, report.Remedy(err))
		}
	}
}

func TestNodesOfOpenStackMayNameTheirRegion(t *testing.T) {
	for id, want := range map[string]string{"openstack:///a": "openstack:///a", "openstack://RegionOne/a": "openstack:///a", "aws:///eu-central-1a/i-1": "aws:///eu-central-1a/i-1"} {
		if got := sameID(id); got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
}
