package machines

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Node is a Node of the cluster's API server.
type Node struct {
	Name       string
	ProviderID string
	Ready      bool
}

// apiTimeout bounds a question to the API server: a cluster that does not come up does not answer.
const apiTimeout = 15 * time.Second

// Nodes asks the API server of the kubeconfig's context called cluster, which is what kops calls it; KUBECONFIG and
// ~/.kube/config are read as kubectl reads them.
func Nodes(ctx context.Context, cluster string) ([]Node, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(),
		&clientcmd.ConfigOverrides{CurrentContext: cluster}).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = apiTimeout
	return listNodes(ctx, config)
}

func listNodes(ctx context.Context, config *rest.Config) ([]Node, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for next := ""; ; {
		u := *base
		u.Path = "/api/v1/nodes"
		u.RawQuery = url.Values{"limit": {"500"}, "continue": {next}}.Encode()
		var page struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
				Spec struct {
					ProviderID string `json:"providerID"`
				} `json:"spec"`
				Status struct {
					Conditions []struct {
						Type   string `json:"type"`
						Status string `json:"status"`
					} `json:"conditions"`
				} `json:"status"`
			} `json:"items"`
		}
		if err := get(ctx, client, u.String(), &page); err != nil {
			return nil, err
		}
		for _, i := range page.Items {
			n := Node{Name: i.Metadata.Name, ProviderID: i.Spec.ProviderID}
			for _, c := range i.Status.Conditions {
				n.Ready = n.Ready || c.Type == "Ready" && c.Status == "True"
			}
			nodes = append(nodes, n)
		}
		if page.Metadata.Continue == "" || page.Metadata.Continue == next {
			return nodes, nil
		}
		next = page.Metadata.Continue
	}
}

func get(ctx context.Context, client *http.Client, address string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: HTTP status %s", req.URL.Path, resp.Status)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("GET %s: %w", req.URL.Path, err)
	}
	return nil
}
