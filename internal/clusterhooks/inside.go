package clusterhooks

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"kopshook.dev/kopshook/internal/kube"
)

// inside is what a client takes from the cluster of a kubeconfig's context before it can call its server.
type inside struct {
	api    *kube.API
	secret string       // with the CA, "NAMESPACE/NAME"; "" for none, or once it is read
	tunnel *kube.Tunnel // to its Service, nil where it has a URL
}

// caKey is where a Secret has its CA (exp/runtime/internal/controllers/extensionconfig_controller.go of Cluster API).
const caKey = "ca.crt"

// goInside has the client take what it needs from a cluster.
func (c *client) goInside(api *kube.API, config *ClientConfig) {
	c.inside = &inside{api: api, secret: config.CASecret}
	if s := config.Service; s != nil {
		c.inside.tunnel = api.Tunnel(s.Namespace, s.Name, s.Port)
		transport := c.http.Transport.(*http.Transport)
		transport.Proxy = nil // the API server's counts, not the server's
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return c.inside.tunnel.Dial() }
		transport.DisableKeepAlives = true // a pod that is gone must not be called again
	}
}

// connect sees to it that the server can be called.
func (c *client) connect(ctx context.Context) error {
	if c.inside == nil {
		return nil
	}
	if namespace, name, ok := strings.Cut(c.inside.secret, "/"); ok {
		ca, err := c.inside.api.SecretKey(ctx, namespace, name, caKey)
		if err != nil {
			return err
		}
		if err := trust(c.tls, ca, fmt.Sprintf("%s of Secret %s", caKey, c.inside.secret)); err != nil {
			return err
		}
		c.inside.secret = ""
	}
	if c.inside.tunnel == nil {
		return nil
	}
	return c.inside.tunnel.Open(ctx)
}
