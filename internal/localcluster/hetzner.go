package localcluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// servers are the machines that the cloud knows.
type servers struct {
	mu   sync.Mutex
	list []server
}

// server is a machine at the cloud.
type server struct {
	ID      int    // the instance id
	Name    string // of the node
	Group   string // its instance group
	Address string // in the cluster's network
}

func (s *servers) add(group string) server {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.list) + 1
	v := server{ID: 4000 + n, Name: group + "-" + strconv.Itoa(n), Group: group, Address: fmt.Sprintf("10.9.1.%d", n)}
	s.list = append(s.list, v)
	return v
}

func (s *servers) find(match func(server) bool) (server, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.list {
		if match(v) {
			return v, true
		}
	}
	return server{}, false
}

// metadata is the service that each machine asks who it is: it is told by its address.
func (s *servers) metadata(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	v, ok := s.find(func(v server) bool { return v.Address == host })
	if !ok {
		http.NotFound(w, r)
		return
	}
	switch strings.TrimPrefix(r.URL.Path, "/hetzner/v1/metadata") {
	case "/instance-id":
		fmt.Fprint(w, v.ID)
	case "/hostname":
		fmt.Fprint(w, v.Name)
	case "/private-networks":
		fmt.Fprintf(w, "- ip: %s\n  alias_ips: []\n  interface_num: 1\n  mac_address: 86:00:00:2a:7d:e0\n  network_id: 1\n  network_name: %s\n  network: 10.9.0.0/16\n  subnet: 10.9.0.0/16\n  gateway: %s\n",
			v.Address, Name, address)
	default:
		http.NotFound(w, r)
	}
}

// api answers as the Hetzner API does for a project with these servers; everything else is an empty list.
func (s *servers) api(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if id, ok := strings.CutPrefix(r.URL.Path, "/v1/servers/"); ok {
		v, ok := s.find(func(v server) bool { return strconv.Itoa(v.ID) == id })
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"error": {"code": "not_found", "message": "server not found"}}`)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"server": map[string]any{
			"id": v.ID, "name": v.Name, "status": "running", "created": "2026-01-01T00:00:00Z",
			"public_net":  map[string]any{"ipv4": map[string]any{"ip": v.Address}, "ipv6": map[string]any{"ip": "2001:db8::/64"}},
			"private_net": []map[string]any{{"network": 1, "ip": v.Address}},
			"server_type": map[string]any{"id": 1, "name": "cx23"},
			"labels":      map[string]string{"kops.k8s.io/cluster": Name, "kops.k8s.io/instance-group": v.Group, "kops.k8s.io/instance-role": "Node"},
		}})
		return
	}
	all := map[string]any{"meta": map[string]any{"pagination": map[string]any{"page": 1, "per_page": 50, "last_page": 1, "total_entries": 0}}}
	for _, kind := range []string{"load_balancers", "networks", "firewalls", "servers", "volumes", "ssh_keys"} {
		all[kind] = []any{}
	}
	json.NewEncoder(w).Encode(all)
}

// cloudAPI is where kops finds the API, whatever one tells it.
const cloudAPI = "api.hetzner.cloud"

// proxy leads kops and kops-controller to the API, and nowhere else. ca signs for the API's name.
func (s *servers) proxy(ca *keyPair) (http.Handler, error) {
	pair, err := ca.issue(request{name: cloudAPI, hosts: []string{cloudAPI}, usage: x509.ExtKeyUsageServerAuth})
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.certPEM, pair.keyPEM)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hijacker, ok := w.(http.Hijacker)
		if r.Method != http.MethodConnect || r.Host != cloudAPI+":443" || !ok {
			http.Error(w, "there is no way to "+r.Host, http.StatusForbidden)
			return
		}
		conn, _, err := hijacker.Hijack()
		if err != nil {
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
		http.Serve(&single{conn: tls.Server(conn, config)}, http.HandlerFunc(s.api))
	}), nil
}

// single is a listener of one connection.
type single struct {
	conn net.Conn
	done bool
}

func (s *single) Accept() (net.Conn, error) {
	if s.done {
		return nil, io.EOF
	}
	s.done = true
	return s.conn, nil
}
func (s *single) Close() error   { return nil }
func (s *single) Addr() net.Addr { return s.conn.LocalAddr() }
