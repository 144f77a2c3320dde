package localcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"kopshook.dev/kopshook/internal/boot"
)

// Node is what the API server knows of a node.
type Node struct {
	Ready  bool
	Reason string    // why it is not Ready, as the kubelet says it
	Heard  time.Time // when the kubelet last said how the node is, to the second
	// Capacity is what the kubelet counts, by resource, as Kubernetes writes quantities: "128Mi".
	Capacity map[string]string
	Labels   map[string]string
	Taints   []string // KEY=VALUE:EFFECT
}

// Node asks the API server for a node. It is nil when the API server does not know it.
func (c *Cluster) Node(ctx context.Context, name string) (*Node, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, URL+"/api/v1/nodes/"+name, nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the API server says %s", answer.Status)
	}
	var object struct {
		Metadata struct{ Labels map[string]string }
		Spec     struct {
			Taints []struct{ Key, Value, Effect string }
		}
		Status struct {
			Capacity   map[string]string
			Conditions []struct {
				Type, Status, Message string
				LastHeartbeatTime     time.Time
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&object); err != nil {
		return nil, err
	}
	n := &Node{Labels: object.Metadata.Labels, Capacity: object.Status.Capacity}
	for _, t := range object.Spec.Taints {
		n.Taints = append(n.Taints, fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect))
	}
	for _, v := range object.Status.Conditions {
		if v.Type == "Ready" {
			n.Ready, n.Reason, n.Heard = v.Status == "True", v.Message, v.LastHeartbeatTime
		}
	}
	return n, nil
}

// Network is what a DaemonSet of a cluster's network writes. Without it a node is not Ready.
var Network = boot.File{Path: "/etc/cni/net.d/10-net.conflist", Content: []byte(`{"cniVersion": "1.0.0", "name": "net", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipam": {"type": "host-local", "ranges": [[{"subnet": "100.96.1.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
`)}
